package jobspec

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
)

// Later returns what a checkpoint says of the job of a vertex program, for whoever goes on from it, wherever that is started. here says that its files
// are named as this process sees them; else they are the workers', which know relative names by their data roots.
func Later(spec *control.JobSpec, here bool) ([]byte, error) {
	s := &control.JobSpec{
		Program: spec.Program, Parameters: spec.Parameters, Graph: spec.Graph, Source: spec.Source, Options: spec.Options, Rows: spec.Rows,
		Columns: spec.Columns, KeepWhen: spec.KeepWhen,
	}
	if here && s.Source != nil && !generate.IsGenerator(s.Source.Input) {
		s.Source = proto.CloneOf(s.Source)
		for _, path := range []*string{&s.Source.Input, &s.Source.Vertices} {
			if *path == "" {
				continue
			}
			var err error
			if *path, err = graphio.Absolute(*path); err != nil {
				return nil, err
			}
		}
	}
	return protojson.Marshal(s)
}

// Earlier reads what Later has written.
func Earlier(data []byte) (*control.JobSpec, error) {
	s := &control.JobSpec{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("it does not say what was run: %w", err)
	}
	if s.Program == "" || s.Source == nil && s.Graph == "" {
		return nil, fmt.Errorf("found program %q and no graph, expected what was run", s.Program)
	}
	return s, nil
}

// KeepWhen says when checkpoints are taken, as it travels.
func KeepWhen(p checkpoint.Policy) *control.KeepWhen {
	return &control.KeepWhen{Every: uint32(p.Every), Interval: int64(p.Interval), Mtbf: int64(p.MTBF), Strict: p.Strict}
}

// When is when a job takes checkpoints: as it says itself, and what it leaves open as its master says. A job that names a number of supersteps, a time
// or a mean time between failures says all of that; being strict is of either.
func When(job *control.KeepWhen, master checkpoint.Policy) checkpoint.Policy {
	own := Policy(job)
	own.Strict = own.Strict || master.Strict
	if own.Every == 0 && own.Interval == 0 && own.MTBF == 0 {
		own.Every, own.Interval, own.MTBF = master.Every, master.Interval, master.MTBF
	}
	return own
}

// checkWhen refuses what makes no sense of when a job takes checkpoints.
func checkWhen(k *control.KeepWhen) error {
	switch {
	case k.GetInterval() < 0 || k.GetMtbf() < 0:
		return fmt.Errorf("checkpoints every %v, by a mean time between failures of %v: expected 0, for what the master says, or more",
			time.Duration(k.GetInterval()), time.Duration(k.GetMtbf()))
	case k.GetEvery() > math.MaxInt32:
		return fmt.Errorf("a checkpoint every %d supersteps: expected at most %d", k.GetEvery(), math.MaxInt32)
	case k.GetEvery() > 0 && k.GetInterval() > 0:
		return errors.New("a checkpoint after so many supersteps, and after a time: one of the two")
	}
	return nil
}

// Policy is the reverse of KeepWhen; of nil it is that of who said nothing.
func Policy(k *control.KeepWhen) checkpoint.Policy {
	return checkpoint.Policy{Every: int(k.GetEvery()), Interval: time.Duration(k.GetInterval()), MTBF: time.Duration(k.GetMtbf()), Strict: k.GetStrict()}
}

package jobspec

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
)

// Later returns what a checkpoint says of the job of a vertex program, for whoever goes on from it, wherever that is started.
func Later(spec *control.JobSpec) ([]byte, error) {
	s := &control.JobSpec{
		Program: spec.Program, Parameters: spec.Parameters, Graph: spec.Graph, Source: spec.Source, Options: spec.Options, Rows: spec.Rows,
		Columns: spec.Columns, KeepWhen: spec.KeepWhen,
	}
	if s.Source != nil && !generate.IsGenerator(s.Source.Input) {
		path, err := graphio.Absolute(s.Source.Input)
		if err != nil {
			return nil, err
		}
		s.Source = proto.CloneOf(s.Source)
		s.Source.Input = path
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

// Policy is the reverse of KeepWhen; of nil it is that of who said nothing.
func Policy(k *control.KeepWhen) checkpoint.Policy {
	return checkpoint.Policy{Every: int(k.GetEvery()), Interval: time.Duration(k.GetInterval()), MTBF: time.Duration(k.GetMtbf()), Strict: k.GetStrict()}
}

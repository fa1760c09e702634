// Package resolve converts the description of a job for the engine, and rejects jobs that cannot
// run. The command line, the master and the workers use it. Read resolve.go first, then check.go.
package resolve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/netbench"
)

// Programs returns the programs of a build with fingerprints. All processes of a cluster must have
// the same programs, built from the same source.
func Programs(build string, programs engine.Registry) (all []*control.Program) {
	for _, p := range programs {
		h := sha256.New()
		fmt.Fprintln(h, build, p.Name)
		for _, x := range p.Parameters {
			fmt.Fprintln(h, x.Name, x.Type, x.Default)
		}
		all = append(all,
			&control.Program{Name: p.Name, Fingerprint: hex.EncodeToString(h.Sum(nil))[:16]})
	}
	slices.SortFunc(all, func(p, q *control.Program) int { return strings.Compare(p.Name, q.Name) })
	return all
}

// Options returns the engine's options for a run.
func Options(o job.Options) (engine.Options, error) {
	choice, err := job.Word("delivery", o.Delivery, delivery.ParseChoice)
	form, wrong := job.Word("encoding", o.Encoding, delivery.ParseEncoding)
	if err = cmp.Or(err, wrong); err != nil {
		return engine.Options{}, err
	}
	return engine.Options{
		Delivery: choice, Deterministic: o.Deterministic, MaxSupersteps: int(o.MaxSupersteps),
		Seed: o.Seed, Fork: o.Fork, SuperstepTimeout: time.Duration(o.SuperstepTimeout),
		Experiment: delivery.Experiment{Encoding: form, Uncombined: o.Uncombined, Serial: o.Serial},
	}, nil
}

// Generator returns the generator of a run of Graph500.
func Generator(s *job.Graph500) (generate.Kronecker, error) {
	g, err := generate.Parse(fmt.Sprintf("kronecker:scale=%d,edgefactor=%d,seed1=%d,seed2=%d",
		s.Scale, s.EdgeFactor, s.Seed1, s.Seed2))
	if err != nil {
		return generate.Kronecker{}, err
	}
	return g.(generate.Kronecker), nil
}

// Netbench returns the options of a netbench.
func Netbench(s *job.Netbench) netbench.Options {
	o := netbench.Options{Repetitions: int(s.Repetitions)}
	o.Algorithm = collective.Algorithm(s.Algorithm)
	for _, n := range s.Sizes {
		o.Sizes = append(o.Sizes, int(min(n, netbench.MaxSize+1)))
	}
	for _, c := range s.Collectives {
		o.Collectives = append(o.Collectives, collective.Collective(c))
	}
	return o
}

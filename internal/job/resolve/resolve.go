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
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/pregel"
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
	choice, err := parsed("delivery", o.Delivery, delivery.ParseChoice)
	form, wrong := parsed("encoding", o.Encoding, delivery.ParseEncoding)
	if err = cmp.Or(err, wrong); err != nil {
		return engine.Options{}, err
	}
	return engine.Options{
		Delivery: choice, Deterministic: o.Deterministic, MaxSupersteps: int(o.MaxSupersteps),
		Seed: o.Seed, Fork: o.Fork, SuperstepTimeout: time.Duration(o.SuperstepTimeout),
		Experiment: delivery.Experiment{Encoding: form, Uncombined: o.Uncombined, Serial: o.Serial},
	}, nil
}

// Source returns what to load, and how to store it.
func Source(s *job.Source) (load.Request, graph.Options, error) {
	request := load.Request{
		Name: s.Input, Directed: s.Directed, MaxExpand: int64(s.MaxExpand),
		SkipBad: int(s.SkipBad),
	}
	request.Columns = graphio.Columns{
		Source: s.SourceColumn, Target: s.TargetColumn, Weight: s.WeightColumn,
		Delimiter: s.Delimiter, Header: s.Header, IDs: strings.TrimPrefix(s.IDs, "auto"),
		Vertices: s.Vertices, Vertex: s.VertexColumn,
	}
	store := graph.Options{DropLoops: s.SelfLoops == "drop", UnitWeights: s.UnitWeights}
	var wrong [3]error
	request.Format, wrong[0] = parsed("format", s.Format, graphio.ParseFormat)
	store.Duplicates, wrong[1] = parsed("duplicates", s.Duplicates, graph.ParseDuplicates)
	_, wrong[2] = parsed("delimiter", s.Delimiter, graphio.ParseDelimiter)
	if err := cmp.Or(wrong[:]...); err != nil {
		return request, store, err
	}
	switch s.Weights {
	case "":
		store.Weights, request.IfAny = edges.Float64, !s.UnitWeights
	case "none":
	case "float32":
		store.Weights = edges.Float32
	case "float64":
		store.Weights = edges.Float64
	default:
		return request, store,
			fmt.Errorf("weights: found %.40q, expected none, float32 or float64", s.Weights)
	}
	if request.Weights = store.Weights; s.UnitWeights {
		request.Weights = edges.Unweighted
	}
	return request, store, nil
}

// parsed reads the word of a key; an empty one is the zero value. Errors begin with the key.
func parsed[T any](key, word string, parse func(string) (T, error)) (value T, err error) {
	if word != "" {
		if value, err = parse(word); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
	}
	return value, err
}

// Finder returns a function that finds the vertices that workers have located for a job.
func Finder(located []*control.Vertex) engine.Find {
	ids := make(map[uint64]pregel.VertexID, len(located))
	for _, v := range located {
		ids[v.Label] = pregel.VertexID(v.Id)
	}
	return func(label uint64) (pregel.VertexID, bool) {
		id, ok := ids[label]
		return id, ok
	}
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

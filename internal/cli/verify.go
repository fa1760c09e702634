package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/verify"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// certificate checks a result by what it must be, apart from the engine that made it.
type certificate func(r *result) error

// result is what a certificate checks. Its values are by input vertex, as package verify has them.
type result struct {
	verify.Graph
	graph      *graph.Graph
	computed   computed          // the values
	values     map[string]string // the parameters that were given
	iterations int               // supersteps but the first
	converged  bool
}

// verified checks the result of a run.
func (j *runJob) verified(ctx context.Context, o *bsp.Outcome) error {
	if !j.verify {
		return nil
	}
	if !o.Converged && j.entry.Name != "pagerank" { // whose ranks are judged after any number of iterations
		return fmt.Errorf("%s on %s: there is no final result to verify: the run was stopped after %d supersteps",
			j.entry.Name, j.runCommand.graph, o.Supersteps)
	}
	in, g, unit := j.in, j.graph, j.graph.Options.UnitWeights
	if g.Dropped > 0 || g.Options.DropLoops && g.Loops > 0 {
		// The tuples are not what the program was to see: the stored edges are.
		in.Close()
		in, unit = g.Input(), false
		defer in.Close()
	}
	j.progress.stage("verifying", 0, 0)
	err := certificates[j.entry.Name](&result{
		Graph: verify.Graph{
			Edges: in.Edges, Vertices: g.N, Directed: g.Directed, UnitWeights: unit, Labels: g.Labels,
			Team: j.team, Stop: ctx.Err, Progress: func(done, all int64) { j.progress.stage("verifying", done, all) },
		},
		graph: g, computed: j.computed, values: j.values, iterations: max(o.Supersteps-1, 0), converged: o.Converged,
	})
	var broken *verify.Violation
	if errors.As(err, &broken) {
		return fmt.Errorf("%s on %s: the result is wrong: %w", j.entry.Name, j.runCommand.graph, err)
	}
	if err != nil {
		return fmt.Errorf("verifying: %w", err)
	}
	yes := true
	j.report.Verified = &yes
	return nil
}

// certificates are those of the built-in programs, by name.
var certificates = map[string]certificate{
	"bfs": func(r *result) error {
		source, err := r.source()
		if err != nil {
			return err
		}
		if r.values["output"] == "level" {
			return verify.Levels(r.Graph, source, column(r, func(level int64) int64 { return level }))
		}
		return verify.BFS(r.Graph, source, column(r, r.parent))
	},
	"sssp": func(r *result) error {
		source, err := r.source()
		if err != nil {
			return err
		}
		return verify.SSSP(r.Graph, source, column(r, func(distance float64) float64 { return distance }))
	},
	"pagerank": func(r *result) error {
		var p algorithms.PageRank
		if err := engine.Fill(&p, r.values, nil); err != nil {
			return err
		}
		ranks := column(r, func(rank float64) float64 { return rank })
		_, err := verify.PageRank(r.Graph, p.EffectiveDamping(), ranks, rankTolerance(p, r.iterations, r.converged))
		return err
	},
	"wcc": func(r *result) error {
		return verify.WCC(r.Graph, column(r, func(least pregel.VertexID) uint64 { return uint64(least) }))
	},
}

// rankTolerance bounds by how much one more iteration may change ranks: any two rank vectors differ by 2 at most, and an
// iteration brings them nearer by the damping; where the tolerance ended the run, the last change was below that.
func rankTolerance(p algorithms.PageRank, iterations int, converged bool) float64 {
	damping := p.EffectiveDamping()
	bound := 2 * math.Pow(damping, float64(iterations))
	if limit, tolerance := p.Limits(); converged && iterations < limit {
		bound = min(bound, damping*tolerance)
	}
	return bound
}

// source returns the vertex that the parameter source names.
func (r *result) source() (int, error) {
	label, err := strconv.ParseUint(r.values["source"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("source: %w", err)
	}
	v, ok := r.Labels.Find(label, r.Vertices)
	if !ok {
		return 0, fmt.Errorf("the graph has no vertex %d", label)
	}
	return int(v), nil
}

// parent returns the input vertex of a handle, -1 for none.
func (r *result) parent(id pregel.VertexID) int64 {
	if uint64(id) >= uint64(r.Vertices) {
		return -1
	}
	return int64(r.graph.Order[id])
}

// column returns the values of all vertices, each changed by as.
func column[V, T any](r *result, as func(V) T) []T {
	var value func(id pregel.VertexID) V
	if f, ok := r.computed.(*fetched); ok {
		value = valuesOf[V](f)
	} else {
		value = r.computed.(interface{ Value(id pregel.VertexID) V }).Value
	}
	all := make([]T, r.Vertices)
	r.Team.For(len(all), 1<<14, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			all[v] = as(value(pregel.VertexID(r.graph.IDs[v])))
		}
	})
	return all
}

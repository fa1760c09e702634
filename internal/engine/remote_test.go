package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// processes has jobs on some partitions each, as in several processes.
type processes []*engine.Job

// apart binds a program to a graph in several jobs, which see only their own partitions, and makes
// their driver.
func apart[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, owners [][]int,
) (processes, *bsp.Driver) {
	t.Helper()
	program, err := engine.NewProgram(pregel.Erase(p))
	check(t, err)
	var all processes
	var facts []*bsp.Facts
	for _, own := range owners {
		o := o
		if o.Team != nil { // each has its own team
			o.Team = parallel.NewTeam(o.Team.Size(), false)
			t.Cleanup(o.Team.Close)
		}
		j, err := program.Bind(t.Context(), withPartitions(g, own), o)
		check(t, err)
		t.Cleanup(j.Close)
		all, facts = append(all, j), append(facts, j.Facts())
	}
	d, err := program.Driver(o, facts)
	check(t, err)
	return all, d
}

// withPartitions returns the graph with only some of its partitions, as a process has it.
func withPartitions(g *graph.Graph, own []int) *graph.Graph {
	s := &graph.Graph{
		Name: g.Name, N: g.N, Arcs: g.Arcs, Directed: g.Directed, Weights: g.Weights,
		Options: g.Options,
		Tuples:  g.Tuples, Loops: g.Loops, Dropped: g.Dropped, LeastWeight: g.LeastWeight,
		Connected: g.Connected,
		Order:     g.Order, IDs: g.IDs, Labels: g.Labels, Names: g.Names,
		Parts: make([]*graph.Partition, len(g.Parts)), Deal: g.Deal,
	}
	for _, i := range own {
		s.Parts[i] = g.Parts[i]
	}
	return s
}

// alone returns owners with one process per partition.
func alone(g *graph.Graph) (owners [][]int) {
	for i := range g.Parts {
		owners = append(owners, []int{i})
	}
	return owners
}

// run begins a run and drives it to its end.
func (all processes) run(
	ctx context.Context, d *bsp.Driver, endpoint func(int) transport.Endpoint, broken func(),
) (*bsp.Outcome, error) {
	for _, j := range all {
		if err := j.Begin(ctx, endpoint, broken); err != nil {
			return nil, err
		}
	}
	return d.Run(ctx, all)
}

// Superstep runs a superstep in every process.
func (all processes) Superstep(ctx context.Context, c *bsp.Command) ([]*bsp.Report, error) {
	var group sync.WaitGroup
	errs, some := make([]error, len(all)), make([][]*bsp.Report, len(all))
	for i, j := range all {
		group.Go(func() {
			errs[i] = bsp.Contain("", &c.Superstep, func() (err error) {
				some[i], err = j.Superstep(ctx, c)
				return err
			})
			if errors.Is(errs[i], parallel.ErrExited) {
				errs[i] = j.Failed()
			}
		})
	}
	group.Wait()
	reports := slices.Concat(some...)
	slices.SortFunc(reports, func(a, b *bsp.Report) int { return cmp.Compare(a.Partition.Partition, b.Partition.Partition) })
	return reports, errors.Join(errs...)
}

// Failed returns nil, because Superstep already returns all errors.
func (processes) Failed() error { return nil }

// values returns the lines of all vertices.
func (all processes) values(g *graph.Graph) []string {
	values := make([]string, g.N)
	for _, j := range all {
		for _, partition := range j.Own() {
			for local := range uint32(g.Deal.Owned(g.N, partition)) {
				v := g.Deal.ID(partition, local)
				values[v] = string(j.AppendAs(nil, pregel.VertexID(v), g.Label, nil))
			}
		}
	}
	return values
}

// runApart runs a program as several processes would, and returns the lines of its vertices.
func runApart[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, owners [][]int,
) (values []string, outcome *bsp.Outcome) {
	t.Helper()
	all, d := apart(t, g, p, o, owners)
	local := transport.NewLocal(len(g.Parts))
	outcome, err := all.run(t.Context(), d, local.Endpoint, local.Close)
	check(t, err)
	values = all.values(g)
	for _, j := range all {
		j.Close()
	}
	return values, outcome
}

// TestSharesAreAJob: however partitions are distributed to processes, results, supersteps and
// messages are those of a single Job.
func TestSharesAreAJob(t *testing.T) {
	for i, s := range shapes(4) {
		if raced && i%3 > 0 {
			continue
		}
		for _, owners := range [][][]int{{{0, 1, 2, 3}}, {{0, 2}, {1, 3}}, {{3}, {0}, {1}, {2}}} {
			t.Run(fmt.Sprintf("%s/%v", s.name, owners), func(t *testing.T) {
				g := s.load(t, 4, edges.Unweighted)
				sameInShares(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 5}, owners)
				sameInShares(t, g, algorithms.BFSLevels{Source: 0}, owners)
				sameInShares(t, g, vertexWCC{}, owners)
				grid := s.loadAs(t, twoByTwo, edges.Unweighted)
				sameInShares(t, grid, algorithms.BFS{Source: 0}, owners)
				sameInShares(t, grid, vertexWCC{}, owners)
			})
		}
	}
}

func sameInShares[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], owners [][]int) {
	t.Helper()
	o := engine.Options{Deterministic: true}
	job, err := engine.NewJob(t.Context(), g, pregel.Erase(p), o)
	check(t, err)
	defer job.Close()
	want, err := job.Run(t.Context())
	check(t, err)
	values, outcome := runApart(t, g, p, o, owners)
	if outcome.Supersteps != want.Supersteps || outcome.Messages != want.Messages ||
		outcome.Ended != want.Ended {
		t.Errorf("%T: %+v, want %+v", p, outcome, want)
	}
	for v, text := range values {
		if w := string(job.Append(nil, pregel.VertexID(v))); w != text {
			t.Fatalf("%T: vertex %d has %s, want %s", p, v, text, w)
		}
	}
}

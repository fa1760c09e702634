package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// inShares runs a program as processes would: a Lead, and Shares that see some partitions each.
func inShares[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, owners [][]int) (values []string, outcome *engine.Outcome) {
	t.Helper()
	program, err := engine.Erase(p)
	check(t, err)
	local := transport.NewLocal(len(g.Parts))
	var shares []engine.Share
	var facts []*engine.Facts
	for _, own := range owners {
		s, err := program.Share(g.Share(own...), o)
		check(t, err)
		defer s.Close()
		shares = append(shares, s)
		facts = append(facts, s.Facts())
	}
	lead, err := program.Lead(o, facts)
	check(t, err)
	for _, s := range shares {
		check(t, s.Begin(t.Context(), local.Endpoint, local.Close))
	}
	outcome, err = drive(t, lead, shares, len(g.Parts))
	check(t, err)
	values = make([]string, g.N)
	for i, s := range shares {
		for _, partition := range owners[i] {
			for v := partition; v < g.N; v += len(g.Parts) {
				values[v] = string(s.Append(nil, pregel.VertexID(v), g.Label))
			}
		}
	}
	return values, outcome
}

// drive takes a lead and its shares through a run.
func drive(t *testing.T, lead engine.Lead, shares []engine.Share, parts int) (*engine.Outcome, error) {
	t.Helper()
	command, outcome, err := lead.Begin()
	for err == nil && !outcome.Done {
		reports := make([]*engine.Report, parts)
		accounts := make([]*transport.Account, parts)
		var group sync.WaitGroup
		for _, s := range shares {
			group.Go(func() {
				some, e := s.Superstep(t.Context(), command)
				if e != nil {
					t.Error(e)
				}
				for _, p := range some {
					reports[p.Partition.Partition], accounts[p.Partition.Partition] = p, p.Account
				}
			})
		}
		group.Wait()
		if t.Failed() {
			t.FailNow()
		}
		check(t, transport.Balance(accounts))
		command, outcome, err = lead.Next(reports, 1e-4)
	}
	return outcome, err
}

// TestSharesAreAJob: whatever process has which partitions, results, supersteps and messages are those of one Job.
func TestSharesAreAJob(t *testing.T) {
	for _, s := range shapes(4) {
		if s.n == 0 {
			continue
		}
		for _, owners := range [][][]int{{{0, 1, 2, 3}}, {{0, 2}, {1, 3}}, {{3}, {0}, {1}, {2}}} {
			t.Run(fmt.Sprintf("%s/%v", s.name, owners), func(t *testing.T) {
				g := s.load(t, 4, edges.Unweighted)
				sameInShares(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 5}, owners)
				sameInShares(t, g, algorithms.BFSLevels{Source: 0}, owners)
				sameInShares(t, g, algorithms.WCC{}, owners)
				grid := s.loadAs(t, twoByTwo, edges.Unweighted)
				sameInShares(t, grid, algorithms.BFS{Source: 0}, owners)
				sameInShares(t, grid, algorithms.WCC{}, owners)
			})
		}
	}
}

func sameInShares[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], owners [][]int) {
	t.Helper()
	o := engine.Options{Deterministic: true}
	job, err := engine.NewJob(g, p, o)
	check(t, err)
	defer job.Close()
	want, err := job.Run(t.Context())
	check(t, err)
	values, outcome := inShares(t, g, p, o, owners)
	if outcome.Supersteps != want.Supersteps || outcome.Messages != want.Messages || outcome.Converged != want.Converged {
		t.Errorf("%T: %+v, want %+v", p, outcome, want)
	}
	for v, text := range values {
		if w := string(job.Append(nil, pregel.VertexID(v))); w != text {
			t.Fatalf("%T: vertex %d has %s, want %s", p, v, text, w)
		}
	}
}

package build

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// within runs f, and fails the test if f does not return in time.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: a rank hangs", what)
	}
}

// allFail checks that all ranks fail with an error that ends with want.
func allFail(t *testing.T, what string, got []built, want string) {
	t.Helper()
	for rank, b := range got {
		if b.err == nil || !strings.HasSuffix(b.err.Error(), want) || b.g != nil {
			t.Errorf("%s: rank %d: error %v, want %s", what, rank, b.err, want)
		}
	}
}

// failing is a list that returns an error at block at.
type failing struct {
	edges.List
	at int
}

func (l failing) Read(i int, b *edges.Block) error {
	if i == l.at {
		return errors.New("the disk is on fire")
	}
	return l.List.Read(i, b)
}

// someShares returns parts of a graph for which every step takes several rounds.
func someShares(ranks int, naming edges.Naming, directed bool) []*edges.RankInput {
	var shares []*edges.RankInput
	for rank := range ranks {
		rng := rand.New(rand.NewPCG(uint64(rank), 6))
		tuples := make([][2]uint64, 20_000)
		largest := uint64(0)
		spread := uint64(1)
		if naming == edges.Named || naming == edges.Listed {
			spread = 1 << 30 // sparse ids
		}
		for i := range tuples {
			tuples[i] = [2]uint64{rng.Uint64N(5000) * spread, rng.Uint64N(5000) * spread}
			largest = max(largest, tuples[i][0], tuples[i][1])
		}
		s := edges.Whole(&edges.Input{Name: "some", Edges: edges.Pack(largest+1, tuples,
			nil), Directed: directed}, largest)
		s.Naming = naming
		if naming == edges.Texts {
			s.Names = fiveThousand()
		}
		if naming == edges.Listed {
			for v := rank; v < 5000; v += ranks {
				s.IDs = append(s.IDs, uint64(v)*spread)
			}
		}
		shares = append(shares, s)
	}
	return shares
}

// fiveThousand returns a dictionary of 5,000 names. Every rank has the same one.
func fiveThousand() *names.Dictionary {
	var b names.Builder
	for i := range 5000 {
		if err := b.Add(fmt.Appendf(nil, "vertex %06d", i)); err != nil {
			panic(err)
		}
	}
	return b.Dictionary()
}

// TestReadFails: if a rank's part cannot be read, all ranks return that error.
func TestReadFails(t *testing.T) {
	for _, naming := range []edges.Naming{edges.Numbers, edges.Named, edges.Listed, edges.Texts} {
		for rank := range 3 {
			if testing.Short() && rank != 1 {
				continue
			}
			shares := someShares(3, naming, true)
			shares[rank].Edges = failing{shares[rank].Edges, 13}
			within(t, "a list that fails", func() {
				got := buildOver(t, t.Context(), shares, []int{0, 1, 2}, func(int) graph.Options {
					return graph.Options{Partitions: 3, Duplicates: graph.LeastDuplicate}
				})
				allFail(t, "a list that fails", got, "some: the disk is on fire")
			})
		}
	}
}

// TestCancelAnywhere: if one rank or all ranks are cancelled, at any point, all ranks return
// promptly.
func TestCancelAnywhere(t *testing.T) {
	rounds, least := 20, 4
	switch {
	case os.Getenv("SUPERSTEP_SOAK") != "":
		rounds = 40
	case testing.Short():
		rounds, least = 10, 2
	}
	stages := map[string]bool{}
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 8))
		const ranks = 3
		naming := edges.Naming(i % 4)
		shares := someShares(ranks, naming, i%2 == 0)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		var left atomic.Int64
		left.Store(rng.Int64N(40))
		victim := rng.IntN(ranks)
		o := func(rank int) graph.Options {
			o := graph.Options{Partitions: ranks, Duplicates: graph.SumDuplicates, Weights: edges.Float32, UnitWeights: true}
			if rank == victim {
				o.Progress = func(stage string, _, _ int64) {
					if left.Add(-1) == 0 {
						stages[stage] = true
						cancel(why)
					}
				}
			}
			return o
		}
		all := make([]built, ranks)
		within(t, "cancelled", func() {
			everywhere(t, ranks, func(rank int, group *collective.Group) {
				mine := t.Context()
				if rank == victim || i%4 == 0 {
					mine = ctx
				}
				g, d, err := Graph(mine, group, 10, shares[rank], []int{0, 1, 2}, o(rank))
				all[rank] = built{g, d, err}
			})
		})
		if ctx.Err() != nil {
			allFail(t, fmt.Sprintf("run %d, naming %d", i, naming), all, "enough")
		}
		closeAll(all)
		cancel(nil)
	}
	if len(stages) < least {
		t.Errorf("only cancelled while %v", stages)
	}
}

// TestLinkFails: if the link of a rank breaks, all ranks return an error.
func TestLinkFails(t *testing.T) {
	for _, after := range []int64{1, 5, 20, 30} {
		shares := someShares(3, edges.Numbers, false)
		m := memlink.New(3, nil)
		all := make([]built, 3)
		within(t, "a broken link", func() {
			done := make(chan struct{})
			for rank := range 3 {
				go func() {
					defer func() { done <- struct{}{} }()
					var link collective.Link = m.Link(rank)
					if rank == 1 {
						link = &breaking{Link: link, left: after}
					}
					group, err := collective.NewGroup(link, nil, nil)
					if err != nil {
						t.Error(err)
						return
					}
					g, d, err := Graph(t.Context(), group, 10, shares[rank], []int{0, 1, 2},
						graph.Options{Partitions: 3})
					all[rank] = built{g, d, err}
				}()
			}
			for range 3 {
				<-done
			}
		})
		for rank, b := range all {
			if b.err == nil || !strings.Contains(b.err.Error(), "the cable is cut") {
				t.Errorf("after %d messages: rank %d: error %v", after, rank, b.err)
			}
		}
	}
}

// breaking is a link that sends only left messages, not counting verdicts.
type breaking struct {
	collective.Link
	left int64
}

func (l *breaking) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	if tag != 10 && atomic.AddInt64(&l.left, -1) < 0 {
		return errors.New("the cable is cut")
	}
	return l.Link.Send(ctx, to, tag, data)
}

// TestRefusals: if ranks have different arguments, or invalid ones, all ranks return the same
// error.
func TestRefusals(t *testing.T) {
	plain := func(int) graph.Options { return graph.Options{Partitions: 2} }
	for _, test := range []struct {
		what    string
		change  func(shares []*edges.RankInput)
		options func(rank int) graph.Options
		owner   []int
		want    string
	}{
		{
			what: "options", change: func([]*edges.RankInput) {},
			options: func(rank int) graph.Options {
				return graph.Options{Partitions: 2, Duplicates: graph.Duplicates(rank)}
			},
			want: "some: ranks 0 and 1 were given parts of different graphs: duplicate edges: keep and first",
		},
		{
			what: "direction", change: func(s []*edges.RankInput) { s[1].Directed = true },
			want: "some: ranks 0 and 1 were given parts of different graphs: directed: false and true",
		},
		{
			what: "spans", change: func(s []*edges.RankInput) {
				s[0].Spans, s[1].Spans = []edges.Span{{From: 0, To: 5, Size: 9}},
					[]edges.Span{{From: 6, To: 9, Size: 9}}
			},
			want: "some: ranks 0 and 1: file 1: to byte 5 of 9 bytes, then from byte 6 of 9: the ranks have different files",
		},
		{
			what:   "an edge out of range",
			change: func(s []*edges.RankInput) { s[0].Vertices, s[1].Vertices = 100, 100 },
			want:   ": the graph has vertices 0..99",
		},
		{
			what:   "too many vertices",
			change: func(s []*edges.RankInput) { s[0].Vertices, s[1].Vertices = 1<<33, 1<<33 },
			want:   "8589934592 vertices: at most 4293918720",
		},
		{
			what: "no weights", change: func([]*edges.RankInput) {},
			options: func(int) graph.Options { return graph.Options{Partitions: 2, Weights: edges.Float64} },
			want:    "some: the edges have no weights",
		},
		{what: "owners", change: func([]*edges.RankInput) {}, owner: []int{0, 2}, want: "partition 1 belongs to rank 2 of 2"},
		{what: "a check", change: func(s []*edges.RankInput) {
			for _, s := range s {
				s.Check = func(tuples int, _ uint64) error { return fmt.Errorf("%d tuples", tuples) }
			}
		}, want: "40000 tuples"},
	} {
		shares := someShares(2, edges.Numbers, false)
		test.change(shares)
		if test.options == nil {
			test.options = plain
		}
		if test.owner == nil {
			test.owner = []int{0, 1}
		}
		within(t, test.what, func() {
			allFail(t, test.what, buildOver(t, t.Context(), shares, test.owner, test.options),
				test.want)
		})
	}
}

// TestListedFaults: the errors are about the first edge, over all parts in order, with the least
// unlisted end, and about the least id that is listed twice. The rank with that position makes the
// error.
func TestListedFaults(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 12))
		ranks := 1 + rng.IntN(4)
		gap := []uint64{1, 1 << 35}[rng.IntN(2)]
		var ids []uint64
		for v := range uint64(200) {
			ids = append(ids, (v+1)*gap)
		}
		list := slices.Clone(ids)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		repeat := rng.IntN(2) == 0
		want := ""
		if repeat {
			at := 1 + rng.IntN(len(list)-1)
			list[at] = list[rng.IntN(at)]
			want = fmt.Sprintf("place %d: %d again", at, list[at])
		}
		tuples := make([][2]uint64, 4000)
		for i := range tuples {
			tuples[i] = [2]uint64{ids[rng.IntN(len(ids))], ids[rng.IntN(len(ids))]}
		}
		if !repeat {
			first := len(tuples)
			for range 1 + rng.IntN(5) {
				at := rng.IntN(len(tuples))
				tuples[at][rng.IntN(2)] = 7*gap + gap/2 + 201*gap
				tuples[rng.IntN(len(tuples))][rng.IntN(2)] = 210 * gap // a greater one
			}
			least := 208*gap + gap/2
			for at, e := range slices.Backward(tuples) {
				if e[0] == least || e[1] == least {
					first = at
				}
			}
			if first == len(tuples) {
				continue // the greater ones have replaced it
			}
			want = fmt.Sprintf("tuple %d: %d", first, least)
		}
		var shares []*edges.RankInput
		for rank := range ranks {
			lo, hi := edges.Part(len(tuples), rank, ranks)
			from, to := edges.Part(len(list), rank, ranks)
			s := edges.Whole(&edges.Input{Name: "listed", Edges: edges.Pack(300*gap, tuples[lo:hi],
				nil), Directed: true}, 0)
			for _, e := range tuples[lo:hi] {
				s.Largest = max(s.Largest, e[0], e[1])
			}
			s.Naming, s.IDs = edges.Listed, list[from:to]
			s.Undeclared = func(_ context.Context, tuple int, id uint64) error { return fmt.Errorf("tuple %d: %d", lo+tuple, id) }
			s.Repeated = func(_ context.Context, place int, id uint64) error {
				return fmt.Errorf("place %d: %d again", from+place, id)
			}
			shares = append(shares, s)
		}
		within(t, want, func() {
			got := buildOver(t, t.Context(), shares, []int{0},
				func(int) graph.Options { return graph.Options{Partitions: 1} })
			allFail(t, fmt.Sprintf("seed %d", seed), got, want)
		})
	}
}

// TestLies: an invalid message of a rank is rejected, even if JSON would accept it.
func TestLies(t *testing.T) {
	call := collective.Call{Tag: 11, Bytes: 1 << 20}
	lie := func(what string, say string, f func(ctx context.Context, group *collective.Group) error) {
		within(t, what, func() {
			everywhere(t, 2, func(rank int, group *collective.Group) {
				if rank == 1 {
					if _, err := group.Allgather(t.Context(), call, []byte(say)); err != nil {
						t.Error(err)
					}
				} else if err := f(t.Context(), group); !errors.Is(err, collective.ErrMessage) ||
					!strings.Contains(err.Error(), "rank 1") {
					t.Errorf("%s: %s: error %v", what, say, err)
				}
			})
		})
	}
	for _, say := range []string{"null", "{}", `{"Bytes":3}`, `{"Bytes":3,"Piece":4,"More":5}`} {
		lie("two sizes", say, func(ctx context.Context, group *collective.Group) error {
			_, err := collective.Gather(ctx, group, call, &sent{1, 2})
			return err
		})
	}
	for _, say := range []string{"null", "[]", "[1]", "[1,2,3]", "[1,2"} {
		lie("two numbers", say, func(ctx context.Context, group *collective.Group) error {
			_, err := collective.Gather(ctx, group, call, &[2]uint64{1, 2})
			return err
		})
	}
}

// TestMemory: each of four ranks needs about a quarter of the memory that a single rank needs for
// the whole.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the concurrency of TestTwin, with large graphs")
	}
	const scale, ranks = 15, 4
	team := parallel.NewTeam(1, false)
	defer team.Close()
	for _, how := range []struct {
		name string
		o    graph.Options
	}{
		{"graph500", graph.Options{Duplicates: graph.LeastDuplicate, DropLoops: true, TupleDegrees: true}},
		{"weights", graph.Options{Duplicates: graph.LeastDuplicate, Weights: edges.Float32, UnitWeights: true}},
		{"keep", graph.Options{}},
	} {
		whole := mem.NewBudget(1<<40, "")
		o := how.o
		o.Partitions, o.Budget, o.Team = ranks, whole, team
		g, err := Local(t.Context(), kronecker(t, scale, 0, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		stays := whole.Use().Memory
		g.Close()
		meters := [ranks]*mem.Budget{}
		for rank := range meters {
			meters[rank] = mem.NewBudget(1<<40, "")
		}
		var shares []*edges.RankInput
		for rank := range ranks {
			in := kronecker(t, scale, rank, ranks)
			shares = append(shares, edges.Whole(in, 0))
		}
		got := buildOver(t, t.Context(), shares, []int{0, 1, 2, 3}, func(rank int) graph.Options {
			o := how.o
			o.Partitions, o.Budget = ranks, meters[rank]
			return o
		})
		for rank, b := range got {
			if b.err != nil {
				t.Fatal(b.err)
			}
			peak, now := meters[rank].Use().Peak, meters[rank].Use().Memory
			t.Logf("%s: rank %d: peak %s, stays %s; the whole: peak %s, stays %s", how.name, rank,
				mem.Text(peak), mem.Text(now), mem.Text(whole.Use().Peak), mem.Text(stays))
			if 100*peak > 40*whole.Use().Peak || 100*now > 32*stays {
				t.Errorf("%s: rank %d takes more than its share", how.name, rank)
			}
		}
		closeAll(got)
		for rank := range meters {
			if n := meters[rank].Use().Memory; n != 0 {
				t.Errorf("%s: rank %d still has %d bytes", how.name, rank, n)
			}
		}
	}
}

package load_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/pregel"
)

// saved builds and saves a random graph. It returns the graph and the directory.
func saved(
	t *testing.T, seed uint64, listed, directed bool, o graph.Options,
) (*graph.Graph, string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var lines strings.Builder
	step := 1
	if listed {
		step = 1 << 35
	}
	fmt.Fprintln(&lines, 9, 9+199*step, 0.5)
	for range 400 {
		fmt.Fprintln(&lines, 9+rng.IntN(200)*step, 9+rng.IntN(200)*rng.IntN(200)/200*step,
			float64(rng.IntN(50)))
	}
	if !listed {
		for i := range 200 {
			fmt.Fprintln(&lines, 9+i, 9+i, 1)
		}
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "list.wel")
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g, in, err := load.Build(t.Context(),
		load.Request{Name: name, Directed: &directed, Weights: o.Weights}, o)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(g.Close)
	place := filepath.Join(dir, "snapshot")
	s, err := store.OpenDir(place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	return g, place
}

// loaded is the result of a rank.
type loaded struct {
	g *graph.Graph
	d *build.Directory
}

// ranked loads a snapshot in several ranks, as workers do.
func ranked(t *testing.T, ranks int, r load.Request, o graph.Options) (all []loaded, opened int) {
	t.Helper()
	owner := make([]int, o.Grid.Partitions())
	for p := range owner {
		owner[p] = (p + 1) % ranks
	}
	m := memlink.New(ranks, nil)
	all = make([]loaded, ranks)
	var group sync.WaitGroup
	var mu sync.Mutex
	for rank := range ranks {
		g, err := collective.NewGroup(m.Link(rank), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			stored, share, err := load.OpenShare(t.Context(), r, o, rank, ranks, owner)
			if err != nil {
				t.Error(err)
				return
			}
			if stored != nil {
				mu.Lock()
				opened++
				mu.Unlock()
				d, err := build.Restored(t.Context(), g, 10, stored, owner, share)
				if err != nil {
					t.Error(err)
				}
				all[rank] = loaded{stored, d}
				return
			}
			in, err := load.OpenRank(t.Context(), r, rank, ranks)
			if err != nil {
				t.Error(err)
				return
			}
			built, d, err := build.Graph(t.Context(), g, 10, in, owner, o)
			if err != nil {
				t.Error(err)
			}
			all[rank] = loaded{built, d}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, l := range all {
			l.g.Close()
			l.d.Close()
		}
	})
	return all, opened
}

// resaved saves a graph from several ranks, and returns the directory.
func resaved(t *testing.T, all []loaded) string {
	t.Helper()
	dir := t.TempDir()
	s, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	id := snapshot.NewID()
	shares := make([]*snapshot.Manifest, len(all))
	for i, l := range all {
		rank, ids, labels, first := l.d.Share()
		index := snapshot.Index{IDs: ids, Labels: labels, First: first}
		index.Names, index.FirstName = l.d.Names.Share()
		m, err := snapshot.SaveShare(t.Context(), s, id, l.g, rank, index, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if shares[len(all)-1-i], err = snapshot.Decode(data); err != nil {
			t.Fatal(err)
		}
	}
	m, err := snapshot.Merge(shares)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Commit(t.Context(), s, m); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents has all arrays of a partition, by name.
type contents map[string]any

func (c contents) Uint32s(name string, s *[]uint32)   { c[name] = append([]uint32{}, *s...) }
func (c contents) Uint64s(name string, s *[]uint64)   { c[name] = append([]uint64{}, *s...) }
func (c contents) Float32s(name string, s *[]float32) { c[name] = append([]float32{}, *s...) }
func (c contents) Float64s(name string, s *[]float64) { c[name] = append([]float64{}, *s...) }

// TestShares loads snapshots in several ranks, with the same and with other partitions. Partitions,
// input ids and the directory equal those of the graph that one process built.
func TestShares(t *testing.T) {
	seed := uint64(0)
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 4, Columns: 1}, {Rows: 2, Columns: 3}} {
		for _, listed := range []bool{false, true} {
			for _, directed := range []bool{false, true} {
				for ranks := 1; ranks <= 3; ranks++ {
					seed++
					o := graph.Options{Grid: grid, Weights: edges.Weights(seed % 3)}
					t.Run(fmt.Sprintf("%v/listed=%t/directed=%t/%d", grid, listed, directed, ranks),
						func(t *testing.T) {
							_, place := saved(t, seed, listed, directed, o)
							for _, to := range []graph.Grid{grid, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}} {
								o.Grid = to
								request := load.Request{Name: place, Weights: o.Weights}
								want, in, err := load.Build(t.Context(), request, o)
								if err != nil {
									t.Fatal(err)
								}
								defer want.Close()
								defer in.Close()
								all, opened := ranked(t, ranks, request, o)
								if to == grid != (opened == ranks) {
									t.Errorf(
										"%v: %d of %d ranks have opened the stored partitions", to,
										opened, ranks)
								}
								agree(t, want, all)
								again := resaved(t, all)
								all, opened = ranked(t, ranks,
									load.Request{Name: again, Weights: o.Weights}, o)
								if opened != ranks {
									t.Errorf("%v: %d of %d ranks have opened what ranks have stored", to, opened, ranks)
								}
								agree(t, want, all)
								g, in, err := load.Build(t.Context(),
									load.Request{Name: again, Weights: o.Weights},
									graph.Options{Weights: o.Weights})
								if err != nil {
									t.Fatal(err)
								}
								if !slices.Equal(g.Order, want.Order) ||
									!slices.Equal(g.IDs, want.IDs) {
									t.Error("the graph that ranks have stored has other vertices")
								}
								in.Close()
								g.Close()
							}
						})
				}
			}
		}
	}
}

// agree compares the ranks' parts of a graph with the whole graph.
func agree(t *testing.T, want *graph.Graph, all []loaded) {
	t.Helper()
	seen := 0
	for rank, l := range all {
		if l.g.N != want.N || l.g.Arcs != want.Arcs || l.g.LeastWeight != want.LeastWeight ||
			l.g.Connected != want.Connected {
			t.Fatalf("rank %d: found %d vertices and %d arcs, expected %d and %d", rank, l.g.N,
				l.g.Arcs, want.N, want.Arcs)
		}
		for i, p := range l.g.Parts {
			if p == nil {
				continue
			}
			seen++
			a, b := contents{}, contents{}
			want.Parts[i].Arrays(a)
			p.Arrays(b)
			for name := range a {
				if !strings.HasPrefix(name, "labels.") && !reflect.DeepEqual(a[name], b[name]) {
					t.Fatalf("partition %d: %s: found %v, expected %v", i, name, b[name], a[name])
				}
			}
			for local := range p.Owned {
				if id := p.Global(uint32(local)); l.g.Label(id) != want.Label(id) {
					t.Fatalf("vertex %d: found input id %d, expected %d", id, l.g.Label(id),
						want.Label(id))
				}
			}
		}
	}
	if seen != len(want.Parts) {
		t.Fatalf("found %d partitions, expected %d", seen, len(want.Parts))
	}
	for id := range want.N {
		knows := 0
		for _, l := range all {
			if got, ok := l.d.Local(want.Label(pregel.VertexID(id))); ok {
				knows++
				if got != pregel.VertexID(id) {
					t.Fatalf("input id %d: found vertex %d, expected %d",
						want.Label(pregel.VertexID(id)), got, id)
				}
			}
		}
		if knows != 1 {
			t.Fatalf("%d ranks know vertex %d", knows, id)
		}
	}
	for _, label := range []uint64{0, 8, 1 << 63, 1<<64 - 1} {
		for _, l := range all {
			if _, ok := l.d.Local(label); ok {
				t.Errorf("found the input ID %d, which no vertex has", label)
			}
		}
	}
}

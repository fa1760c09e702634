package snapshot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/pregel"
)

// random builds a random graph.
func random(
	t testing.TB, seed uint64, vertices, tuples int, directed, sparse bool, o graph.Options,
) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	list, weights := [][2]uint64{}, []float64{}
	for range tuples {
		u, v := uint64(rng.IntN(vertices)), uint64(rng.IntN(vertices))
		if rng.IntN(3) == 0 {
			v = uint64(rng.IntN(min(vertices, 3))) // hubs
		}
		for range 1 + rng.IntN(2) {
			list, weights = append(list, [2]uint64{u, v}), append(weights, rng.Float64()-0.1)
		}
	}
	in := &edges.Input{Name: "random", Edges: edges.Pack(uint64(vertices), list,
		weights), Vertices: vertices, Directed: directed, Labels: edges.Consecutive(7)}
	if sparse {
		ids := make([]uint64, vertices)
		for i := range ids {
			ids[i] = uint64(i)<<33 + uint64(rng.IntN(1000))
		}
		in.Labels = edges.NewLabels(ids)
	}
	g, err := build.Local(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func openStore(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// unmapped is a store whose objects are not files, such as S3.
type unmapped struct{ store.Store }

func open(t testing.TB, s store.Store, team *parallel.Team) (*graph.Graph, error) {
	t.Helper()
	m, err := snapshot.ReadManifest(t.Context(), s)
	if err != nil {
		return nil, err
	}
	g, err := (&snapshot.Place{Manifest: m, Store: s}).Open(t.Context(), "random",
		snapshot.Options{Team: team})
	if err == nil {
		t.Cleanup(g.Close)
	}
	return g, err
}

// contents has all arrays of a partition, by name.
type contents map[string]any

func (c contents) Uint32s(name string, s *[]uint32)   { c[name] = append([]uint32{}, *s...) }
func (c contents) Uint64s(name string, s *[]uint64)   { c[name] = append([]uint64{}, *s...) }
func (c contents) Float32s(name string, s *[]float32) { c[name] = append([]float32{}, *s...) }
func (c contents) Float64s(name string, s *[]float64) { c[name] = append([]float64{}, *s...) }

// same compares everything in two graphs: the stored data, and the data derived from it.
func same(t *testing.T, want, got *graph.Graph) {
	t.Helper()
	for _, f := range []struct {
		name      string
		want, got any
	}{
		{"N", want.N, got.N},
		{"Arcs", want.Arcs, got.Arcs},
		{"Directed", want.Directed, got.Directed},
		{"Weights", want.Weights, got.Weights},
		{"Options", want.Options, got.Options},
		{"Tuples", [3]int{want.Tuples, want.Loops, want.Dropped}, [3]int{got.Tuples, got.Loops, got.Dropped}},
		{"Connected", want.Connected, got.Connected},
		{"LeastWeight", want.LeastWeight, got.LeastWeight},
		{"Order", slices.Clone(want.Order), slices.Clone(got.Order)},
		{"IDs", slices.Clone(want.IDs), slices.Clone(got.IDs)},
	} {
		if !reflect.DeepEqual(f.want, f.got) {
			t.Fatalf("%s: found %v, expected %v", f.name, f.got, f.want)
		}
	}
	for i, p := range want.Parts {
		q := got.Parts[i]
		if p.Shape() != q.Shape() {
			t.Fatalf("partition %d: found %+v, expected %+v", i, q.Shape(), p.Shape())
		}
		a, b := contents{}, contents{}
		p.Arrays(a)
		q.Arrays(b)
		for name := range a {
			if !reflect.DeepEqual(a[name], b[name]) {
				t.Fatalf("partition %d: %s: found %v, expected %v", i, name, b[name], a[name])
			}
		}
		for _, d := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
			if !reflect.DeepEqual(p.Layout(d), q.Layout(d)) {
				t.Fatalf("partition %d: direction %v: found %+v, expected %+v", i, d, q.Layout(d),
					p.Layout(d))
			}
		}
	}
	for id := range want.N {
		if want.Label(pregel.VertexID(id)) != got.Label(pregel.VertexID(id)) {
			t.Fatalf("vertex %d: found input id %d, expected %d", id,
				got.Label(pregel.VertexID(id)), want.Label(pregel.VertexID(id)))
		}
	}
}

var grids = []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 1, Columns: 4}, {Rows: 2, Columns: 2}, {Rows: 3, Columns: 2}, {Rows: 70, Columns: 1}}

// TestRoundTrip saves and opens graphs of every kind, with files and with objects. All arrays are
// equal.
func TestRoundTrip(t *testing.T) {
	team := parallel.NewTeam(3, false)
	defer team.Close()
	seed := uint64(0)
	for _, grid := range grids {
		for _, directed := range []bool{false, true} {
			for weights := range edges.Float64 + 1 {
				seed++
				vertices := []int{1, 63, 300, 2000}[seed%4]
				o := graph.Options{Grid: grid, Weights: weights, Duplicates: graph.Duplicates(seed % 4), DropLoops: seed%3 == 0, InputOrder: seed%5 == 0, Deal: []string{"", "64:", "64:1,40"}[seed%3]}
				t.Run(fmt.Sprintf("%v/directed=%t/weights=%d/%d", grid, directed, weights,
					vertices), func(t *testing.T) {
					g := random(t, seed, vertices, int(seed%7)*vertices, directed, seed%2 == 0, o)
					s := openStore(t, t.TempDir())
					if _, err := snapshot.Save(t.Context(), s, g,
						snapshot.Options{Team: team}); err != nil {
						t.Fatal(err)
					}
					for _, from := range []store.Store{s, unmapped{s}} {
						opened, err := open(t, from, team)
						if err != nil {
							t.Fatal(err)
						}
						same(t, g, opened)
					}
				})
			}
		}
	}
}

// TestChangedRoundTrip saves and opens graphs that were changed.
func TestChangedRoundTrip(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for _, grid := range grids {
		for _, directed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/directed=%t", grid, directed), func(t *testing.T) {
				g := random(t, 3, 300, 900, directed, false, graph.Options{Grid: grid, Deal: "64:1,40"})
				d := pregel.Delta{AddVertices: []uint64{1000}}
				for i := range uint64(50) {
					d.AddEdges = append(d.AddEdges, pregel.InputEdge{From: 7 + i, To: 7 + 5*i})
					d.RemoveEdges = append(d.RemoveEdges, pregel.InputEdge{From: 7 + 3*i, To: 8})
				}
				changed, _, err := g.Apply(t.Context(), d, team)
				if err != nil {
					t.Fatal(err)
				}
				defer changed.Close()
				s := openStore(t, t.TempDir())
				if _, err := snapshot.Save(t.Context(), s, changed,
					snapshot.Options{Team: team}); err != nil {
					t.Fatal(err)
				}
				opened, err := open(t, s, team)
				if err != nil {
					t.Fatal(err)
				}
				same(t, changed, opened)
			})
		}
	}
}

// TestSavedAlready: a second save to the same place fails. The first snapshot remains, and no other
// file.
func TestSavedAlready(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	g := random(t, 1, 50, 100, true, false, graph.Options{})
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); !errors.Is(err,
		fs.ErrExist) {
		t.Errorf("found %v", err)
	}
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("found %q, expected %q", after, before)
	}
}

// files lists the files below a directory.
func files(t testing.TB, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestClosed: an open graph remains usable after its files are removed.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	g := random(t, 3, 500, 2000, false, true, graph.Options{Partitions: 2})
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	opened, err := open(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	same(t, g, opened)
	opened.Close()
	opened.Close()
	if opened.N != 0 || opened.Bytes() != 0 {
		t.Errorf("found %d vertices in %d bytes after Close", opened.N, opened.Bytes())
	}
}

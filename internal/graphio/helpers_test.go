package graphio

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"

	stdgzip "compress/gzip"
)

// put writes a file into a new directory and returns its path.
func put(t testing.TB, name, content string) string {
	t.Helper()
	return putIn(t, t.TempDir(), name, content)
}

func putIn(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a graph with the given piece size.
func read(path string, piece int, o ReadOptions) (*edges.Input, error) {
	return newReader(o, piece).read(context.Background(), path)
}

func mustRead(t testing.TB, path string, o ReadOptions) *edges.Input {
	t.Helper()
	in, err := Read(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

func team(t testing.TB, n int) *parallel.Team {
	team := parallel.NewTeam(n, false)
	t.Cleanup(team.Close)
	return team
}

// plainly converts an input to the form that the slow parsers return.
func plainly(t testing.TB, in *edges.Input) graph {
	t.Helper()
	var g graph
	for i := range in.Vertices {
		g.vertices = append(g.vertices, in.Labels.Of(uint64(i)))
	}
	if in.Edges.Weighted() {
		g.weights = []float64{}
	}
	var b edges.Block
	for i := range edges.Blocks(in.Edges) {
		if err := in.Edges.Read(i, &b); err != nil {
			t.Fatal(err)
		}
		for j := range b.N {
			g.tuples = append(g.tuples, [2]uint64{in.Labels.Of(b.U[j]), in.Labels.Of(b.V[j])})
			if g.weights != nil {
				g.weights = append(g.weights, b.W[j])
			}
		}
	}
	return g
}

// same compares two graphs, weights bit by bit.
func same(t testing.TB, got, want graph) {
	t.Helper()
	if !slices.Equal(got.vertices, want.vertices) {
		t.Fatalf("vertices %v, want %v", cut(got.vertices), cut(want.vertices))
	}
	if !slices.Equal(got.tuples, want.tuples) {
		t.Fatalf("%d tuples %v, want %d %v", len(got.tuples), cut(got.tuples), len(want.tuples),
			cut(want.tuples))
	}
	if !slices.EqualFunc(got.weights, want.weights,
		func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
		t.Fatalf("weights %v, want %v", cut(got.weights), cut(want.weights))
	}
}

func cut[T any](s []T) []T { return s[:min(len(s), 20)] }

// wantError checks an error message. In want, DIR/ stands for the directory of path.
func wantError(t testing.TB, err error, path, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	if got := strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", ""); got != want {
		t.Errorf("error\n%s\nwant\n%s", got, want)
	}
}

func gz(text string) string {
	var b bytes.Buffer
	z := stdgzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // writing to a Buffer cannot fail
	_ = z.Close()
	return b.String()
}

func zst(text string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(text), nil))
}

// rounds returns how many random cases a test has: in make soak, usually, and if it is short.
func rounds(soak, usual, short uint64) uint64 {
	switch {
	case os.Getenv("SUPERSTEP_SOAK") != "":
		return soak
	case testing.Short():
		return short
	}
	return usual
}

package graphio

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// tight makes a reader for which this number of bytes is always available, however much it
// allocates.
func tight(o ReadOptions, piece int, available int64) *reader {
	r := newReader(o, piece)
	r.free = func() int64 { return available }
	return r
}

// TestBombIsNotAdmitted reads a small file that expands to many edges. Reading stops when the edges
// no longer fit into memory: as a whole, as a part, and while ids are numbered.
func TestBombIsNotAdmitted(t *testing.T) {
	path := put(t, "a.el.gz", gz(strings.Repeat("0 1\n", 1<<21)))
	const available = spare
	for _, workers := range []int{1, 3} {
		o := ReadOptions{Team: team(t, workers)}
		_, err := tight(o, 64<<10, available).read(t.Context(), path)
		wantRefused(t, err, path, " of its edges so far needs ", "32.0 MiB are available")
		r := tight(o, 64<<10, available)
		r.rank, r.ranks = 1, 2
		_, err = r.readRank(t.Context(), path)
		wantRefused(t, err, path, " of its edges so far needs ", "32.0 MiB are available")
		in, err := tight(o, 64<<10, 0).read(t.Context(), path) // the available memory is unknown
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
	}
}

func wantRefused(t *testing.T, err error, path string, texts ...string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "not enough memory: reading "+path+": ") {
		t.Fatalf("error %v, expected a refusal", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, expected %q in it", err, text)
		}
	}
}

// TestRefusalFreesMemory: if reading is refused, the memory of the edges so far is freed.
func TestRefusalFreesMemory(t *testing.T) {
	budget := mem.NewBudget(1<<40, "")
	mem.SetProcess(budget)
	defer mem.SetProcess(nil)
	path := put(t, "a.el", strings.Repeat("0 1\n", 1<<20))
	_, err := tight(ReadOptions{}, 64<<10, spare).read(t.Context(), path)
	wantRefused(t, err, path, " of its edges so far needs ")
	if use := budget.Use(); use.Memory != 0 {
		t.Errorf("the reader keeps memory: %v", use)
	}
}

// TestParquetIsAdmitted: a refusal in a row group is not reported as a damaged file.
func TestParquetIsAdmitted(t *testing.T) {
	const rows = 100_000 // the list of fewer than 131,072 rows is not checked before it is read
	path := filepath.Join(t.TempDir(), "a.parquet")
	list := edges.Pack(1, make([][2]uint64, rows), make([]float64, rows))
	defer list.Close()
	in := &edges.Input{Edges: list, Vertices: 1, Directed: true}
	if err := Write(t.Context(), path, in, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := tight(ReadOptions{Weights: edges.Float64}, pieceSize, spare).read(t.Context(), path)
	wantRefused(t, err, path, " of its edges so far needs ")
}

// TestNumberingIsAdmitted removes the available memory after the edges were read. Then numbering
// the ids is refused.
func TestNumberingIsAdmitted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var dense, sparse strings.Builder
	for range 1 << 17 {
		fmt.Fprintln(&dense, rng.IntN(1<<23), 1<<23)
		fmt.Fprintln(&sparse, rng.Uint64()>>1, rng.Uint64()>>1)
	}
	for name, test := range map[string]struct{ text, what string }{
		"dense.el":  {dense.String(), "the set of its vertices needs "},
		"sparse.el": {sparse.String(), "sorting the ids of its vertices needs "},
	} {
		path := put(t, name, test.text)
		r := newReader(ReadOptions{Team: team(t, 2)}, pieceSize)
		f, err := r.open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.readTable(t.Context(), textFile{f: f, grammar: r.listGrammar(false, pairs)})
		if err != nil {
			t.Fatal(err)
		}
		table.slabs.admission.free = func() int64 { return spare }
		err = func() (err error) {
			defer mem.Recover(&err)
			_, err = number(t.Context(), r.Team, table)
			return err
		}()
		wantRefused(t, err, path, test.what, "32.0 MiB are available")
		table.slabs.close()
		_ = f.Close()
	}
}

// TestPackedIsAdmitted: the number of packed edges is checked before memory is allocated for them.
func TestPackedIsAdmitted(t *testing.T) {
	path := put(t, "a.g500", strings.Repeat(string(appendEdge(nil, 1, 1<<20)), 1<<18))
	_, err := tight(ReadOptions{}, pieceSize, spare).read(t.Context(), path)
	wantRefused(t, err, path, "262,144 edges needs ", "32.0 MiB are available")
}

// TestPackedBytes compares the predicted size of a list with its real size.
func TestPackedBytes(t *testing.T) {
	for _, vertices := range []uint64{0, 1, 2, 1000, 1 << 40} {
		for n, kind := range map[int]edges.Weights{0: edges.Float64, 1: edges.Float32, 1024: edges.Unweighted, 5000: edges.Float64} {
			list := edges.NewPacked(vertices, n, kind)
			if want := edges.PackedBytes(vertices, n, kind); list.Bytes() != want {
				t.Errorf("%d vertices, %d tuples, %v: %d bytes, PackedBytes returns %d",
					vertices, n, kind,
					list.Bytes(), want)
			}
			list.Close()
		}
	}
}

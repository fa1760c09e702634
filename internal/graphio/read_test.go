package graphio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

const mtx = "%%MatrixMarket matrix coordinate "

var yes, no = true, false

// readTests are small files of every format, with their graphs and notes.
var readTests = []struct {
	name, text string
	o          ReadOptions
	want       graph
	directed   bool
	account    string
}{
	{
		"a.el", "0 1\n1 2\n",
		ReadOptions{},
		graph{[]uint64{0, 1, 2}, [][2]uint64{{0, 1}, {1, 2}}, nil},
		true,
		"a.el: edge list, 2 edges, 3 vertices, ids 0..2, weights no, directed",
	},
	{
		"a.txt", "# c\r\n% d\r\n7\t5\r\n\r\n  5  9  \r\n7 7",
		ReadOptions{Directed: &no},
		graph{[]uint64{5, 7, 9}, [][2]uint64{{7, 5}, {5, 9}, {7, 7}}, nil},
		false,
		"a.txt: snap edge list, 2 comment lines, 3 edges, 3 vertices, ids 5..9 sparse, weights no, undirected",
	},
	{
		"a.txt.gz", gz("\xef\xbb\xbf1 2\n"),
		ReadOptions{},
		graph{[]uint64{1, 2}, [][2]uint64{{1, 2}}, nil},
		true,
		"a.txt.gz: snap edge list, gzip, 1 edge, 2 vertices, ids 1..2, weights no, directed",
	},
	{
		"plain", zst("007 18446744073709551614\n"),
		ReadOptions{},
		graph{[]uint64{7, math.MaxUint64 - 1}, [][2]uint64{{7, math.MaxUint64 - 1}}, nil},
		true,
		"plain: snap edge list, zstd, 1 edge, 2 vertices, ids 7..18446744073709551614 sparse, weights no, directed",
	},
	{
		"wrong.gz", "1 2\n",
		ReadOptions{},
		graph{[]uint64{1, 2}, [][2]uint64{{1, 2}}, nil},
		true,
		"wrong.gz: snap edge list, 1 edge, 2 vertices, ids 1..2, weights no, directed",
	},
	{
		"a.wel", "1 2 -0.5\n",
		ReadOptions{Weights: edges.Float64},
		graph{[]uint64{1, 2}, [][2]uint64{{1, 2}}, []float64{-0.5}},
		true,
		"a.wel: weighted edge list, 1 edge, 2 vertices, ids 1..2, weights float64, directed",
	},
	{
		"a.txt", "# c\n1 2 0.1\n",
		ReadOptions{Weights: edges.Float32},
		graph{[]uint64{1, 2}, [][2]uint64{{1, 2}}, []float64{float64(float32(0.1))}},
		true,
		"a.txt: weighted edge list, 1 comment line, 1 edge, 2 vertices, ids 1..2, weights float32, directed",
	},
	{
		"a.el", "1 2 0.1\n",
		ReadOptions{},
		graph{[]uint64{1, 2}, [][2]uint64{{1, 2}}, nil},
		true,
		"a.el: weighted edge list, 1 edge, 2 vertices, ids 1..2, weights dropped, directed",
	},
	{
		"a.mtx", mtx + "pattern general\n% c\n\n3 3 2\n% d\n1 2\n3 2\n",
		ReadOptions{Weights: edges.Float64},
		graph{[]uint64{1, 2, 3}, [][2]uint64{{1, 2}, {3, 2}}, nil},
		true,
		"a.mtx: Matrix Market, pattern general, 2 comment lines, 2 edges, 3 vertices, ids 1..3, weights no, directed",
	},
	{
		"a.txt", strings.ToUpper(mtx) + "REAL Symmetric\r\n3 3 1\r\n3 1 2.5e0\r\n",
		ReadOptions{Weights: edges.Float64},
		graph{[]uint64{1, 2, 3}, [][2]uint64{{3, 1}}, []float64{2.5}},
		false,
		"a.txt: Matrix Market, real symmetric, 1 edge, 3 vertices, ids 1..3, weights float64, undirected",
	},
	{
		"a.mtx.zst", zst(mtx + "integer general\n2 2 0\n"),
		ReadOptions{Directed: &no},
		graph{[]uint64{1, 2}, nil, nil},
		false,
		"a.mtx.zst: Matrix Market, integer general, zstd, 0 edges, 2 vertices, ids 1..2, weights dropped, undirected",
	},
	{
		"a.mtx", mtx + "pattern general\n%" + strings.Repeat("x", 200_000) + "\n1 1 1\n1 1\n",
		ReadOptions{},
		graph{[]uint64{1}, [][2]uint64{{1, 1}}, nil},
		true,
		"a.mtx: Matrix Market, pattern general, 1 comment line, 1 edge, 1 vertex, ids 1..1, weights no, directed",
	},
	{
		"a.mtx", "\xef\xbb\xbf" + mtx + "pattern general\n0 0 0",
		ReadOptions{},
		graph{},
		true,
		"a.mtx: Matrix Market, pattern general, 0 edges, 0 vertices, weights no, directed",
	},
	{
		"a.bin", string(appendEdge(appendEdge(nil, 1, 4), 4, 2)),
		ReadOptions{},
		graph{[]uint64{0, 1, 2, 3, 4}, [][2]uint64{{1, 4}, {4, 2}}, nil},
		false,
		"a.bin: Graph500 packed edges, 2 edges, 5 vertices, ids 0..4, weights no, undirected",
	},
	{
		"a.g500", string(appendEdge(nil, 0, 1)),
		ReadOptions{Directed: &yes},
		graph{[]uint64{0, 1}, [][2]uint64{{0, 1}}, nil},
		true,
		"a.g500: Graph500 packed edges, 1 edge, 2 vertices, ids 0..1, weights no, directed",
	},
}

func TestRead(t *testing.T) {
	for _, test := range readTests {
		for _, piece := range []int{1, 7, 1 << 20} {
			path := put(t, test.name, test.text)
			test.o.Team = team(t, 2)
			in, err := read(path, piece, test.o)
			if err != nil {
				t.Fatalf("%s: %v", test.account, err)
			}
			same(t, plainly(t, in), test.want)
			if got := strings.ReplaceAll(strings.Join(in.Account, "\n"), filepath.Dir(path)+"/",
				""); got != test.account {
				t.Errorf("account\n%s\nwant\n%s", got, test.account)
			}
			if in.Directed != test.directed || in.Name != path {
				t.Errorf("%s: directed %t, name %s", test.account, in.Directed, in.Name)
			}
			in.Close()
		}
	}
}

// TestGraphalytics reads the examples of Graphalytics by each of their names.
func TestGraphalytics(t *testing.T) {
	for name, directed := range map[string]bool{"directed": true, "undirected": false} {
		base := "testdata/graphalytics/example-" + name
		v, err := os.ReadFile(base + ".v")
		if err != nil {
			t.Fatal(err)
		}
		e, err := os.ReadFile(base + ".e")
		if err != nil {
			t.Fatal(err)
		}
		want, bad := slowLDBC(string(v), string(e), 3)
		if bad != 0 || len(want.vertices) < 9 || len(want.tuples) < 12 {
			t.Fatalf("%s: %d vertices, %d edges", name, len(want.vertices), len(want.tuples))
		}
		for _, path := range []string{base, base + ".v", base + ".e"} {
			in := mustRead(t, path, ReadOptions{Directed: &directed, Weights: edges.Float64})
			same(t, plainly(t, in), want)
			if in.Directed != directed {
				t.Errorf("%s: directed %t", path, in.Directed)
			}
		}
	}
}

func TestLDBCProperties(t *testing.T) {
	tests := []struct {
		properties string
		override   *bool
		directed   bool
		account    string
	}{
		{"-", nil, true, "g.properties: no such file: edges taken as directed"},
		{"graph.g.bfs.source-vertex = 1\ngraph.g.directed = false\n", nil, false, "g.properties: undirected"},
		{"graph.g.directed=true", nil, true, "g.properties: directed"},
		{"  graph.g.directed : \\\n  False \n", nil, false, "g.properties: undirected"},
		{"graph.\\g.directed\tfalse\r\n", nil, false, "g.properties: undirected"},
		{"graph.other.directed = false\n", nil, false, "g.properties: undirected"},
		{"graph.other.directed = false\ngraph.third.directed = false\n", nil, true, "g.properties: does not say whether edges are directed: taken as directed"},
		{"graph.other.directed = true\ngraph.g.directed = false\n", nil, false, "g.properties: undirected"},
		{"graph.g.directed = false\n", &yes, true, "g: directed, as asked for"},
		{"! c\n# graph.g.directed = false\ndirected = false\n", nil, true, "g.properties: does not say whether edges are directed: taken as directed"},
	}
	for _, test := range tests {
		dir := t.TempDir()
		putIn(t, dir, "g.v", "1\n2\n")
		putIn(t, dir, "g.e.gz", gz("1 2\n"))
		if test.properties != "-" {
			putIn(t, dir, "g.properties", test.properties)
		}
		in := mustRead(t, dir+"/g.properties", ReadOptions{Directed: test.override})
		account := strings.ReplaceAll(strings.Join(in.Account, "\n"), dir+"/", "")
		want := "g.v: Graphalytics vertices, 2 vertices\ng.e.gz: Graphalytics edges, gzip, 1 edge, 2 vertices, ids 1..2, weights no, " +
			edges.Kind(test.directed) + "\n" + test.account
		if in.Directed != test.directed || account != want {
			t.Errorf("%q: directed %t, account\n%s\nwant\n%s", test.properties, in.Directed,
				account, want)
		}
	}
}

// TestAgainstSlow reads lists of all kinds of ids, in pieces of all sizes, and compares with the
// slow parser.
func TestAgainstSlow(t *testing.T) {
	kinds := map[string]func(*rand.Rand) uint64{
		"dense":  func(r *rand.Rand) uint64 { return r.Uint64N(300) },
		"gaps":   func(r *rand.Rand) uint64 { return 3 * r.Uint64N(3000) },
		"sparse": func(r *rand.Rand) uint64 { return r.Uint64() >> r.UintN(64) / 2 },
		"near":   func(r *rand.Rand) uint64 { return 1<<63 + r.Uint64N(500) },
		"u32":    func(r *rand.Rand) uint64 { return r.Uint64N(1 << 32) },
	}
	for name, id := range kinds {
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var b strings.Builder
			for range rng.IntN(3000) {
				fmt.Fprintf(&b, "%d%s%d%s%v%s\n", id(rng), pick(rng, " ", "\t", "  "), id(rng),
					pick(rng, " ", "\t \t"),
					pick(rng, "0.5", "17", "1e-3", "-3.25", fmt.Sprint(rng.Float64()),
						fmt.Sprint(rng.ExpFloat64()*1e9)), pick(rng, "", "", " ", "\r", "\t\r",
						"\n#x", "\n"))
			}
			text := b.String()
			ids, weights, bad := slowList(text, "#%", 3, 0, math.MaxUint64-1, 64)
			if bad != 0 {
				t.Fatalf("%s, seed %d: line %d", name, seed, bad)
			}
			want := slowGraph(ids, weights)
			for _, file := range []string{put(t, "a.wel", text), put(t, "a.gz", gz(text))} {
				piece := 1 << rng.IntN(18)
				in, err := read(file, piece,
					ReadOptions{Format: WEL, Weights: edges.Float64, Team: team(t, 1+rng.IntN(4))})
				if err != nil {
					t.Fatalf("%s, seed %d, pieces of %d: %v", name, seed, piece, err)
				}
				same(t, plainly(t, in), want)
				in.Close()
			}
		}
	}
}

func pick(r *rand.Rand, choice ...string) string { return choice[r.IntN(len(choice))] }

// TestCancel cancels reading.
func TestCancel(t *testing.T) {
	text := strings.Repeat("1 2\n", 10000)
	packed := strings.Repeat(string(appendEdge(nil, 1, 2)), 10000)
	for path, last := range map[string]int{put(t, "a.el", text): 5, put(t, "a.el.gz",
		gz(text)): 1, put(t, "a.bin", packed): 8} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		r := newReader(ReadOptions{Team: team(t, 2), Progress: func(done, total int64) {
			if calls++; calls == last {
				cancel()
			}
		}}, 1000)
		in, err := r.read(ctx, path)
		if !errors.Is(err, context.Canceled) || in != nil {
			t.Errorf("%s: %v after %d calls", path, err, calls)
		}
	}
}

// TestProgress: the reported progress rises and ends at the total.
func TestProgress(t *testing.T) {
	text := strings.Repeat("1 2\n", 90000)
	packed := strings.Repeat(string(appendEdge(nil, 1, 2)), 10000)
	for _, path := range []string{put(t, "a.el", text), put(t, "a.el.gz", gz(text)), put(t, "a.bin",
		packed)} {
		var last, all int64
		r := newReader(ReadOptions{Team: team(t, 2), Progress: func(done, total int64) {
			if done < last && last > headSize || done > total {
				t.Errorf("%s: %d of %d after %d", path, done, total, last)
			}
			last, all = done, total
		}}, 10000)
		if _, err := r.read(t.Context(), path); err != nil || last != all || last == 0 {
			t.Errorf("%s: %d of %d, %v", path, last, all, err)
		}
	}
}

func TestDirectoryBesideGraph(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/g", 0o755); err != nil {
		t.Fatal(err)
	}
	putIn(t, dir, "g.v", "1\n2\n")
	putIn(t, dir, "g.e", "2 1\n")
	in := mustRead(t, dir+"/g", ReadOptions{})
	if g := plainly(t, in); !slices.Equal(g.tuples, [][2]uint64{{2, 1}}) {
		t.Errorf("%v", g)
	}
}

// TestOtherColumns reads lists with additional columns, which are ignored, in pieces of all sizes.
func TestOtherColumns(t *testing.T) {
	want := graph{[]uint64{1, 2, 3}, [][2]uint64{{1, 2}, {2, 3}, {3, 1}}, []float64{0.5, -2, 7}}
	plain := graph{want.vertices, want.tuples, nil}
	for _, test := range []struct {
		name, edges, properties string
		want                    graph
		account                 string
	}{
		{"g.txt", "1 2 .5 x 7\n\t2  3\t-2 \xff 8\r\n3 1 7 0x 9 \n", "", want, "g.txt: weighted edge list with 2 other columns, 3 edges"},
		{"g.wel", "# c\n1 2 .5 x\n2 3 -2 y\n3 1 7 z", "", want, "g.wel: weighted edge list with 1 other column, 1 comment line"},
		{"g.e", "1 2 .5 x 7\n2 3 -2 y 8\n3 1 7 z 9\n", "", want, "Graphalytics edges with 2 other columns"},
		{"g.e", "1 2 x .5 7\n2 3 y -2 8\n3 1 z 7 9\n", "names = since weight until", want, "Graphalytics edges with 2 other columns"},
		{"g.e", "1 2 .5 7\n2 3 -2 8\n3 1 7 9\n", "names = a, b\ngraph.g.sssp.weight-property = a", want, "Graphalytics edges with 1 other column"},
		{"g.e", "1 2 .5\n2 3 -2\n3 1 7\n", "names = cost", want, "Graphalytics edges, 3 edges"},
		{"g.e", "1 2 .5 7\n2 3 -2 8\n3 1 7 9\n", "names = a, b", plain, "Graphalytics edges with 2 other columns, 3 edges, 3 vertices, ids 1..3, weights no"},
	} {
		dir := t.TempDir()
		path := putIn(t, dir, test.name, test.edges)
		if test.name == "g.e" {
			putIn(t, dir, "g.v", "1\n2\n3\n")
		}
		if test.properties != "" {
			putIn(t, dir, "g.properties", "graph.g.edge-properties."+test.properties+"\n")
		}
		for _, piece := range []int{1, 9, 1 << 20} {
			in, err := read(path, piece, ReadOptions{Weights: edges.Float64, Team: team(t, 2)})
			if err != nil {
				t.Fatalf("%q: %v", test.edges, err)
			}
			same(t, plainly(t, in), test.want)
			if account := strings.Join(in.Account, "\n"); !strings.Contains(account, test.account) {
				t.Errorf("%q: account %s, want %s", test.edges, account, test.account)
			}
			in.Close()
		}
	}
}

package graphio

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// randomInput makes a graph of n vertices without parallel edges. The last vertex has an edge.
func randomInput(rng *rand.Rand, n int, directed, weighted, loops bool) *edges.Input {
	met := map[[2]uint64]bool{}
	var tuples [][2]uint64
	var weights []float64
	if weighted {
		weights = []float64{}
	}
	add := func(u, v uint64) {
		key := [2]uint64{u, v}
		if !directed {
			key = [2]uint64{min(u, v), max(u, v)}
		}
		if met[key] || u == v && !loops {
			return
		}
		met[key] = true
		tuples = append(tuples, [2]uint64{u, v})
		if weighted {
			weights = append(weights, float64(1+rng.IntN(100)))
		}
	}
	for range rng.IntN(3 * n) {
		add(rng.Uint64N(uint64(n)), rng.Uint64N(uint64(n)))
	}
	for v := range n {
		add(uint64(v), uint64((v+1)%n))
	}
	list := edges.Pack(uint64(n), tuples, weights)
	return &edges.Input{Name: "test", Edges: list, Vertices: n, Directed: directed, Free: list.Close}
}

// sortedEdges returns a description with sorted edges. For undirected graphs the smaller end comes
// first.
func sortedEdges(description string, directed bool) []string {
	parts := strings.Fields(description)
	if !directed {
		for i, p := range parts {
			var u, v int
			if n, _ := fmt.Sscanf(p, "%d-%d", &u, &v); n == 2 && u > v {
				parts[i] = fmt.Sprintf("%d-%d", v, u) +
					strings.TrimPrefix(p, fmt.Sprintf("%d-%d", u, v))
			}
		}
	}
	slices.Sort(parts)
	return parts
}

// TestWriteFormats writes random graphs in every format that can hold them, and reads them back.
func TestWriteFormats(t *testing.T) {
	team, dir := team(t, 3), t.TempDir()
	for seed := range rounds(8, 4, 4) {
		rng := rand.New(rand.NewPCG(seed, 3))
		directed, weighted := seed%2 == 0, seed/2%2 == 0
		for _, ending := range []string{".csv", ".tsv", ".csv.gz", ".jsonl", ".jsonl.zst", ".parquet", ".gr", ".col", ".metis", ".graph.gz", ".sg", ".wsg"} {
			one := strings.HasPrefix(ending, ".g") || ending == ".col" || ending == ".metis"
			switch {
			case directed && slices.Contains([]string{".col", ".metis", ".graph.gz"}, ending),
				!weighted && slices.Contains([]string{".gr", ".wsg"}, ending),
				!directed && ending == ".gr": // written as arcs: see below
				continue
			}
			loops := ending != ".metis" && ending != ".graph.gz"
			in := randomInput(rng, 2+rng.IntN(3000), directed, weighted, loops)
			if one {
				in.Labels = edges.Consecutive(1)
			}
			if ending == ".col" || ending == ".sg" {
				in.Edges.(*edges.Packed).Close()
				in = randomInput(rng, 2+rng.IntN(3000), directed, false, loops)
				if one {
					in.Labels = edges.Consecutive(1)
				}
			}
			path := filepath.Join(dir, fmt.Sprint(seed, ending))
			if err := Write(t.Context(), path, in, WriteOptions{Team: team}); err != nil {
				t.Fatalf("%s: %v", ending, err)
			}
			o := ReadOptions{Weights: edges.Float64, Team: team}
			if !slices.Contains([]string{".col", ".metis", ".graph.gz", ".sg", ".wsg"}, ending) {
				o.Directed = &directed
			}
			back := mustRead(t, path, o)
			want, got := sortedEdges(describe(t, in), directed),
				sortedEdges(describe(t, back), directed)
			if !slices.Equal(want, got) || back.Vertices != in.Vertices {
				t.Fatalf("%s: %d vertices, %v\nwant %d, %v", ending, back.Vertices, cut(got),
					in.Vertices, cut(want))
			}
			if rng.IntN(4) == 0 {
				wantJoined(t, path, 3, 500, o)
			}
			in.Close()
		}
	}
}

// TestWriteNames writes a graph with names in the formats that support names.
func TestWriteNames(t *testing.T) {
	texts := []string{"plain", `"quoted" name`, "a, b", " blanks ", "tab\there", "Grüße <&>", `back\slash`, "007"}
	table := names.NewTable()
	var batch names.Batch
	for _, text := range texts {
		batch.Add([]byte(text))
	}
	table.Take(&batch, nil)
	dictionary, _ := table.Sort(nil)
	var tuples [][2]uint64
	var weights []float64
	for i := range texts {
		tuples, weights = append(tuples, [2]uint64{uint64(i), uint64((i * 3) % len(texts))}),
			append(weights, float64(i)/4)
	}
	in := &edges.Input{Name: "test", Edges: edges.Pack(uint64(len(texts)), tuples,
		weights), Vertices: len(texts), Names: dictionary, Directed: true}
	want := describe(t, in)
	for _, ending := range []string{".csv", ".tsv", ".jsonl", ".parquet"} {
		path := filepath.Join(t.TempDir(), "a"+ending)
		if err := Write(t.Context(), path, in, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := describe(t, mustRead(t, path, ReadOptions{Weights: edges.Float64})); got != want {
			t.Errorf("%s: %s\nwant %s", ending, got, want)
		}
	}
	for _, ending := range []string{".el", ".gr", ".metis", ".sg"} {
		path := filepath.Join(t.TempDir(), "a"+ending)
		if err := Write(t.Context(), path, in, WriteOptions{}); err == nil ||
			!strings.Contains(err.Error(), "csv, tsv, jsonl and parquet have") {
			t.Errorf("%s: %v", ending, err)
		}
	}
}

// TestWriteArcs: if a format cannot hold a graph, writing fails or warns.
func TestWriteArcs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	pair := func(directed, weighted bool, first uint64) *edges.Input {
		in := randomInput(rng, 5, directed, weighted, false)
		in.Labels = edges.Consecutive(first)
		t.Cleanup(in.Close)
		return in
	}
	sparse := pair(false, false, 0)
	sparse.Labels = edges.NewLabels([]uint64{1, 2, 3, 4, 9})
	odd := &edges.Input{Name: "odd", Edges: edges.Pack(3, [][2]uint64{{0, 1}, {1, 1}},
		[]float64{0.5, 1}), Vertices: 3}
	for _, test := range []struct {
		name, want string
		in         *edges.Input
	}{
		{"a.gr", "each edge is written as two arcs, one each way: graphs of DIMACS for shortest paths are directed", pair(false, true, 1)},
		{"a.gr", "error: format dimacs for shortest paths (.gr) needs weights, the graph has none", pair(true, false, 1)},
		{"a.col", "error: format dimacs for coloring (.col) holds undirected graphs, the graph is directed", pair(true, false, 1)},
		{"a.col", "ids are written one higher: format dimacs counts from 1", pair(false, false, 0)},
		{"a.col", "the weights are not written: graphs of DIMACS for coloring have none", pair(false, true, 1)},
		{"a.col", "error: format dimacs needs vertices 1 to n, or 0 to n-1 to be written one higher", sparse},
		{"a.metis", "error: format metis holds undirected graphs, the graph is directed", pair(true,
			false, 1)},
		{"a.metis", "1 loop is not written: format metis has none", odd},
		{"a.metis", "some weights are no whole numbers from 1 on: the program METIS takes no others", odd},
		{"a.sg", "error: formats sg and wsg need vertices 0 to n-1", pair(false, false, 1)},
		{"a.sg.gz", "error: format sg is not compressed as a whole: give a name without .gz", pair(false,
			false, 0)},
		{"a.g500.gz", "error: format graph500 is not compressed as a whole: give a name without .gz", odd},
		{"a.sg", "the weights are not written: format sg has none, wsg has", pair(false, true, 0)},
		{"a.wsg", "error: format wsg needs weights, the graph has none: write sg", pair(false,
			false, 0)},
		{"a.wsg", "error: found the weight 0.5 of the edge from 0 to 1, expected a whole number of 32 bits, as format wsg has", odd},
		{"a.csv", "1 isolated vertex is not written: format csv has only edges", odd},
		{"a.csv", "format csv does not say that the graph is undirected: say so when reading it", odd},
		{"a.parquet.zst", "error: format parquet is not compressed as a whole: give a name without .zst", odd},
		{"a.graphml", "error: format graphml is read, not written: give one of " + strings.Join(Written, ", "), odd},
	} {
		path := filepath.Join(t.TempDir(), test.name)
		var said []string
		err := Write(t.Context(), path, test.in, WriteOptions{Warn: func(line string) { said = append(said, strings.TrimPrefix(line, path+": ")) }})
		if err != nil {
			said = append(said, "error: "+strings.TrimPrefix(err.Error(), "writing "+path+": "))
		}
		if !slices.Contains(said, test.want) {
			t.Errorf("%s: %q, want %q", test.name, said, test.want)
		}
	}
}

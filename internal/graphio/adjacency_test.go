package graphio

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	_ "github.com/superstep-go/superstep/internal/laxgc"
)

// slowAdjacency is the simple counterpart of readAdjacency. Of undirected edges, which are in two
// lines, it keeps the copies in the lines of the smaller ends, in order.
func slowAdjacency(data string, directed bool) (g graph, bad badLine) {
	lines, numbers, bad := slowLines(data, "#%")
	lists := map[uint64][]uint64{}
	var order []uint64
	for i, fields := range lines {
		var ids []uint64
		for _, field := range fields {
			id, err := strconv.ParseUint(field, 10, 64)
			if err != nil || id == math.MaxUint64 {
				return g, badLine(numbers[i])
			}
			ids = append(ids, id)
		}
		if _, again := lists[ids[0]]; again && bad == 0 {
			bad = -1
		}
		lists[ids[0]] = ids[1:]
		order = append(order, ids[0])
	}
	if bad != 0 || len(order) == 0 {
		return g, cmp.Or(bad, -1)
	}
	for _, u := range order {
		for _, v := range lists[u] {
			if _, ok := lists[v]; !ok {
				return g, -1
			}
			count := func(in []uint64, id uint64) (n int) {
				for _, w := range in {
					if w == id {
						n++
					}
				}
				return n
			}
			if !directed && count(lists[u], v) != count(lists[v], u) {
				return g, -1
			}
			if directed || u <= v {
				g.tuples = append(g.tuples, [2]uint64{u, v})
			}
		}
	}
	g.vertices = slices.Sorted(slices.Values(order))
	return g, 0
}

func FuzzAdjacency(f *testing.F) {
	for _, text := range []string{
		"1 3 5\n3 1\n5 1\n", "1 2\n2 1 1\n", "7\n", "# c\n\n1 1\r\n 2\t1 \n", "1 2\n1 2\n", "1 9\n",
		"\xef\xbb\xbf1 2\n2 1", "1 00000000000000000000001\n",
		"18446744073709551614\n5 18446744073709551614\n",
		"1 18446744073709551615\n", "1 2.5", "1 2x\n2 1\n", "1\x002", "",
	} {
		f.Add(text, true, byte(7))
		f.Add(text, false, byte(0))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, directed bool, piece byte) {
		in, err := read(put(t, "a", text), int(piece)+1,
			ReadOptions{Format: Adjacency, Directed: &directed, Weights: edges.Float64, Team: team})
		if !isText(text) {
			return
		}
		want, bad := slowAdjacency(text, directed)
		wantTwin(t, in, err, want, bad)
	})
}

// TestAdjacencyErrors has every error of adjacency lists, in plain and compressed files.
func TestAdjacencyErrors(t *testing.T) {
	twice := "an undirected edge in the lines of both its ends (--directed reads lists of one direction)"
	for _, test := range []struct {
		directed   bool
		text, want string
	}{
		{true, "", "a.adj: found no vertices, expected one a line"},
		{true, "# c\n", "a.adj: found no vertices, expected one a line"},
		{true, "1 2\n\n# c\n2 3 4\n3\n", "a.adj:4:5: found vertex 4, expected one of the vertices that have a line"},
		{false, "1 2\n2 1 3\n", "a.adj:2:5: found vertex 3, expected one of the vertices that have a line"},
		{true, "1 2\n2\n1\n", "a.adj:3:1: found vertex 1 again, expected every vertex once"},
		{true, "1 x\n", `a.adj:1:3: found "x", which is not a number, ` + idRange},
		{true, "1 2\n2 3.5\n", `a.adj:2:3: found the fractional number "3.5", ` + idRange},
		{false, "1 2 3\n2 1\n3\n", "a.adj:1:5: found 3 among the neighbours of 1, expected 1 among those of 3 as often: " + twice},
		{false, "1\n2 1\n", "a.adj:2:3: found 1 among the neighbours of 2, expected 2 among those of 1 as often: " + twice},
		{false, "1 2\n2 1 1\n", "a.adj:2:3: found 1 among the neighbours of 2, expected 2 among those of 1 as often: " + twice},
	} {
		for _, piece := range []int{1, 4, 1 << 20} {
			path := put(t, "a.adj", test.text)
			_, err := read(path, piece, ReadOptions{Directed: &test.directed})
			if err == nil || strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/",
				"") != test.want {
				t.Errorf("%q: %v, want %s", test.text, err, test.want)
			}
			path = put(t, "a.adj.gz", gz(test.text))
			if _, err := read(path, piece, ReadOptions{Directed: &test.directed}); err == nil ||
				!strings.HasSuffix(strings.ReplaceAll(err.Error(), ".gz", ""), test.want) {
				t.Errorf("%q, compressed: %v, want %s", test.text, err, test.want)
			}
		}
	}
}

// TestAdjacencyExamples reads Graphalytics' example graphs in the vertex-based format, and compares
// them with the same graphs in the edge-based format.
func TestAdjacencyExamples(t *testing.T) {
	for name, directed := range map[string]bool{"example-directed": true, "example-undirected": false} {
		path := filepath.Join("testdata", "graphalytics", name)
		o := ReadOptions{Directed: &directed}
		want := plainly(t, mustRead(t, path+".e", o))
		o.Format = Adjacency
		got := plainly(t, mustRead(t, path+"-input", o))
		order := func(g *graph) {
			for i, e := range g.tuples {
				if !directed {
					g.tuples[i] = [2]uint64{min(e[0], e[1]), max(e[0], e[1])}
				}
			}
			slices.SortFunc(g.tuples,
				func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
		}
		order(&got)
		order(&want)
		same(t, got, want)
	}
}

// TestFirstUnbalanced: firstUnbalanced finds the first pair that is in only one list, whichever
// pairs share a hash part.
func TestFirstUnbalanced(t *testing.T) {
	part := func(u, v uint64) uint64 { return hashPair(u, v)[0] % hashParts }
	x := uint64(10)
	for part(0, x) != part(5, 6) {
		x++
	}
	path := put(t, "c.adj", fmt.Sprintf("0 %d\n%d 0\n1 2\n2\n5 6\n6\n", x, x))
	_, err := read(path, pieceSize, ReadOptions{Directed: new(bool)})
	wantError(t, err, path,
		"c.adj:3:3: found 2 among the neighbours of 1, expected 1 among those of 2 as often: "+
			"an undirected edge in the lines of both its ends (--directed reads lists of one direction)")
}

// TestNULInFirstLine: the error for a file with a NUL byte does not call the file empty.
func TestNULInFirstLine(t *testing.T) {
	path := put(t, "a.adj", "1\x00 2\n")
	_, err := read(path, pieceSize, ReadOptions{})
	wantError(t, err, path, "a.adj:1:2: found a NUL byte, expected text in UTF-8 or ASCII")
	path = put(t, "g.v", "1\x00\n2\n")
	putIn(t, filepath.Dir(path), "g.e", "1 2\n")
	_, err = read(path, pieceSize, ReadOptions{})
	wantError(t, err, path, "g.v:1:2: found a NUL byte, expected text in UTF-8 or ASCII")
}

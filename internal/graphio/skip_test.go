package graphio

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestSkipBad: malformed lines are skipped and noted, up to the limit. One more is an error.
func TestSkipBad(t *testing.T) {
	team := team(t, 3)
	for seed := range rounds(150, 75, 40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		format, sep, wrong := EL, " ", []string{"x 1", "1", "1 2 3", "-1 2", "1 2\x00"}
		if rng.IntN(2) == 0 {
			format, sep, wrong = CSV, ",",
				[]string{"x,1", "1", "1,2,3", "-1,2", "1,\"2\"x", "1,2\x00", `1,"2`}
		}
		var text, clean strings.Builder
		var bad []string
		for line := range 2 + rng.IntN(100) {
			good := fmt.Sprint(rng.IntN(50), sep, rng.IntN(50))
			if line > 0 && rng.IntN(6) == 0 {
				w := wrong[rng.IntN(len(wrong))]
				if strings.HasSuffix(w, `"2`) { // the quotes would continue in the next line
					w = "?"
				}
				fmt.Fprintln(&text, w)
				bad = append(bad, fmt.Sprintf("a:%d:", line+1))
				continue
			}
			fmt.Fprintln(&text, strings.ReplaceAll(good, " ", sep)[:len(good)])
			fmt.Fprintln(&clean, strings.ReplaceAll(good, " ", sep)[:len(good)])
		}
		no := false
		o := ReadOptions{Format: format, Team: team, Columns: Columns{Header: &no, IDs: "number", Delimiter: ","}}
		path := put(t, "a", text.String())
		piece := 1 + rng.IntN(60)
		want := mustRead(t, put(t, "a", clean.String()), o)
		o.SkipBad = len(bad) + rng.IntN(3)
		in, err := read(path, piece, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		same(t, plainly(t, in), plainly(t, want))
		wantSkipped(t, in.Skipped, bad)
		in.Close()
		got, err := joined(t, path, 1+rng.IntN(4), piece, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		same(t, got, plainly(t, want))
		if len(bad) == 0 {
			continue
		}
		o.SkipBad = rng.IntN(len(bad))
		_, err = read(path, piece, o)
		if err == nil || !strings.Contains(err.Error(), "/"+bad[o.SkipBad]) {
			t.Fatalf("seed %d: found %v, expected that of %s", seed, err, bad[o.SkipBad])
		}
		if o.SkipBad > 0 && !strings.Contains(err.Error(),
			fmt.Sprintf("(malformed line %d, and %d may be left out)", o.SkipBad+1, o.SkipBad)) {
			t.Fatal(err)
		}
	}
}

func wantSkipped(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b string) bool { return strings.Contains(a, "/"+b) }) {
		t.Fatalf("left out %q, want %q", got, want)
	}
}

// TestSkipBadOfOtherLines is TestSkipBad for formats that are not columns separated by blanks.
// Skipping a line skips all its edges, weights and names.
func TestSkipBadOfOtherLines(t *testing.T) {
	team := team(t, 3)
	for seed := range rounds(120, 60, 40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 2 + rng.IntN(80)
		o := ReadOptions{Team: team, Weights: edges.Float64}
		good, head := func(i int) string {
			return fmt.Sprintf(`{"source":%d,"target":%d,"weight":%d}`, i, rng.IntN(n), rng.IntN(9))
		}, func(int) string { return "" }
		wrong := []string{`{"source":1}`, "x", `{"source":1,"target":2,"weight":"x"}`, `{"source":1,"target":"","weight":2}`, "\x00", `{"source":1,"target":"` + "\xff" + `","weight":3}`}
		switch o.Format = []Format{JSONLines, JSONLines, DIMACS, Giraph}[seed%4]; {
		case o.Format == JSONLines:
			o.Columns.IDs = IDKinds[seed%4]
		case o.Format == DIMACS:
			good = func(int) string { return fmt.Sprintf("a %d %d %d", 1+rng.IntN(n), 1+rng.IntN(n), rng.IntN(9)) }
			head = func(lines int) string { return fmt.Sprintf("p sp %d %d\n", n, lines) }
			wrong = []string{"a 1 x 2", "a 1", "a 1 2 x", "e 1 2", "a 1 2 3 4", "\x00"}
		case o.Format == Giraph:
			good = func(i int) string { return fmt.Sprintf("[%d,0,[[%d,1],[%d,2]]]", i, rng.IntN(n), rng.IntN(n)) }
			wrong = []string{"[1,0,[[2]]]", `[1,0,[[2,1],[3,"x"]]]`, "[1,0,[[2,1],[3,1]]", "1 2 3", "[-1,0,[]]"}
		}
		var text, clean strings.Builder
		var bad []string
		before := strings.Count(head(0), "\n")
		for i, line := 0, before; i < n; line++ {
			if line > before && rng.IntN(5) == 0 {
				fmt.Fprintln(&text, wrong[rng.IntN(len(wrong))])
				bad = append(bad, fmt.Sprintf("a:%d:", line+1))
				continue
			}
			l := good(i)
			fmt.Fprintln(&text, l)
			fmt.Fprintln(&clean, l)
			i++
		}
		path := put(t, "a", head(n+len(bad))+text.String())
		piece := 1 + rng.IntN(200)
		want := mustRead(t, put(t, "a", head(n)+clean.String()), o)
		o.SkipBad = len(bad) + rng.IntN(3)
		in, err := read(path, piece, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := describe(t, in), describe(t, want); got != want {
			t.Fatalf("seed %d: found %s, want %s", seed, got, want)
		}
		wantSkipped(t, in.Skipped, bad)
		in.Close()
		// joined does not count skipped lines
		if want.Names == nil && o.Format != DIMACS {
			got, err := joined(t, path, 1+rng.IntN(4), piece, o)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			same(t, got, plainly(t, want))
		}
		want.Close()
		if len(bad) > 0 {
			o.SkipBad = rng.IntN(len(bad))
			if _, err = read(path, piece, o); err == nil ||
				!strings.Contains(err.Error(), "/"+bad[o.SkipBad]) {
				t.Fatalf("seed %d: found %v, expected that of %s", seed, err, bad[o.SkipBad])
			}
		}
	}
	for name, text := range map[string]string{"a.metis": "2 1\n2\n1\n", "a.graphml": `<graphml><graph edgedefault="directed"><node id="1"/></graph></graphml>`} {
		if _, err := read(put(t, name, text), pieceSize, ReadOptions{SkipBad: 1}); err == nil ||
			!strings.Contains(err.Error(), "with --skip-bad, expected a format ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := put(t, "a.giraph", "[1,0,[[2,1]]]\nx\n[2,0,[[7,1]]]\n")
	_, err := read(path, pieceSize, ReadOptions{Format: Giraph, SkipBad: 1})
	wantError(t, err, path,
		"a.giraph:3:1: found vertex 7, expected one of the vertices that have a line")
	path = put(t, "a.giraph", "[1,0,[[2,1]]]\nx\n[1,0,[[1,1]]]\n")
	_, err = read(path, pieceSize, ReadOptions{Format: Giraph, SkipBad: 1})
	wantError(t, err, path, "a.giraph:3:1: found vertex 1 again, expected every vertex once")
	// a record with open quotes counts as one line
	for _, text := range []string{"id\n007\n1\n2\n1\n5\n6\n", "id\n\"7\n1\n2\n1\n5\n6\n"} {
		vertices := put(t, "v.csv", text)
		_, err = read(put(t, "e.csv", "source,target\n1,2\n"), pieceSize,
			ReadOptions{SkipBad: 3, Columns: Columns{Vertices: vertices}})
		wantError(t, err, vertices,
			"v.csv:5:1: found vertex 1 again, expected every vertex once")
	}
}

// TestSkipBadOfRanks: if one rank exceeds the limit of malformed lines, it does not fail. All ranks
// together find the line that is one too many.
func TestSkipBadOfRanks(t *testing.T) {
	path := put(t, "a.el", strings.Repeat("1 2\n", 50)+strings.Repeat("x\n", 50))
	r := newReader(ReadOptions{SkipBad: 2}, 10)
	r.rank, r.ranks = 1, 2
	s, err := r.readRank(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Skipped) < 3 || s.SkipBad != 2 || !strings.Contains(s.Skipped[0],
		"a.el:51:1: found ") && !strings.Contains(s.Skipped[0], "a.el:51:2: found ") {
		t.Errorf("%q", s.Skipped)
	}
}

// TestSkipBadElsewhere: skipped entries of a matrix count as entries. If a vertex's line in a graph
// of LDBC is skipped, the vertex does not exist.
func TestSkipBadElsewhere(t *testing.T) {
	path := put(t, "a.mtx",
		"%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n9 1\n2 3\n")
	in := mustRead(t, path, ReadOptions{SkipBad: 1})
	if in.Edges.Len() != 2 || len(in.Skipped) != 1 || !strings.HasSuffix(in.Skipped[0],
		`a.mtx:4:1: found the id "9", expected a whole number from 1 to 3`) {
		t.Errorf("%d edges, %q", in.Edges.Len(), in.Skipped)
	}
	path = put(t, "b.mtx",
		"%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n9 1\n2 3\n")
	_, err := read(path, pieceSize, ReadOptions{SkipBad: 1})
	wantError(t, err, path, "b.mtx:2:1: found 3 entries in the file, expected 4, as this line says")
	path = put(t, "a.v", "1\nx\n2\n")
	putIn(t, filepath.Dir(path), "a.e", "1 2\n1\n")
	in = mustRead(t, path, ReadOptions{SkipBad: 2, Weights: edges.Float64})
	wantSkipped(t, in.Skipped, []string{"a.v:2:1: ", "a.e:2:2: "})
	path = put(t, "long.el", "1 2\n"+strings.Repeat("3", 1<<21)+"\n5 6\n")
	_, err = read(path, 100, ReadOptions{SkipBad: 100})
	if err == nil ||
		!strings.Contains(err.Error(), "long.el:2:1048577: found a line of more than 1 MiB") {
		t.Error(err)
	}
}

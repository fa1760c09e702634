package graphio

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestForeign reads files of kinds that are not read: each is named, whatever its name and format, also compressed, and by
// every part of it.
func TestForeign(t *testing.T) {
	tar := strings.Repeat("x\x00", 128) + "\x00ustar" + strings.Repeat("\x00", 300)
	packed := strings.Repeat(string(appendEdge(nil, 5, 1<<31)), 20)
	text := `text: write its edges as lines "u v"`
	unpack := "text, plain or compressed by gzip or zstd: unpack it with "
	for _, test := range []struct{ name, content, want string }{
		{"a.parquet", "PAR1\x15\x04\x15", "a.parquet: found Parquet data, expected " + text},
		{"a.el.bz2", "BZh91AY&SY\x01", "a.el.bz2: found bzip2 data, expected " + unpack + "bunzip2"},
		{"a.txt.xz", "\xfd7zXZ\x00\x00\x04", "a.txt.xz: found xz data, expected " + unpack + "unxz"},
		{"a.mtx.lz4", "\x04\x22\x4d\x18d@\xa7", "a.mtx.lz4: found lz4 data, expected " + unpack + "unlz4"},
		{"a.Z", "\x1f\x9d\x90", "a.Z: found data of compress, expected " + unpack + "uncompress"},
		{"a.zip", "PK\x03\x04\x14", "a.zip: found a zip archive, expected a file of a graph: unpack it with unzip"},
		{"a.tar", tar, "a.tar: found a tar archive, expected a file of a graph: unpack it with tar xf"},
		{"a.npy", "\x93NUMPY\x01", "a.npy: found a NumPy array, expected " + text},
		{"a.h5", "\x89HDF\r\n\x1a\n\x00", "a.h5: found HDF5 data, expected " + text},
		{"a.el", "version https://git-lfs.github.com/spec/v1\n", "a.el: found a pointer of Git LFS, expected the file itself: git lfs pull fetches it"},
		{"g20", packed, "g20: found binary data that can be packed edges, expected text (--format graph500 reads packed edges)"},
		{"a.txt", "\n<!DOCTYPE html>\n", `a.txt:2: found HTML or XML: "<!DOCTYPE html>", expected ` + text + " (a page in place of a download begins so)"},
		{"a.json", `[{"u": 1}]`, `a.json:1: found JSON: "[{\"u\": 1}]", expected ` + text},
		{"a.net", "*Vertices 3\n*Edges\n1 2\n", "a.net:1: found a graph of Pajek, expected " + text},
		{"a.dot", "digraph g {\n1 -> 2\n}\n", `a.dot:1: found a graph of Graphviz: "digraph g {", expected ` + text},
		{"a.gml", "graph [\n  directed 1\n]\n", `a.gml:1: found a graph in GML: "graph [", expected ` + text},
		{"a.gml", "Creator \"x\"\ngraph\n[\n", `a.gml:1: found a graph in GML: "Creator \"x\"", expected ` + text},
	} {
		for _, o := range []ReadOptions{{}, {Format: EL}, {Format: WEL, Weights: edges.Float32}} {
			path := put(t, test.name, test.content)
			_, err := read(path, 7, o)
			wantError(t, err, path, test.want)
			r := newReader(o, pieceSize)
			r.rank, r.ranks = 1, 2
			_, err = r.readRank(t.Context(), path)
			wantError(t, err, path, test.want)
		}
		if test.name == "a.el" {
			path := put(t, "a.el", gz(test.content))
			_, err := read(path, pieceSize, ReadOptions{})
			wantError(t, err, path, test.want)
		}
	}
	dir := t.TempDir()
	putIn(t, dir, "g.v", "1\n2\n")
	_, err := read(putIn(t, dir, "g.e", "1|2\n"), pieceSize, ReadOptions{})
	wantError(t, err, dir+"/g.e", `g.e:1: found columns separated by bars: "1|2", expected blanks between numbers: cat g.e | tr '|' ' ' > FILE.el makes them`)
}

// TestForeignCommands runs the commands that errors name: what they make is read, and is the graph.
func TestForeignCommands(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	plain := [][2]uint64{{1, 2}, {2, 3}}
	for _, test := range []struct {
		name, content, found string
		weights              []float64
	}{
		{"a.col", "c edges\np edge 3 2\ne 1 2\ne 2 3\n", ":1: found a DIMACS graph, ", nil},
		{"a.gr", "c\np sp 3 2\na 1 2 5\na 2 3 7\n", ":1: found a DIMACS graph, ", []float64{5, 7}},
		{"a.graph", "% c\n3 2\n2\n% d\n1 3\n2\n", ": found what looks like METIS: each line the neighbours of a vertex, ", nil},
	} {
		path := put(t, test.name, test.content)
		_, err := read(path, pieceSize, ReadOptions{})
		var f *fault
		if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), path+test.found) {
			t.Errorf("%s: %v, want %s", test.name, err, test.found)
			continue
		}
		command := regexp.MustCompile(`: ((cat|tail|sed|awk) .*FILE\.w?el) makes`).FindStringSubmatch(f.expected)
		if command == nil {
			t.Fatalf("%s: no command in %q", test.name, f.expected)
		}
		made := filepath.Join(filepath.Dir(path), "made.el")
		shell := exec.Command("sh", "-c", regexp.MustCompile(`FILE\.w?el`).ReplaceAllString(command[1], made))
		shell.Dir = filepath.Dir(path)
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[1], err, out)
		}
		same(t, plainly(t, mustRead(t, made, ReadOptions{Weights: edges.Float64})), graph{[]uint64{1, 2, 3}, plain, test.weights})
	}
}

// TestForeignLists: adjacency lists with commas are told from edges by their content or by the format, for another name makes them lists again.
func TestForeignLists(t *testing.T) {
	for _, test := range []struct {
		content string
		format  Format
		made    string
	}{
		{"1,2,3\n2,3\n3,1,2,4\n4,1\n", "", "adjacency lists with blanks between numbers: cat a.txt | tr ',' ' ' > FILE.adj makes them"},
		{"vertex,neighbours\n1,2,3\n2,3\n3,1,2,4\n4,1\n", "", "adjacency lists with blanks between numbers: sed 1,1d a.txt | tr ',' ' ' > FILE.adj makes them"},
		{"1,2\n2,1\n", Adjacency, "adjacency lists with blanks between numbers: cat a.txt | tr ',' ' ' > FILE.adj makes them"},
		{"1,2\n2,3\n3,4\n", "", "expected blanks between columns (--format csv reads tables)"},
		{"1,2,5\n2,3,7\n3,4,9\n", "", "expected blanks between columns (--format csv reads tables)"},
		{"source,target", "", "expected blanks between columns (--format csv reads tables)"},
	} {
		path := put(t, "a.txt", test.content)
		if _, err := read(path, pieceSize, ReadOptions{Format: test.format}); err == nil || !strings.HasSuffix(err.Error(), test.made) {
			t.Errorf("%q: %v, want %s", test.content, err, test.made)
		}
	}
}

// TestMETIS tells METIS from faulty lists of edges.
func TestMETIS(t *testing.T) {
	ring := "50 50\n"
	for i := range 50 {
		ring += fmt.Sprintf("%d %d\n", (i+1)%50+1, (i+49)%50+1)
	}
	for _, test := range []struct {
		text        string
		whole, want bool
	}{
		{"3 2\n2\n1 3\n2\n", true, true},
		{"3 1\n2\n1\n\n", true, true},
		{"3 2 1\n2 1\n1 1 3 1\n2 1\n", true, true},
		{ring, true, true},
		{ring[:150], false, true},
		{"", true, false},
		{"1 2\n3\n", true, false},
		{"5 6\n1\n", true, false},
		{"3 2\n2\n1 4\n2\n", true, false},
		{"3 2\n2\n0 1\n2\n", true, false},
		{"3 2\n2\n1 x\n2\n", true, false},
		{"3\n2\n1\n2\n", true, false},
		{"3 2\n2\n1 3\n2\n", false, false},
	} {
		if got := isMETIS([]byte(test.text), test.whole); got != test.want {
			t.Errorf("%q, whole %t: %t", test.text, test.whole, got)
		}
	}
	// What an edge list may be is read as one.
	if in := mustRead(t, put(t, "a.el", ring), ReadOptions{}); in.Edges.Len() != 51 {
		t.Errorf("%d edges", in.Edges.Len())
	}
}

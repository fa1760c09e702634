package graphio

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

const (
	idRange   = "expected a whole number from 0 to 18446744073709551614"
	pairText  = `expected 2: "u v" (a list with weights is of format wel)`
	lowerText = `expected only entries with row >= column, each edge once (a file with both triangles is "general", not "symmetric")`
	tripText  = `expected 3: "u v w", two ids and a weight`
)

// TestListErrors has every error of a line of an edge list.
func TestListErrors(t *testing.T) {
	long := strings.Repeat("7", 100)
	tests := []struct{ name, text, want string }{
		{"a.el", "1 2\n3\n", `a.el:2:2: found 1 column: "3", ` + pairText},
		{"a.el", "1 2\n1 2 3 4 5\n", `a.el:2:5: found 5 columns: "1 2 3 4 5", ` + pairText},
		{"a.el", "1 2\n1 2 0.5\n", `a.el:2:5: found 3 columns: "1 2 0.5", ` + pairText},
		{"a.el", "1 2\n1,2\n", `a.el:2:4: found 1 column: "1,2", ` + pairText},
		{"a.el", "# x\n\n-1 2\n", `a.el:3:1: found the negative number "-1", ` + idRange},
		{"a.el", "1 -0.5\n", `a.el:1:3: found the negative number "-0.5", ` + idRange},
		{"a.el", "1 2.5\n", `a.el:1:3: found the fractional number "2.5", ` + idRange},
		{"a.el", "1 2.0\n", `a.el:1:3: found the fractional number "2.0", ` + idRange},
		{"a.el", "1 +2\n", `a.el:1:3: found "+2", which is not a number, ` + idRange},
		{"a.el", "1 1e3\n", `a.el:1:3: found "1e3", which is not a number, ` + idRange},
		{"a.el", "1 .\n", `a.el:1:3: found ".", which is not a number, ` + idRange},
		{"a.el", "1 two\n", `a.el:1:3: found "two", which is not a number, ` + idRange},
		{"a.el", "1 2\r3\n", `a.el:1:3: found "2\r3", which is not a number, ` + idRange},
		{"a.el", "1 18446744073709551616\n", `a.el:1:3: found the number "18446744073709551616", too large for 64 bits, ` + idRange},
		{"a.el", "1 18446744073709551615\n", `a.el:1:3: found the reserved id "18446744073709551615", ` + idRange},
		{"a.el", "1 " + long + "\n", `a.el:1:3: found the number "` + long[:80] + `"..., too large for 64 bits, ` + idRange},
		{"a.el", "1 2\n3 \x00\n", "a.el:2:3: found a NUL byte, expected text in UTF-8 or ASCII"},
		{"a.el", "\xff\xfe1\x00 \x002\x00\n\x00", "a.el:1:1: found a UTF-16 byte order mark, expected text in UTF-8 or ASCII"},
		{"a.el", "\xfe\xff\x001\x00 \x002\x00\n", "a.el:1:1: found a UTF-16 byte order mark, expected text in UTF-8 or ASCII"},
		{"a.el", "1 2\n#" + strings.Repeat("x",
			1<<20) + "\n", `a.el:2:1048577: found a line of more than 1 MiB: "#` +
			strings.Repeat("x", 79) + `"..., expected shorter lines`},
		{"a.el", "1 2\n1" + strings.Repeat(" ",
			1<<20) + "2\n", `a.el:2:1048577: found a line of more than 1 MiB: "1` +
			strings.Repeat(" ", 79) + `"..., expected shorter lines`},
		{"a.txt", "1 2 1 5 6\n1 2 3 4\n", `a.txt:2:8: found 4 columns: "1 2 3 4", expected 5 as in the first line: "u v w", two ids and a weight, and 2 more`},
		{"a.wel", "1 2 1\n1 2 3 4\n", `a.wel:2:7: found 4 columns: "1 2 3 4", ` + tripText},
		{"a.wel", "1 2 1\n1 2\n", `a.wel:2:4: found 2 columns: "1 2", ` + tripText},
		{"a.wel", "1 2 x\n", `a.wel:1:5: found the weight "x", expected a number`},
		{"a.wel", "1 2 1.5.\n", `a.wel:1:5: found the weight "1.5.", expected a number`},
		{"a.wel", "1 2 nan\n", `a.wel:1:5: found the weight "nan", expected a finite number`},
		{"a.wel", "1 2 -Inf\n", `a.wel:1:5: found the weight "-Inf", expected a finite number`},
		{"a.wel", "1 2 +infinity\n", `a.wel:1:5: found the weight "+infinity", expected a finite number`},
		{"a.wel", "1 2 0\n1 2 1e-400\n", `a.wel:2:5: found the weight "1e-400", which would be 0, expected a number that fits 64 bits`},
		{"a.wel", "1 2 -0x1p-2000\n", `a.wel:1:5: found the weight "-0x1p-2000", which would be 0, expected a number that fits 64 bits`},
		{"a.wel", "1 2 0x0ap-2000\n", `a.wel:1:5: found the weight "0x0ap-2000", which would be 0, expected a number that fits 64 bits`},
		{"a.wel", "1 2 1e999\n", `a.wel:1:5: found the weight "1e999", expected a number that fits 64 bits`},
	}
	for _, test := range tests {
		path := put(t, test.name, test.text)
		for _, piece := range []int{1, 3, 1 << 20} {
			if len(test.text) > 1000 && piece < 100 {
				piece = 1000
			}
			_, err := read(path, piece, ReadOptions{Team: team(t, 2)})
			wantError(t, err, path, test.want)
		}
	}
	path := put(t, "s.wel", "1 2 1e39\n")
	_, err := read(path, pieceSize, ReadOptions{Weights: edges.Float32})
	wantError(t, err, path,
		`s.wel:1:5: found the weight "1e39", expected a number that fits 32 bits`)
	path = put(t, "s.wel", "1 2 1e-50\n")
	_, err = read(path, pieceSize, ReadOptions{Weights: edges.Float32})
	wantError(t, err, path,
		`s.wel:1:5: found the weight "1e-50", which would be 0, expected a number that fits 32 bits`)
	path = put(t, "forced.txt", "1 2 3\n")
	_, err = read(path, pieceSize, ReadOptions{Format: SNAP})
	wantError(t, err, path, `forced.txt:1:5: found 3 columns: "1 2 3", `+pairText)
}

// TestMTXErrors has every error of a Matrix Market file.
func TestMTXErrors(t *testing.T) {
	const head = "%%MatrixMarket matrix coordinate pattern general\n"
	tests := []struct{ text, want string }{
		{"", "a.mtx:1:1: found the end of the file, expected %%MatrixMarket"},
		{"3 3 1\n", `a.mtx:1:1: found "3 3 1", expected %%MatrixMarket`},
		{"%%MatrixMarket matrix\n", `a.mtx:1:1: found "%%MatrixMarket matrix", expected %%MatrixMarket matrix coordinate FIELD SYMMETRY`},
		{"%%MatrixMarket vector coordinate real general\n", `a.mtx:1:16: found "vector", expected matrix`},
		{"%%MatrixMarket matrix array real general\n", `a.mtx:1:23: found "array", expected coordinate`},
		{"%%MatrixMarket matrix coordinate complex general\n", `a.mtx:1:34: found "complex", expected pattern or real or integer or unsigned-integer`},
		{"%%MatrixMarket matrix coordinate real skew-symmetric\n", `a.mtx:1:39: found "skew-symmetric", expected general or symmetric`},
		{"%%MatrixMarket matrix coordinate real Hermitian\n", `a.mtx:1:39: found "hermitian", expected general or symmetric`},
		{head + "% x\n", "a.mtx:3:1: found the end of the file, expected a line of rows, columns and entries"},
		{head + "3 3\n", "a.mtx:2:4: found 2 numbers, expected rows, columns and entries, 3 whole numbers"},
		{head + "3 3 x\n", `a.mtx:2:5: found "x", which is not a number, expected rows, columns and entries, 3 whole numbers`},
		{head + "3 3 -1\n", `a.mtx:2:5: found the negative number "-1", expected rows, columns and entries, 3 whole numbers`},
		{head + "3 3 1 1\n", "a.mtx:2:7: found more than 3 numbers, expected rows, columns and entries, 3 whole numbers"},
		{head + "3 4 1\n", "a.mtx:2:1: found 3 rows and 4 columns, expected as many rows as columns"},
		{head + "1000000000000000000 1000000000000000000 1\n1 1\n", "a.mtx:2:1: found 1,000,000,000,000,000,000 vertices, expected at most 4,294,967,296"},
		{head + "4000000000 4000000000 1\n1 1\n", "a.mtx:2:1: found 4,000,000,000 vertices for 1 entry, expected at most 1,048,576 (1024 each)"},
		{head + "3 3 1000000000000000000\n1 1\n", "a.mtx:2:1: found 1 entry in the file, expected 1,000,000,000,000,000,000, as this line says"},
		{head + "3 3 1\n1 1\n2 2\n", "a.mtx:2:1: found 2 entries in the file, expected 1, as this line says"},
		{head + "3 3 2\n% x\n1 1\n4 1\n", `a.mtx:5:1: found the id "4", expected a whole number from 1 to 3`},
		{head + "3 3 2\n1 1\n1 0\n", `a.mtx:4:3: found the id "0", expected a whole number from 1 to 3`},
		{head + "0 0 1\n1 1\n", `a.mtx:3:1: found the id "1", expected a whole number from 1 to 0`},
		{head + "3 3 1\n1 1 5\n", `a.mtx:3:5: found 3 columns: "1 1 5", expected 2: "row column"`},
		{head + "3 3 1\n# 1\n", `a.mtx:3:1: found "#", which is not a number, expected a whole number from 1 to 3`},
		{"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n", `a.mtx:3:4: found 2 columns: "1 1", expected 3: "row column value"`},
		{"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n", `a.mtx:3:5: found the weight "nan", expected a finite number`},
		{"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 3\n1 2\n", "a.mtx:5:1: found the entry 1 2 above the diagonal, " + lowerText},
		{"%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n +1 2 .5\n", `a.mtx:3:2: found "+1", which is not a number, expected a whole number from 1 to 3`},
		{"%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 2 1e-3\n", "a.mtx:3:1: found the entry 1 2 above the diagonal, " + lowerText},
		{"\xff\xfe%\x00", "a.mtx:1:1: found a UTF-16 byte order mark, expected text in UTF-8 or ASCII"},
		{"%%MatrixMarket\x00", "a.mtx:1:15: found a NUL byte, expected text in UTF-8 or ASCII"},
	}
	for _, test := range tests {
		path := put(t, "a.mtx", test.text)
		for _, piece := range []int{1, 1 << 20} {
			_, err := read(path, piece, ReadOptions{})
			wantError(t, err, path, test.want)
		}
	}
	path := put(t, "a.mtx", head+"%"+strings.Repeat("x", 1<<20)+"\n1 1 0\n")
	_, err := read(path, pieceSize, ReadOptions{})
	wantError(t, err, path, `a.mtx:2:1048577: found a line of more than 1 MiB: "%`+
		strings.Repeat("x", 79)+`"..., expected shorter lines`)
	path = put(t, "s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n")
	_, err = read(path, pieceSize, ReadOptions{Directed: &yes})
	wantError(t, err, path,
		"s.mtx:1:1: found a symmetric matrix to be read as directed, expected a general one (an undirected graph is walked both ways already)")
}

// TestLDBCErrors has every error of the files of a Graphalytics graph.
func TestLDBCErrors(t *testing.T) {
	tests := []struct{ v, e, properties, want string }{
		{"-", "1 2\n", "-", "g.e: found no file g.v, expected vertices in FILE.v and edges in FILE.e"},
		{"1\n", "-", "-", "g.e: found no file g.e, expected vertices in FILE.v and edges in FILE.e"},
		{"-", "-", "-", "g.e: found no file g.v and none g.e, expected vertices in FILE.v and edges in FILE.e"},
		{"1\nx\n", "1 2\n", "-", `g.v:2:1: found "x", which is not a number, ` + idRange},
		{"1\n# c\n2\n\n1\n2\n", "1 2\n", "-", "g.v:5:1: found vertex 1 again, expected every vertex once"},
		{"1\n1\n", "1 x\n", "-", "g.v:2:1: found vertex 1 again, expected every vertex once"},
		{"1\n99999999999\n99999999999\n", "1 2\n", "-", "g.v:3:1: found vertex 99999999999 again, expected every vertex once"},
		{"1\n2\n", "1 2\n\n2 1\n2 3\n4 1\n", "-", "g.e:4:3: found vertex 3, expected one of the vertices in g.v"},
		{"1\n2\n", "# c\n3 1\n", "-", "g.e:2:1: found vertex 3, expected one of the vertices in g.v"},
		{"", "3 1\n", "-", "g.v: found no vertices, expected one a line"},
		{"# c\n", "", "-", "g.v: found no vertices, expected one a line"},
		{"1\n2\n", "1 2\n1 2 0.5\n", "-", `g.e:2:5: found 3 columns: "1 2 0.5", expected 2: "u v"`},
		{"1\n2\n", "1 2\n", "graph.g.edge-properties.names = weight\n", `g.e:1:4: found 2 columns: "1 2", ` + tripText},
		{"1\n2\n", "1 2 .5\n", "graph.g.edge-properties.names =\n", `g.e:1:5: found 3 columns: "1 2 .5", expected 2: "u v"`},
		{"1\n2\n", "1 2\n", "# c\ngraph.g.directed = yes\n", `g.properties:2:1: found directed = "yes", expected true or false`},
		{"1\n2\n", "1 2\n", "graph.g.edge-properties.names = a, b\n", `g.e:1:4: found 2 columns: "1 2", expected 4: "u v a b", as g.properties says`},
		{"1\n2\n", "1 2 3 x\n", "graph.g.edge-properties.names = a,weight\n", `g.e:1:7: found the weight "x", expected a number`},
		{"1\n2\n", "1 2 3 4\n2 1 3\n", "-", `g.e:2:6: found 3 columns: "2 1 3", expected 4 as in the first line: "u v w", two ids and a weight, and 1 more`},
		{"1\n2\n", "1 2\n", "\x00\n", "g.properties:1:1: found a NUL byte, expected text in UTF-8 or ASCII"},
	}
	for _, test := range tests {
		dir := t.TempDir()
		for end, text := range map[string]string{".v": test.v, ".e": test.e, ".properties": test.properties} {
			if text != "-" {
				putIn(t, dir, "g"+end, text)
			}
		}
		for _, piece := range []int{1, 1 << 20} {
			_, err := read(dir+"/g.e", piece, ReadOptions{Team: team(t, 2)})
			wantError(t, err, dir+"/g.e", test.want)
		}
	}
}

// TestGraph500Errors has every error of packed tuples.
func TestGraph500Errors(t *testing.T) {
	tuple := string(appendEdge(nil, 1, 2))
	var pairs []byte // an earlier layout of the reference code
	for i := range uint64(6) {
		pairs = binary.LittleEndian.AppendUint64(pairs, i*7%5)
	}
	wrong := "found edges of 16 bytes, two numbers of 64 bits, expected packed edges of 12 bytes, 48 bits a vertex; or " + asText
	compressed := "found a name that ends in .gz, expected that of binary data that are not compressed: they are read from several places at once"
	tests := []struct{ name, text, weights, want string }{
		{"a.bin", string(pairs), "-", "a.bin: " + wrong},
		{"a.bin", tuple + "x", "-", "a.bin: found 13 bytes, expected a multiple of 12"},
		{"a.bin", string(pairs) + string(pairs[:16]), "-", "a.bin: " + wrong},
		{"a.bin", string(pairs) + string(pairs[:32]), "-", "a.bin: " + wrong},
		{"a.bin.gz", gz(tuple), "-", "a.bin.gz: " + compressed},
		{"a.bin.gz", tuple, "-", "a.bin.gz: " + compressed},
		{
			"a.bin", string(appendEdge(nil, 1,
				1<<32)), "-",
			"a.bin: found the vertex 4294967296, expected at most 4294967295: files name all vertices up to the largest",
		},
		{"a.bin", tuple, "123", "a.bin.weights: found 3 bytes, expected 4: 4 for each tuple of a.bin"},
		{"a.bin", tuple, "12345678", "a.bin.weights: found 8 bytes, expected 4: 4 for each tuple of a.bin"},
		{"a.bin", tuple, "\x00\x00\xc0\x7f", "a.bin.weights: found the weight NaN of tuple 0, expected a finite number"},
		{"a.bin", tuple, "\x00\x00\x80\xff", "a.bin.weights: found the weight -Inf of tuple 0, expected a finite number"},
	}
	for _, test := range tests {
		path := put(t, test.name, test.text)
		if test.weights != "-" {
			putIn(t, "/", path+".weights", test.weights)
		}
		_, err := read(path, pieceSize, ReadOptions{Weights: edges.Float32})
		wantError(t, err, path, test.want)
	}
}

// TestOpenErrors has the errors of names that are not readable files.
func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name   string
		format Format
		want   string
	}{
		{"none.el", "", "open none.el: no such file or directory"},
		{"none", "", "open none: no such file or directory"},
		{"none.g500", "", "open none.g500: no such file or directory"},
		{".", EL, ".: found a directory without files, expected parts of a graph, or a snapshot (snapshot.json)"},
		{"none.el", "gml", `found the graph format "gml", expected one of snap, el, wel, mtx, ldbc, graph500, csv, tsv, jsonl, parquet, dimacs, metis, sg, wsg, adjacency, giraph, graphml`},
	} {
		path := dir + "/" + test.name
		_, err := read(path, pieceSize, ReadOptions{Format: test.format})
		wantError(t, err, path, test.want)
	}
}

// TestNoEdges: a file of edges without edges is refused, whether it is read as a whole or in parts.
func TestNoEdges(t *testing.T) {
	for name, text := range map[string]string{"a.el": "", "b.txt": "# c\n\n", "c.txt": "\xef\xbb\xbf", "d.wel.gz": gz("# c\n"), "e.graph500": ""} {
		path := put(t, name, text)
		_, err := read(path, pieceSize, ReadOptions{Weights: edges.Float64})
		wantError(t, err, path, name+": found no edges, expected one or more")
		for rank := range 2 {
			s, err := ReadRank(t.Context(), path, rank, 2, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, s.Check(s.Edges.Len(), 0), path,
				name+": found no edges, expected one or more")
			s.Close()
		}
	}
	if s, err := ReadRank(t.Context(), put(t, "a.el", "1 2\n"), 1, 2, ReadOptions{}); err != nil ||
		s.Check(1, 2) != nil {
		t.Error(err)
	}
}

package graphio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestForeign reads files in formats that are not read. The error names the format, whatever the
// file's name, format and compression, and whichever part is read.
func TestForeign(t *testing.T) {
	tar := strings.Repeat("x\x00", 128) + "\x00ustar" + strings.Repeat("\x00", 300)
	packed := strings.Repeat(string(appendEdge(nil, 5, 1<<31)), 20)
	text := `text: write its edges as lines "u v"`
	unpack := "text, plain or compressed by gzip, zstd, bzip2 or xz: unpack it with "
	for _, test := range []struct{ name, content, want string }{
		{"a.xlsx", "PK\x03\x04", "a.xlsx: found an Excel workbook, expected CSV: save the sheet of the edges as CSV UTF-8"},
		{"a.gexf", "<?xml version=\"1.0\"?>\n<gexf>\n", "a.gexf:1:1: found a graph in GEXF, expected a table: Gephi exports that of the edges (Data Laboratory, Export table)"},
		{"a.nt", "<a> <b> <c> .\n", `a.nt:1:1: found RDF triples: "<a> <b> <c> .", expected a table: riot --output=ntriples a.nt | awk '{print $1 "\t" $3}' > FILE.tsv makes one of all triples`},
		{"a.ttl", "@prefix a: <b> .\n", `a.ttl:1:1: found RDF triples: "@prefix a: <b> .", expected a table: riot --output=ntriples a.ttl | awk '{print $1 "\t" $3}' > FILE.tsv makes one of all triples`},
		{"a.mtx.lz4", "\x04\x22\x4d\x18d@\xa7", "a.mtx.lz4: found lz4 data, expected " + unpack + "unlz4"},
		{"a.el.lzma", "\x5d\x00\x00\x80\x00\xff", "a.el.lzma: found lzma data, expected " + unpack + "unlzma"},
		{"a.Z", "\x1f\x9d\x90", "a.Z: found data of compress, expected " + unpack + "uncompress"},
		{"a.zip", "PK\x03\x04\x14", "a.zip: found a zip archive, expected a file of a graph: unpack it with unzip"},
		{"a.tar", tar, "a.tar: found a tar archive, expected a file of a graph: unpack it with tar xf"},
		{"a.npy", "\x93NUMPY\x01", "a.npy: found a NumPy array, expected " + text},
		{"a.h5", "\x89HDF\r\n\x1a\n\x00", "a.h5: found HDF5 data, expected " + text},
		{"a.el", "version https://git-lfs.github.com/spec/v1\n", "a.el: found a pointer of Git LFS, expected the file itself: git lfs pull fetches it"},
		{"g20", packed, "g20: found binary data that can be packed edges, expected text (--format graph500 reads packed edges)"},
		{"a.txt", "\n<!DOCTYPE html>\n", `a.txt:2:1: found HTML or XML: "<!DOCTYPE html>", expected ` + text + " (a page in place of a download begins so)"},
		{"a.json", `[{"u": 1}]`, `a.json:1:1: found JSON: "[{\"u\": 1}]", expected ` + text + " (--format jsonl reads an object a line, --format giraph a list a line)"},
		{"a.net", "*Vertices 3\n*Edges\n1 2\n", "a.net:1:1: found a graph of Pajek, expected " + text},
		{"a.dot", "digraph g {\n1 -> 2\n}\n", `a.dot:1:1: found a graph of Graphviz: "digraph g {", expected ` + text},
		{"a.gml", "graph [\n  directed 1\n]\n", `a.gml:1:1: found a graph in GML: "graph [", expected ` + text},
		{"a.gml", "Creator \"x\"\ngraph\n[\n", `a.gml:1:1: found a graph in GML: "Creator \"x\"", expected ` + text},
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
	wantError(t, err, dir+"/g.e",
		`g.e:1:1: found columns separated by bars: "1|2", expected blanks between columns (--format csv reads tables)`)
}

// TestSeparated: columns that are not separated by blanks are not read as a list.
func TestSeparated(t *testing.T) {
	for content, by := range map[string]string{
		"1,2,3\n2,3\n3,1,2,4\n4,1\n": "commas (CSV)",
		"source;target":              "semicolons (CSV)", "1|2": "bars",
	} {
		path := put(t, "a.txt", content)
		_, err := read(path, pieceSize, ReadOptions{})
		line, _, _ := strings.Cut(content, "\n")
		wantError(t, err, path, fmt.Sprintf("a.txt:1:1: found columns separated by %s: %q, expected blanks between columns (--format csv reads tables)", by, line))
	}
}

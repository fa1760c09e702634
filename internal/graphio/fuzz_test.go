package graphio

import (
	"bytes"
	"compress/bzip2"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/ulikunitz/xz"
)

// Each fuzz target checks that no input causes a panic, and that the result equals that of the slow
// parser. If lines are malformed, both must report the same line.

// wantTwin compares the result of reading with the result of the slow parser.
func wantTwin(t *testing.T, in *edges.Input, err error, want graph, bad badLine) {
	t.Helper()
	if (err != nil) != (bad != 0) {
		t.Fatalf("error %v, the slow parser stopped at line %d", err, bad)
	}
	if err == nil {
		same(t, plainly(t, in), want)
		in.Close()
		return
	}
	var f *fault
	// line 0: a file in another format
	if !errors.As(err, &f) || (bad > 0 && f.line > 0 && f.line != int(bad)) {
		t.Fatalf("error %v, the slow parser stopped at line %d", err, bad)
	}
}

func FuzzEdgeList(f *testing.F) {
	for _, text := range []string{
		"1 2\n", "# c\n1\t2\r\n\r\n3 4", "1 2 .5\n", "18446744073709551614 0 -1e-3\n",
		"\xef\xbb\xbf1 2", "\xff\xfe", "1 2\x00",
		"1 2 0x1p-2\n", "00000000000000000000001 2 123456789012345.6\n", "1 2 3 4",
		"1 2 3 4 x\n5 6 7\t8 y \n5 6 7 8\n", "1 2\r\r\n", "-1 2", "1 2.5 1", "% c\n\n 7  8  1_0 \n",
	} {
		f.Add(text, byte(2), byte(7))
		f.Add(text, byte(3), byte(1))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, columns, piece byte) {
		format, n := EL, 2
		if columns%2 == 1 {
			format, n = WEL, 3
			if lines, _, _ := slowLines(text, "#%"); len(lines) > 0 {
				n = max(n, len(lines[0])) // the reader ignores further columns
			}
		}
		for kind, size := range map[edges.Weights]int{edges.Float64: 64, edges.Float32: 32} {
			ids, weights, bad := slowList(text, "#%", n, 0, math.MaxUint64-1, size)
			in, err := read(put(t, "a", text), int(piece)+1,
				ReadOptions{Format: format, Weights: kind, Team: team})
			if !isText(text) {
				return
			}
			if bad == 0 && len(ids) == 0 {
				bad = -1
			}
			wantTwin(t, in, err, slowGraph(ids, weights), bad)
		}
	})
}

func FuzzMatrixMarket(f *testing.F) {
	for _, text := range []string{
		"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n",
		"%%MatrixMarket matrix coordinate real symmetric\n% c\n2 2 2\n2 1 .5\n1 1 1\n",
		"%%matrixmarket MATRIX coordinate integer general\n0 0 0",
		"%%MatrixMarket matrix coordinate pattern general\n9 9 99999999999999999999\n",
	} {
		f.Add(text, byte(3))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, piece byte) {
		in, err := read(put(t, "a", text), int(piece)+1,
			ReadOptions{Format: MatrixMarket, Weights: edges.Float64, Team: team})
		if !isText(text) {
			return
		}
		want, symmetric, bad := slowMTX(text)
		if err == nil && in.Directed == symmetric {
			t.Errorf("directed %t, symmetric %t", in.Directed, symmetric)
		}
		wantTwin(t, in, err, want, bad)
	})
}

func FuzzLDBC(f *testing.F) {
	f.Add("1\n2\n", "1 2\n", "graph.a.directed = true\n", byte(5))
	f.Add("1\n99999999999\n# c\n", "1 99999999999 .5\n",
		"graph.a.directed: \\\n false\ngraph.a.edge-properties.names = weight\n", byte(1))
	f.Add("1\n1\n", "1 1\n", "graph.a.directed = maybe\n", byte(1))
	f.Add("3\n1\n", "1 2\n", "", byte(1))
	f.Add("3 ada 1.5\n1\tx 3\n2\n", "1 2\n2 3\n", "", byte(3))
	f.Add("1\n2\n", "1 2 .5 x\n2 1 3\ty\n", "", byte(3))
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, v, e, properties string, piece byte) {
		dir := t.TempDir()
		path := putIn(t, dir, "a.v", v)
		putIn(t, dir, "a.e", e)
		if properties != "" {
			putIn(t, dir, "a.properties", properties)
		}
		in, err := read(path, int(piece)+1, ReadOptions{Weights: edges.Float64, Team: team})
		if !isText(v) || !isText(e) {
			return
		}
		if properties != "" {
			if err == nil { // the slow parser does not know properties
				_ = plainly(t, in)
				in.Close()
			}
			return
		}
		n := 2
		if lines, _, _ := slowLines(e, "#%"); len(lines) > 0 && len(lines[0]) >= 3 {
			n = len(lines[0])
		}
		want, bad := slowLDBC(v, e, n)
		wantTwin(t, in, err, want, bad)
	})
}

func FuzzGraph500(f *testing.F) {
	f.Add([]byte{}, byte(0))
	f.Add(appendEdge(appendEdge(nil, 1, 2), 5, 1000), byte(0))
	f.Add(appendEdge(nil, 1<<47, 2), byte(0))
	f.Add([]byte("1234567890123"), byte(0))
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, data []byte, piece byte) {
		in, err := read(put(t, "a.bin", string(data)), int(piece)+1, ReadOptions{Team: team})
		want, bad := slowGraph500(data)
		if err == nil && len(data) > 0 && want.vertices == nil { // too many vertices to compare
			in.Close()
			return
		}
		wantTwin(t, in, err, want, bad)
	})
}

func FuzzValues(f *testing.F) {
	f.Add("1 2\n# c\n3 infinity\n")
	f.Add("18446744073709551614\ta b \r\n")
	f.Fuzz(func(t *testing.T, text string) {
		ids, values, err := readValues(strings.NewReader(text), "v")
		if err != nil {
			return
		}
		lines, _, bad := slowLines(text, "#%")
		if bad != 0 || len(lines) != len(ids) {
			t.Fatalf("%d lines, the slow parser has %d and stops at %d", len(ids), len(lines), bad)
		}
		for i, fields := range lines {
			id, _, bad := slowList(fields[0], "", 1, 0, math.MaxUint64-1, 64)
			value := strings.FieldsFunc(values[i],
				func(c rune) bool { return c == ' ' || c == '\t' })
			if bad != 0 || id[0] != ids[i] || !slices.Equal(value, fields[1:]) {
				t.Fatalf("line %d: %d %q, want %q", i, ids[i], values[i], fields)
			}
		}
	})
}

// FuzzCompressed reads compressed lists. It compares with the list decoded by another library.
func FuzzCompressed(f *testing.F) {
	f.Add([]byte(gz("1 2\n")), byte(3))
	f.Add([]byte(gz("1 ")+gz("2\n3 4")), byte(3))
	f.Add([]byte(zst("1 2\n# c\n")), byte(9))
	f.Add([]byte(zst("1 2\n")+zst("3 4\n")), byte(0))
	f.Add([]byte(gz("1 2\n")[:15]), byte(0))
	f.Add([]byte(bzipLists), byte(3))
	f.Add([]byte(xzLists), byte(3))
	team := team(f, 3)
	z, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxWindow),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, piece byte) {
		path := put(t, "a.el", string(data))
		in, err := read(path, int(piece)+1, ReadOptions{Format: EL, Team: team, MaxExpand: 1 << 20})
		if err != nil {
			return
		}
		content := data
		switch codecOf(data) {
		case gzipped:
			g, err := stdgzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if content, err = io.ReadAll(g); err != nil {
				t.Fatal(err)
			}
		case bzipped:
			if content, err = io.ReadAll(bzip2.NewReader(bytes.NewReader(data))); err != nil {
				t.Fatal(err)
			}
		case xzipped:
			x, err := xz.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if content, err = io.ReadAll(x); err != nil {
				t.Fatal(err)
			}
		case zstandard:
			var err error
			if content, err = z.DecodeAll(data, nil); err != nil {
				t.Fatal(err)
			}
		}
		ids, weights, bad := slowList(string(content), "#%", 2, 0, math.MaxUint64-1, 64)
		wantTwin(t, in, nil, slowGraph(ids, weights), bad)
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	})
}

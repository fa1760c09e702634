package graphio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// sample returns a graph of many blocks, with weights if weighted is true.
func sample(n int, weighted, directed bool, labels edges.Labels) *edges.Input {
	tuples := make([][2]uint64, n)
	var weights []float64
	for i := range tuples {
		tuples[i] = [2]uint64{uint64(i*7919) % 1000, uint64(i*104729) % 1000}
		if weighted {
			weights = append(weights, float64(i)/7)
		}
	}
	return &edges.Input{Name: "sample", Edges: edges.Pack(1000, tuples,
		weights), Vertices: 1000, Directed: directed, Labels: labels}
}

// labels returns the ids first, first+step, ...
func labels(first, step uint64) edges.Labels {
	ids := make([]uint64, 1000)
	for i := range ids {
		ids[i] = first + uint64(i)*step
	}
	return edges.NewLabels(ids)
}

// TestRoundTrip writes graphs in every format that can hold them, and reads them back.
func TestRoundTrip(t *testing.T) {
	tests := []struct {
		name               string
		weighted, directed bool
		labels             edges.Labels
	}{
		{"a.el", false, true, edges.Labels{}},
		{"a.snap", false, true, labels(5, 1<<40)},
		{"a.txt.gz", false, true, labels(0, 3)},
		{"a.wel", true, true, labels(0, 3)},
		{"a.wel.zst", true, true, edges.Labels{}},
		{"a.mtx", false, true, labels(1, 1)},
		{"a.mtx.gz", true, true, labels(1, 1)},
		{"a.mtx", true, false, labels(1, 1)},
		{"a.v", true, false, labels(9, 1<<50)},
		{"a.e.zst", false, true, edges.Labels{}},
		{"a.properties", true, true, edges.Labels{}},
		{"a.g500", false, false, edges.Labels{}},
		{"a.bin", true, false, edges.Labels{}},
	}
	for _, test := range tests {
		for _, n := range []int{17_408, 2*writeBlocks*edges.BlockSize + 7} {
			in := sample(n, test.weighted, test.directed, test.labels)
			path := filepath.Join(t.TempDir(), test.name)
			done := int64(0)
			o := WriteOptions{Team: team(t, 3), Warn: func(line string) {
				if !strings.HasSuffix(line,
					"weights are rounded to single precision: format graph500 has no other") {
					t.Errorf("%s: %s", test.name, line)
				}
			}, Progress: func(d, total int64) { done = d }}
			if err := Write(t.Context(), path, in, o); err != nil {
				t.Fatal(err)
			}
			if done != int64(n) {
				t.Errorf("%s: progress ends at %d", test.name, done)
			}
			want := plainly(t, in)
			if strings.HasPrefix(test.name, "a.bin") {
				for i, w := range want.weights {
					want.weights[i] = float64(float32(w))
				}
			}
			if test.name == "a.mtx" && !test.directed {
				for i, e := range want.tuples {
					want.tuples[i] = [2]uint64{max(e[0], e[1]), min(e[0], e[1])}
				}
			}
			got := mustRead(t, path, ReadOptions{Weights: edges.Float64, Team: team(t, 2)})
			same(t, plainly(t, got), want)
			if got.Directed != test.directed {
				t.Errorf("%s: directed %t", test.name, got.Directed)
			}
			wantTidy(t, filepath.Dir(path))
		}
	}
}

// wantTidy fails if dir contains a file whose name does not begin with a.
func wantTidy(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name()[0] != 'a' {
			t.Errorf("left behind: %s", f.Name())
		}
	}
}

// small returns a graph of tuples between vertices 0 to n-1.
func small(n int, directed bool, weights []float64, tuples ...[2]uint64) *edges.Input {
	return &edges.Input{Edges: edges.Pack(uint64(max(n, 1)), tuples,
		weights), Vertices: n, Directed: directed}
}

// TestWritten has the exact bytes of small graphs, and the warnings.
func TestWritten(t *testing.T) {
	half := []float64{0.5, 1e-7}
	loop := [2]uint64{2, 2}
	arc := [2]uint64{0, 1}
	tests := []struct {
		name     string
		in       *edges.Input
		want     string
		warnings []string
	}{
		{"a.el", small(3, true, nil, arc, loop), "0\t1\n2\t2\n", nil},
		{"a.el", small(4, false, half, arc, loop), "0\t1\n2\t2\n", []string{
			"the weights are not written: format el has none, wel has",
			"1 isolated vertex is not written: format el has only edges",
			"format el does not say that the graph is undirected: say so when reading it",
		}},
		{"a.wel", small(3, true, half, arc, loop), "0\t1\t0.5\n2\t2\t1e-07\n", nil},
		{"a.txt", small(3, true,
			nil), "", []string{"3 isolated vertices are not written: format snap has only edges"}},
		{
			"a.mtx", small(3, false, nil, arc,
				loop), "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
			[]string{
				"ids are written one higher: format mtx counts from 1",
			},
		},
		{
			"a.mtx", small(3, true, half, arc,
				loop), "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 3 1e-07\n",
			[]string{
				"ids are written one higher: format mtx counts from 1",
			},
		},
		{"a.mtx", small(0, true,
			nil), "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n", nil},
		{"a.e", small(4, false, nil, arc, loop), "0 1\n2 2\n", nil},
		{"a.g500", small(5, false, nil, arc), string(appendEdge(nil, 0, 1)), []string{
			"3 isolated vertices at the end are not written: format graph500 has vertices up to the largest with an edge",
		}},
		{"a.g500", small(0, false, nil), "", nil},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), test.name)
		var warnings []string
		err := Write(t.Context(), path, test.in, WriteOptions{Warn: func(s string) { warnings = append(warnings, strings.TrimPrefix(s, path+": ")) }})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != test.want {
			t.Errorf("%s:\n%q, want\n%q", test.name, got, test.want)
		}
		if fmt.Sprint(warnings) != fmt.Sprint(test.warnings) {
			t.Errorf("%s: warnings\n%s, want\n%s", test.name, warnings, test.warnings)
		}
	}
	dir := t.TempDir()
	if err := Write(t.Context(), dir+"/a b.e", small(3, false, half, arc, loop),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(dir + "/a b.properties")
	want := "graph.a\\ b.meta.vertices = 3\ngraph.a\\ b.meta.edges = 2\ngraph.a\\ b.directed = false\n" +
		"graph.a\\ b.edge-properties.names = weight\ngraph.a\\ b.edge-properties.types = real\n"
	if string(got) != want {
		t.Errorf("properties\n%s, want\n%s", got, want)
	}
	if in := mustRead(t, dir+"/a b", ReadOptions{Weights: edges.Float64}); in.Directed ||
		!in.Edges.Weighted() {
		t.Error("properties of a name with a blank")
	}
}

// TestWriteErrors has graphs that cannot be written. No file is left behind.
func TestWriteErrors(t *testing.T) {
	arc := [2]uint64{0, 1}
	nan, inf, huge := []float64{math.NaN()}, []float64{math.Inf(1)}, []float64{1e300}
	tiny := []float64{1e-60}
	sparse := sample(10, false, false, labels(0, 2))
	tests := []struct {
		name string
		in   *edges.Input
		want string
	}{
		{
			"a.what", small(2, true, nil,
				arc),
			"writing a.what: the name does not tell the format: give one of snap, el, wel, mtx, ldbc, graph500, csv, tsv, jsonl, parquet, dimacs, metis, sg, wsg",
		},
		{"a.wel", small(2, true, nil,
			arc), "writing a.wel: format wel needs weights, the graph has none: write el"},
		{"a.wel", small(2, true, nan,
			arc), "writing a.wel: the weight of tuple 0 is NaN, which no file may hold"},
		{"a.v", small(2, true, inf,
			arc), "writing a.v: the weight of tuple 0 is +Inf, which no file may hold"},
		{"a.mtx", sparse, "writing a.mtx: format mtx needs vertices 1 to n, or 0 to n-1 to be written one higher"},
		{
			"a.mtx", sample(10, false, false, labels(2,
				1)),
			"writing a.mtx: format mtx needs vertices 1 to n, or 0 to n-1 to be written one higher",
		},
		{"a.g500", sparse, "writing a.g500: format graph500 needs vertices 0 to n-1"},
		{"a.g500", small(2, true, nil,
			arc), "writing a.g500: format graph500 holds undirected graphs, the graph is directed"},
		{
			"a.g500", small(2, false, huge,
				arc),
			"writing a.g500: found the weight 1e+300 of tuple 0, expected one that fits the single precision of format graph500",
		},
		{
			"a.g500", small(2, false, tiny,
				arc),
			"writing a.g500: found the weight 1e-60 of tuple 0, expected one that fits the single precision of format graph500",
		},
		{"none/a.el", small(2, true, nil,
			arc), "writing none/a.el: cannot write none/a.el: no such file or directory"},
		{".el", small(2, true, nil, arc), "writing .el: cannot write .el: it is a directory"},
		{"a.el", &edges.Input{Edges: edges.Pack(2, [][2]uint64{arc},
			nil), Vertices: 1}, "writing a.el: an edge has vertex 1, the graph has 1"},
	}
	for _, test := range tests {
		dir := t.TempDir()
		if test.name == ".el" {
			if err := os.Mkdir(dir+"/.el", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := Write(t.Context(), dir+"/"+test.name, test.in, WriteOptions{})
		if err == nil {
			t.Fatalf("%s: no error, want %s", test.name, test.want)
		}
		got := strings.ReplaceAll(err.Error(), dir+"/", "")
		if at := strings.Index(got, ".part"); at > 0 {
			got = got[:at-8] + "XXXXXXXX" + got[at:]
		}
		if got != test.want {
			t.Errorf("error\n%s\nwant\n%s", got, test.want)
		}
		if files, _ := os.ReadDir(dir); len(files) > 1 || len(files) == 1 &&
			files[0].Name() != ".el" {
			t.Errorf("%s: left behind %v", test.name, files)
		}
	}
}

// TestWriteReplaces: an old file stays unchanged until the new one is complete. Outdated weights
// are removed.
func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := putIn(t, dir, "a.el", "old")
	ctx, cancel := context.WithCancel(t.Context())
	err := Write(ctx, path, sample(100_000, false, true, edges.Labels{}),
		WriteOptions{Team: team(t, 2), Progress: func(done, total int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file is %q", got)
	}
	wantTidy(t, dir)
	link := dir + "/a.link.el"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), link, small(2, true, nil, [2]uint64{1, 0}),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "1\t0\n" {
		t.Errorf("through a link: %q", got)
	}
	weights := putIn(t, dir, "a.g500.weights", "1234")
	if err := Write(t.Context(), dir+"/a.g500", small(2, false, nil, [2]uint64{1, 0}),
		WriteOptions{}); err != nil || exists(weights) {
		t.Errorf("weights of another graph stay: %v", err)
	}
	if err := Write(t.Context(), "/dev/full", sample(5000, false, true, edges.Labels{}),
		WriteOptions{Format: EL}); err == nil {
		t.Error("a full disk goes unnoticed")
	}
	if err := Write(t.Context(), os.DevNull, small(2, true, nil),
		WriteOptions{Format: EL}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the null device is now a file: %v", err)
	}
}

// TestReplacedFilesKeepTheirPermissions: writing a file does not extend its permissions.
func TestReplacedFilesKeepTheirPermissions(t *testing.T) {
	path := putIn(t, t.TempDir(), "a.el", "old")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), path, small(2, true, nil, [2]uint64{1, 0}),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("found %v, %v", info.Mode(), err)
	}
}

// readValues reads lines "id value".
func readValues(r io.Reader, name string) (ids []uint64, values []string, err error) {
	lines := &lineReader{r: bufio.NewReader(r)}
	_, err = readLines(context.Background(), lines, &Column{},
		func(v *Value) (found, expected string) {
			value := bytes.Trim(v.Text, " \t")
			if len(value) == 0 {
				return fmt.Sprintf(`no value in "%d"`, v.ID), vertexLine
			}
			ids, values = append(ids, v.ID), append(values, string(value))
			return "", ""
		})
	return ids, values, inFile(err, name)
}

// TestPrivateFiles: a private file stays private, even if it replaces a file that all users could
// read.
func TestPrivateFiles(t *testing.T) {
	old := putIn(t, t.TempDir(), "a.tar", "old")
	if err := os.Chmod(old, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, filepath.Join(t.TempDir(), "b.tar")} {
		if err := WriteFile(t.Context(), path, 0o600, 1, func(w io.Writer) error {
			o := w.(*output)
			if info, err := o.f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("while it is written: found %v, %v", info.Mode(), err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("found %v, %v", info.Mode(), err)
		}
	}
}

func TestValues(t *testing.T) {
	for _, n := range []int{0, 1, atOnce - 1, atOnce, 3*atOnce + 5} {
		for _, workers := range []int{1, 4} {
			var got, want bytes.Buffer
			line := func(dst []byte, i int) []byte { return fmt.Appendf(dst, "%d %d", i, i*i) }
			if err := WriteValues(t.Context(), &got, n, team(t, workers), line); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want.Write(append(line(nil, i), '\n'))
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%d lines by %d workers differ", n, workers)
			}
			ids, values, err := readValues(&got, "values")
			if err != nil || len(ids) != n || len(values) != n {
				t.Fatalf("%d of %d read, %v", len(ids), n, err)
			}
			for i := range ids {
				if ids[i] != uint64(i) || values[i] != fmt.Sprint(i*i) {
					t.Fatalf("line %d: %d %s", i, ids[i], values[i])
				}
			}
		}
	}
}

// full is a writer that fails after two writes.
type full struct{ taken int }

func (f *full) Write(p []byte) (int, error) {
	if f.taken++; f.taken > 2 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestValuesErrors(t *testing.T) {
	line := func(dst []byte, i int) []byte { return append(dst, 'x') }
	if err := WriteValues(t.Context(), &full{}, 10*atOnce, team(t, 3), line); err == nil ||
		err.Error() != "disk full" {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic in a line is lost")
			}
		}()
		_ = WriteValues(t.Context(), &full{}, 2*atOnce, team(t, 3),
			func(dst []byte, i int) []byte { panic("line") })
	}()
	for text, want := range map[string]string{
		"1 2\n3\n":  `v:2:1: found no value in "3", expected "id value"`,
		"x 2\n":     `v:1:1: found "x", which is not a number, ` + idRange,
		"1 2\x00\n": "v:1:4: found a NUL byte, expected text in UTF-8 or ASCII",
	} {
		_, _, err := readValues(strings.NewReader(text), "v")
		wantError(t, err, "", want)
	}
	f, err := os.Open("testdata/graphalytics/example-directed-SSSP")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ids, values, err := readValues(f, "SSSP")
	if err != nil || len(ids) != 10 || ids[1] != 2 || values[1] != "Infinity" {
		t.Errorf("%v %v %v", ids, values, err)
	}
}

func TestAppendFloat(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "0.1": 0.1, "1e+21": 1e21, "infinity": math.Inf(1), "-infinity": math.Inf(-1),
		"-0": math.Copysign(0, -1), "1.7976931348623157e+308": math.MaxFloat64, "5e-324": 5e-324,
	} {
		if got := string(AppendFloat(nil, x, 64)); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	if got := string(AppendFloat([]byte("x "), math.NaN(), 64)); got != "x nan" {
		t.Error(got)
	}
}

package graphio

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestFiles has the files of names, and errors of names.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv", ".hidden", "_SUCCESS", "odd,name.csv"} {
		putIn(t, dir, name, "1,2\n")
	}
	if err := os.MkdirAll(dir+"/deep/er", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/parts", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"2.csv", "1.csv", ".1.csv.crc", "_SUCCESS"} {
		putIn(t, dir+"/parts", name, "1,2\n")
	}
	for _, test := range []struct{ name, want string }{
		{"a.csv", "a.csv"},
		{"none", "none"},
		{"odd,name.csv", "odd,name.csv"},
		{"b.csv,DIR/a.csv", "a.csv b.csv"},
		{"parts", "parts/1.csv parts/2.csv"},
		{"parts/", "parts/1.csv parts/2.csv"},
		{"[ab].csv", "a.csv b.csv"},
		{"parts/*,DIR/a.csv", "a.csv parts/1.csv parts/2.csv"},
		{"*.none", "*.none: found no file that matches, expected one or more"},
		{"[", "[: found an invalid pattern (syntax error in pattern), expected * ? and [a-z] in a name"},
		{"a.csv,DIR/a.csv", "a.csv,a.csv: found a.csv twice, expected every file once"},
		{"a.csv,", "a.csv,: found an empty name, or -, in a list of files, expected names of files with commas between"},
		{"empty", "empty: found a directory without files, expected parts of a graph, or a snapshot (snapshot.json)"},
		{"deep", "deep/er: found a directory in a directory, expected files alone"},
	} {
		name := strings.ReplaceAll(dir+"/"+test.name, "DIR", dir)
		files, err := Files(context.Background(), name)
		got := strings.Join(files, " ")
		if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, dir+"/", ""); got != test.want {
			t.Errorf("%s: found %s, want %s", test.name, got, test.want)
		}
	}
}

// TestSeveralFiles: a graph in several files equals the graph in one file, however it is cut, in
// one process and by ranks.
func TestSeveralFiles(t *testing.T) {
	team := team(t, 3)
	for seed := range rounds(80, 40, 20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		sep, end := " ", ".el"
		table := rng.IntN(2) == 0
		if table {
			sep, end = ",", ".csv"
		}
		dir, all := t.TempDir(), ""
		header := table && rng.IntN(2) == 0
		if header {
			all = "from,to\n"
		}
		files := 1 + rng.IntN(6)
		surely := rng.IntN(files)
		for file := range files {
			part := ""
			for range rng.IntN(60) {
				part += fmt.Sprint(rng.IntN(100)) + sep + fmt.Sprint(rng.IntN(100)) + "\n"
			}
			if file == 0 {
				part += "1" + sep + "2\n"
			}
			all += part
			if header && (file == surely || rng.IntN(4) > 0) {
				part = "from,to\n" + part
			}
			name := fmt.Sprintf("part-%d%s", file, end)
			switch rng.IntN(4) {
			case 0:
				name, part = name+".gz", gz(part)
			case 1:
				part = strings.TrimSuffix(part, "\n")
			}
			putIn(t, dir, name, part)
		}
		want := mustRead(t, put(t, "a"+end, all), ReadOptions{Team: team})
		piece := 1 + rng.IntN(200)
		for _, name := range []string{dir, dir + "/part-*"} {
			in, err := read(name, piece, ReadOptions{Team: team})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			same(t, plainly(t, in), plainly(t, want))
			if in.Name != name {
				t.Errorf("name %s, want %s", in.Name, name)
			}
			in.Close()
			ranks := 1 + rng.IntN(6)
			got, err := joined(t, name, ranks, piece, ReadOptions{Team: team})
			if err != nil {
				t.Fatalf("seed %d, %d ranks: %v", seed, ranks, err)
			}
			same(t, got, plainly(t, want))
		}
	}
}

// TestSeveralFilesErrors has the errors of files that are not parts of one graph.
func TestSeveralFilesErrors(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"a.csv": "from,to\na,b\n", "b.csv": "to,from\na,b\n"}, `b.csv:1:1: found "to, from", expected an edge, or the columns of the first file: from, to`},
		{map[string]string{"a.csv": "from,to\n1,2\n", "b.csv": "to,from\n1,2\n"}, `b.csv:1:1: found "to", which is not a number in "from", ` + idRange + ` (--ids name reads ids of any kind)`},
		{map[string]string{"a.csv": "from,to\na,b\n", "b.csv": "from,to\n\na,b,c\n"}, `b.csv:3:5: found 3 columns: "a,b,c", expected 2 as in the first line`},
		{map[string]string{"a.el": "1 2\n", "b.el": "3 4\nx\n"}, `b.el:2:2: found 1 column: "x", ` + pairText},
		{map[string]string{"a.el": "1 2\n", "b.csv": "3,4\n"}, `b.csv: found a file of format csv, expected one of format el, as a.el is (--format says what all are)`},
		{map[string]string{"a.mtx": "1 2\n", "b.mtx": "3 4\n"}, `DIR: found 2 files of format mtx, expected one file: edge lists, CSV and TSV may be in several`},
		{map[string]string{"a.el": "", "b.el": "# c\n"}, `DIR: found no edges, expected one or more`},
		{map[string]string{"1.bin": ""}, alone("1.bin", Graph500)},
		{map[string]string{"1.g500": "1 2\n"}, alone("1.g500", Graph500)},
		{map[string]string{"1.bin": strings.Repeat("\x00", packedSize)}, alone("1.bin", Graph500)},
		{map[string]string{"1.bin": "", "2.bin": ""}, alone("1.bin", Graph500)},
		{map[string]string{"1.e": "1 2\n"}, alone("1.e", LDBC)},
		{map[string]string{"a.el": "1 2\n", "b.el": "SQLite format 3\x00"}, `b.el: found an SQLite database, expected ` + asText},
	} {
		dir := t.TempDir()
		for name, text := range test.files {
			putIn(t, dir, name, text)
		}
		_, err := read(dir, pieceSize, ReadOptions{Weights: edges.Float64})
		if err == nil {
			t.Errorf("no error, want %s", test.want)
			continue
		}
		if got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/", ""), dir,
			"DIR"); got != test.want {
			t.Errorf("found %s\nwant %s", got, test.want)
		}
	}
	// the names tell the format of a directory's files, not its own name
	dir := filepath.Join(t.TempDir(), "web.bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := putIn(t, dir, "1.bin", "1 2\n")
	for _, name := range []string{dir, dir + "/*"} {
		_, err := read(name, pieceSize, ReadOptions{})
		wantError(t, err, path, alone("1.bin", Graph500))
		if in := mustRead(t, name, ReadOptions{Format: EL}); in.Edges.Len() != 1 {
			t.Errorf("%s: %d edges", name, in.Edges.Len())
		}
	}
	_, err := read(Stdin, pieceSize, ReadOptions{})
	wantError(t, err, "",
		"standard input: found no name that tells a format, expected --format: one of "+
			strings.Join(Formats, ", "))
	if _, err := Absolute("-"); err == nil {
		t.Error("standard input has a name")
	}
	if got, err := Absolute("/a.csv,b.csv"); err != nil ||
		got != "/a.csv,"+filepath.Join(mustAbs(t, "."), "b.csv") {
		t.Error(got, err)
	}
}

// alone is the error of a format whose graphs are one file, or files with one base name.
func alone(name string, format Format) string {
	return fmt.Sprintf("%s: found a file of format %s in a directory, list or pattern, "+
		"expected its own name (--format says what all are)", name, format)
}

// TestSuffixOfDirectory: the suffix of a directory's name does not tell the format of its files.
func TestSuffixOfDirectory(t *testing.T) {
	for _, test := range []struct {
		dir, file string
		tabular   bool
	}{
		{"web.csv", "1.el", false},
		{"web.el", "1.csv", true},
		{"web.bin", "1.el", false},
		{"web.e", "1.csv", true},
	} {
		dir := filepath.Join(t.TempDir(), test.dir)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "1 2\n2 3\n"
		if test.tabular {
			text = "1,2\n2,3\n"
		}
		putIn(t, dir, test.file, text)
		if Tabular(dir, "") != test.tabular {
			t.Errorf("%s with %s: tabular %t", test.dir, test.file, !test.tabular)
		}
		if in := mustRead(t, dir, ReadOptions{}); in.Edges.Len() != 2 || in.Vertices != 3 {
			t.Errorf("%s: %d edges, %d vertices", test.dir, in.Edges.Len(), in.Vertices)
		}
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

package graphio

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// readColumn collects the values that ReadColumn passes to its callback.
func readColumn(path string, column int) (ids []uint64, values []string, err error) {
	return readColumnOf(path, false, column)
}

// readColumnOf is readColumn. For edges it collects both ids.
func readColumnOf(
	path string, ofEdges bool, column int,
) (ids []uint64, values []string, err error) {
	of := Column{Number: column, OfEdges: ofEdges}
	err = ReadColumn(context.Background(), path, of, func(v *Value) (found, expected string) {
		if string(v.Text) == "refused" {
			return "what is refused", "what is not"
		}
		if ids = append(ids, v.ID); ofEdges {
			ids = append(ids, v.To)
		}
		values = append(values, string(v.Text))
		return "", ""
	})
	return ids, values, err
}

// TestReadColumn reads columns of plain and compressed files. Errors name the line.
func TestReadColumn(t *testing.T) {
	text := "# id value\r\n\n7 a b\r\n  3\t5  6 \n18446744073709551614  x y z"
	for name, content := range map[string]string{"a": text, "a.gz": gz(text), "a.zst": zst(text)} {
		path := put(t, name, content)
		for column, want := range map[int][]string{0: {"a b", "5  6 ", " x y z"}, 2: {"a", "5", "x"}, 3: {"b", "6", "y"}} {
			ids, values, err := readColumn(path, column)
			if err != nil || !slices.Equal(ids, []uint64{7, 3, math.MaxUint64 - 1}) ||
				!slices.Equal(values, want) {
				t.Errorf("column %d of %s: %d %q, %v", column, name, ids, values, err)
			}
		}
	}
	for text, want := range map[string]string{
		"1 2\n# c\n3\n":        `a:3:1: found no value in "3", expected "id value"`,
		"1 2\nx 3\n":           `a:2:1: found "x", which is not a number, expected a whole number from 0 to 18446744073709551614`,
		"-1 2":                 `a:1:1: found the negative number "-1", expected a whole number from 0 to 18446744073709551614`,
		"\n1 2\n\n2 refused\n": "a:4:3: found what is refused, expected what is not",
		"1 2\x00":              "a:1:4: found a NUL byte, expected text in UTF-8 or ASCII",
		"\x04\x22\x4d\x18":     "a: found lz4 data, expected text",
	} {
		path := put(t, "a", text)
		_, _, err := readColumn(path, 0)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(),
			strings.TrimSuffix(path, "a")), want) {
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	_, _, err := readColumn(put(t, "a", "1 2 3\n4 5\n"), 3)
	if err == nil || !strings.HasSuffix(err.Error(),
		"a:2:1: found no column 3 for vertex 4, expected one of every vertex") {
		t.Error(err)
	}
	if _, _, err := readColumn(put(t, "a", gz("1 2\n")[:12]), 0); err == nil ||
		!strings.Contains(err.Error(), "gzip") {
		t.Error(err)
	}
	if _, _, err := readColumn("no/such/file", 0); !os.IsNotExist(err) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	if err := ReadColumn(ctx, put(t, "a", "1 2\n"), Column{}, nil); err == nil ||
		err.Error() != "enough" {
		t.Error(err)
	}
}

// TestReadVector reads Matrix Market arrays of one column. Errors name the line.
func TestReadVector(t *testing.T) {
	const banner = "%%MatrixMarket matrix array real general\n"
	text := strings.ToUpper(banner) + "% a right-hand side\n\n 3\t1 \n 1.5\r\n% between\n-2e3\n0\n"
	for name, content := range map[string]string{"b.mtx": text, "b": "\xef\xbb\xbf" + text, "b.mtx.gz": gz(text)} {
		ids, values, err := readColumn(put(t, name, content), 0)
		if err != nil || !slices.Equal(ids, []uint64{1, 2, 3}) ||
			!slices.Equal(values, []string{"1.5", "-2e3", "0"}) {
			t.Errorf("%s: %d %q, %v", name, ids, values, err)
		}
	}
	for text, want := range map[string]string{
		"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n": `a:1:23: found "coordinate", expected array`,
		"%%MatrixMarket matrix array complex general\n1 1\n3 0\n":       `a:1:29: found "complex", expected real or integer or unsigned-integer`,
		"%%MatrixMarket matrix array real symmetric\n1 1\n3\n":          `a:1:34: found "symmetric", expected general`,
		"%%MatrixMarket matrix array\n1 1\n3\n":                         `a:1:1: found "%%MatrixMarket matrix array", expected %%MatrixMarket matrix array FIELD SYMMETRY`,
		banner:                                                          "a:2:1: found the end of the file, expected a line of rows and columns",
		banner +
			"2 2\n1\n2\n3\n4\n": `a:2:1: found 2 columns, expected 1: a column of values`,
		banner +
			"2 1 1\n1\n2\n": `a:2:5: found more than 2 numbers, expected rows and columns, 2 whole numbers`,
		banner +
			"-2 1\n1\n2\n": `a:2:1: found the negative number "-2", expected rows and columns, 2 whole numbers`,
		banner +
			"2\n1\n2\n": `a:2:2: found 1 number, expected rows and columns, 2 whole numbers`,
		banner +
			"% c\n2 1\n1\n": "a:3:1: found 1 value in the file, expected 2, as this line says",
		banner +
			"2 1\n1\n2\n\n3\n": "a:6:1: found a value of row 3, expected 2 rows, as line 2 says",
		banner +
			"2 1\n1 2\n": `a:3:3: found more than one number: "1 2", expected one a line`,
		banner + "2 1\n1\nrefused\n": "a:4:1: found what is refused, expected what is not",
	} {
		path := put(t, "a", text)
		_, _, err := readColumn(path, 0)
		if err == nil || strings.TrimPrefix(err.Error(), strings.TrimSuffix(path, "a")) != want {
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	if _, _, err := readColumn(put(t, "a", text), 2); err == nil || !strings.HasSuffix(err.Error(),
		`a: found a Matrix Market array, which has no column 2, expected lines "id value"`) {
		t.Error(err)
	}
}

// TestReadEdgeColumn reads columns of edge lists and matrices. Errors name the line.
func TestReadEdgeColumn(t *testing.T) {
	text := "# from to values\r\n\n7 8 a b\r\n  3\t18446744073709551614  5  6 \n0 0  x y z"
	for name, content := range map[string]string{"a": text, "a.gz": gz(text), "a.zst": zst(text)} {
		path := put(t, name, content)
		for column, want := range map[int][]string{0: {"a b", " 5  6 ", " x y z"}, 3: {"a", "5", "x"}, 4: {"b", "6", "y"}} {
			ids, values, err := readColumnOf(path, true, column)
			if err != nil || !slices.Equal(ids, []uint64{7, 8, 3, math.MaxUint64 - 1, 0, 0}) {
				t.Errorf("column %d of %s: %d %q, %v", column, name, ids, values, err)
			}
			if column == 0 {
				want[1] = want[1][1:]
				values[1] = strings.TrimPrefix(values[1], " ")
			}
			if !slices.Equal(values, want) {
				t.Errorf("column %d of %s: %q, want %q", column, name, values, want)
			}
		}
	}
	const banner = "%%MatrixMarket matrix coordinate real general\n"
	ids, values, err := readColumnOf(put(t, "a.mtx", banner+"% c\n3 3 2\n1 3 0.5\n% c\n2 2 -1e3\n"),
		true, 0)
	if err != nil || !slices.Equal(ids, []uint64{1, 3, 2, 2}) ||
		!slices.Equal(values, []string{"0.5", "-1e3"}) {
		t.Errorf("%d %q, %v", ids, values, err)
	}
	for text, want := range map[string]string{
		"1 2 3\n# c\n3\n":          `a:3:2: found one id in "3", expected "from to value"`,
		"1 2 3\n3 4\n":             `a:2:1: found no value in "3 4", expected "from to value"`,
		"1 x 3\n":                  `a:1:3: found "x", which is not a number, expected a whole number from 0 to 18446744073709551614`,
		"1 -1 3":                   `a:1:3: found the negative number "-1", expected a whole number from 0 to 18446744073709551614`,
		"\n1 2 3\n\n2 3 refused\n": "a:4:5: found what is refused, expected what is not",
		banner +
			"3 3 2\n1 3 1\n": "a:2:1: found 1 entry in the file, expected 2, as this line says",
		"%%MatrixMarket matrix array real general\n1 1\n3\n": `a:1:23: found "array", expected coordinate`,
	} {
		path := put(t, "a", text)
		_, _, err := readColumnOf(path, true, 0)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(),
			strings.TrimSuffix(path, "a")), want) {
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	for column, want := range map[int]string{
		2: "a: found column 2 for values, expected 3 or more: the ids are columns 1 and 2",
		4: "a:2:1: found no column 4 for the edge from 4 to 5, expected one of every edge",
	} {
		if _, _, err := readColumnOf(put(t, "a", "1 2 3 4\n4 5 6\n"), true, column); err == nil ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
}

// TestSplitColumn names columns by number, and by their names in a graph's properties file.
func TestSplitColumn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"g.v": "1\n", "g.e.gz": "", "odd:7": "1 2\n", "n.v": "1\n",
		"g.properties": "graph.g.vertex-properties.names = age, height\ngraph.g.edge-properties.names = weight,capacity\n",
		"e.properties": "graph.e.directed = true\n",
	} {
		putIn(t, dir, name, text)
	}
	for text, want := range map[string]string{
		"a.txt": "a.txt 0", "a.txt:3": "a.txt 3", "a:b": "a:b 0", "a:": "a: 0", "odd:7": "odd:7 0",
		"odd:7:2": "odd:7 2", "g.v:height": "g.v 3",
		"g.e.gz:weight": "g.e.gz 3", "g.e:capacity": "g.e 4", "g.v:1/2": "g.v:1/2 0",
		"t.csv": "t.csv 0", "t.csv:age": "t.csv age", "t.csv.gz:2": "t.csv.gz 2",
		"t.tsv:who,age": "t.tsv who and age", "t.csv:from,to,km": "t.csv from and to and km",
		"t.csv:a,,b":             "t.csv: found column a,,b of a table, expected NAME, ID,NAME of vertices or FROM,TO,NAME of edges",
		"a:1":                    "a: found column 1 of the file, expected 2 or more: the id is column 1",
		"a:99999999999999999999": "a: found column 99999999999999999999 of",
		"g.v:width":              `g.properties: found vertex properties "age, height", expected "width" among them`,
		"g.e:width":              `g.properties: found edge properties "weight, capacity", expected "width" among them`,
		"n.v:width":              `n.properties: found no such file, expected one that names the column "width"`,
		"e.e:width":              `e.properties: found no entry edge-properties.names, expected one that has "width"`,
	} {
		path, column, err := SplitColumn(dir + "/" + text)
		found := fmt.Sprint(path, " ", column.Number)
		if column.Name != "" {
			found = path + " " + strings.Join(append(column.IDs, column.Name), " and ")
		}
		if err != nil {
			found = err.Error()
		}
		if !strings.HasPrefix(strings.TrimPrefix(found, dir+"/"), want) {
			t.Errorf("%s: found %s, expected %s", text, found, want)
		}
	}
}

// FuzzColumn compares ReadColumn with the slow parser.
func FuzzColumn(f *testing.F) {
	f.Add("1 2 3 4\n\t5 6 x\n", byte(3+5))
	f.Add("1 2 3  4\n5\t6 \n", byte(5))
	f.Add("1 2\n# c\n3 infinity 4\n", byte(2))
	f.Add("18446744073709551614\ta b \r\n", byte(0))
	f.Add("1 \n2", byte(0))
	f.Add("  4 5 6\n7 8\n", byte(3))
	f.Fuzz(func(t *testing.T, text string, column byte) {
		if !isText(text) ||
			isMatrixMarket([]byte(strings.TrimPrefix(text, "\xef\xbb\xbf"))) {
			return
		}
		at, n := int(column%5), 1
		if column/5%2 == 1 {
			n = 2
		}
		if at > 0 {
			at = max(at, n+1)
		}
		ids, values, err := readColumnOf(put(t, "a", text), n == 2, at)
		if err != nil {
			return // TestReadColumn covers refused lines
		}
		lines, _, bad := slowLines(text, "#%")
		if bad != 0 || len(lines) != len(values) {
			t.Fatalf("%d lines, the slow parser has %d and stops at %d", len(values), len(lines),
				bad)
		}
		for i, fields := range lines {
			id, _, bad := slowList(strings.Join(fields[:n], " "), "", n, 0, math.MaxUint64-1, 64)
			found := strings.FieldsFunc(values[i],
				func(c rune) bool { return c == ' ' || c == '\t' })
			want := fields[n:]
			if at > 0 && len(fields) >= at {
				want = fields[at-1 : at]
			}
			if bad != 0 || !slices.Equal(id, ids[n*i:n*i+n]) || !slices.Equal(found, want) {
				t.Fatalf("line %d: %d %q, want %q", i, ids[n*i:n*i+n], values[i], fields)
			}
		}
	})
}

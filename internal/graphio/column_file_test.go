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

// readColumn returns what ReadColumn calls back with.
func readColumn(path string, column int) (ids []uint64, values []string, err error) {
	err = ReadColumn(context.Background(), path, column, func(_ int, id uint64, value []byte) (found, expected string) {
		if string(value) == "refused" {
			return "what is refused", "what is not"
		}
		ids, values = append(ids, id), append(values, string(value))
		return "", ""
	})
	return ids, values, err
}

// TestReadColumn reads columns of plain and compressed files, and says what is wrong by line.
func TestReadColumn(t *testing.T) {
	text := "# id value\r\n\n7 a b\r\n  3\t5  6 \n18446744073709551614  x y z"
	for name, content := range map[string]string{"a": text, "a.gz": gz(text), "a.zst": zst(text)} {
		path := put(t, name, content)
		for column, want := range map[int][]string{0: {"a b", "5  6 ", " x y z"}, 2: {"a", "5", "x"}, 3: {"b", "6", "y"}} {
			ids, values, err := readColumn(path, column)
			if err != nil || !slices.Equal(ids, []uint64{7, 3, math.MaxUint64 - 1}) || !slices.Equal(values, want) {
				t.Errorf("column %d of %s: %d %q, %v", column, name, ids, values, err)
			}
		}
	}
	for text, want := range map[string]string{
		"1 2\n# c\n3\n":        `a:3: found no value in "3", expected "id value"`,
		"1 2\nx 3\n":           `a:2: found "x", which is not a number, expected a whole number from 0 to 18446744073709551614`,
		"-1 2":                 `a:1: found the negative number "-1", expected a whole number from 0 to 18446744073709551614`,
		"\n1 2\n\n2 refused\n": "a:4: found what is refused, expected what is not",
		"1 2\x00":              "a:1: found a NUL byte, expected text in UTF-8 or ASCII",
		"BZh91":                "a: found bzip2 data, expected text",
	} {
		path := put(t, "a", text)
		_, _, err := readColumn(path, 0)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), strings.TrimSuffix(path, "a")), want) {
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	_, _, err := readColumn(put(t, "a", "1 2 3\n4 5\n"), 3)
	if err == nil || !strings.HasSuffix(err.Error(), "a:2: found no column 3 for vertex 4, expected one of every vertex") {
		t.Error(err)
	}
	if _, _, err := readColumn(put(t, "a", gz("1 2\n")[:12]), 0); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Error(err)
	}
	if _, _, err := readColumn("no/such/file", 0); !os.IsNotExist(err) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	if err := ReadColumn(ctx, put(t, "a", "1 2\n"), 0, nil); err == nil || err.Error() != "enough" {
		t.Error(err)
	}
}

// TestReadVector reads Matrix Market arrays of one column, and says what is none, by line.
func TestReadVector(t *testing.T) {
	const banner = "%%MatrixMarket matrix array real general\n"
	text := strings.ToUpper(banner) + "% a right-hand side\n\n 3\t1 \n 1.5\r\n% between\n-2e3\n0\n"
	for name, content := range map[string]string{"b.mtx": text, "b": "\xef\xbb\xbf" + text, "b.mtx.gz": gz(text)} {
		ids, values, err := readColumn(put(t, name, content), 0)
		if err != nil || !slices.Equal(ids, []uint64{1, 2, 3}) || !slices.Equal(values, []string{"1.5", "-2e3", "0"}) {
			t.Errorf("%s: %d %q, %v", name, ids, values, err)
		}
	}
	for text, want := range map[string]string{
		"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n": `a:1: found "coordinate", expected array for a column of values`,
		"%%MatrixMarket matrix array complex general\n1 1\n3 0\n":       `a:1: found "complex", expected real or integer or unsigned-integer for a column of values`,
		"%%MatrixMarket matrix array real symmetric\n1 1\n3\n":          `a:1: found "symmetric", expected general for a column of values`,
		"%%MatrixMarket matrix array\n1 1\n3\n":                         `a:1: found "%%MatrixMarket matrix array", expected %%MatrixMarket matrix array FIELD general`,
		banner:                                                          "a:2: found the end of the file, expected a line of rows and columns",
		banner + "2 2\n1\n2\n3\n4\n":                                    `a:2: found "2 2", expected ROWS 1: a column of values`,
		banner + "2 1 1\n1\n2\n":                                        `a:2: found "2 1 1", expected ROWS 1: a column of values`,
		banner + "-2 1\n1\n2\n":                                         `a:2: found the negative number "-2", expected ROWS 1: a column of values`,
		banner + "2\n1\n2\n":                                            `a:2: found "2", expected ROWS 1: a column of values`,
		banner + "% c\n2 1\n1\n":                                        "a:3: found 1 value in the file, expected 2, as this line says",
		banner + "2 1\n1\n2\n\n3\n":                                     "a:6: found a value of row 3, expected 2 rows, as line 2 says",
		banner + "2 1\n1 2\n":                                           `a:3: found more than one number: "1 2", expected one a line`,
		banner + "2 1\n1\nrefused\n":                                    "a:4: found what is refused, expected what is not",
	} {
		path := put(t, "a", text)
		_, _, err := readColumn(path, 0)
		if err == nil || strings.TrimPrefix(err.Error(), strings.TrimSuffix(path, "a")) != want {
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	if _, _, err := readColumn(put(t, "a", text), 2); err == nil || !strings.HasSuffix(err.Error(), `a: found a Matrix Market array, which has no column 2, expected lines "id value"`) {
		t.Error(err)
	}
}

// FuzzColumn compares what is read of a column with what the slow parser makes of the lines.
func FuzzColumn(f *testing.F) {
	f.Add("1 2\n# c\n3 infinity 4\n", byte(2))
	f.Add("18446744073709551614\ta b \r\n", byte(0))
	f.Add("1 \n2", byte(0))
	f.Add("  4 5 6\n7 8\n", byte(3))
	f.Fuzz(func(t *testing.T, text string, column byte) {
		if codecOf([]byte(text)) != plain || isMatrixMarket([]byte(strings.TrimPrefix(text, "\xef\xbb\xbf"))) {
			return
		}
		at := int(column % 5)
		if at == 1 {
			at = 2
		}
		ids, values, err := readColumn(put(t, "a", text), at)
		if err != nil {
			return // TestReadColumn has what is refused
		}
		lines, _, bad := slowLines(text, "#%")
		if bad != 0 || len(lines) != len(ids) {
			t.Fatalf("%d lines, the slow parser has %d and stops at %d", len(ids), len(lines), bad)
		}
		for i, fields := range lines {
			id, _, bad := slowList(fields[0], "", 1, 0, math.MaxUint64-1, 64)
			found := strings.FieldsFunc(values[i], func(c rune) bool { return c == ' ' || c == '\t' })
			want := fields[1:]
			if at > 0 && len(fields) >= at {
				want = fields[at-1 : at]
			}
			if bad != 0 || id[0] != ids[i] || !slices.Equal(found, want) {
				t.Fatalf("line %d: %d %q, want %q", i, ids[i], values[i], fields)
			}
		}
	})
}

package graphio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadColumnByNames(t *testing.T) {
	for _, c := range []struct {
		file, text string
		column     int
		loose      bool
		want       string // the values, or the end of the error
	}{
		{"a.txt", "Rue de\t0.5\n東京\t-1\r\n\n\"a\\tb\"\tx y", 0, false, `1 Rue de=0.5;2 東京=-1;4 a	b=x y;`},
		{"a.txt", "a\t1\t2\nb\t3\t4\n", 3, false, `1 a=2;2 b=4;`},
		{"a.txt", "a\t1\t2\n", 0, false, "1 a=1\t2;"},
		{"a.txt", "5 0.3\nRue de\t7\n  6   8 9 \n", 0, true, "1 5=0.3;2 Rue de=7;3 6=8 9;"},
		{"a.txt", "5 0.3 4\n", 3, true, "1 5=4;"},
		{"a.csv", "\xef\xbb\xbfvertex,value\n\"a, b\",0.5\nc,\"x\"\"y\"\n", 0, false, `2 a, b=0.5;3 c=x"y;`},
		{"a.csv", "a,1,2\n", 3, false, "1 a=2;"},
		{"a.csv", "a,1,2\n", 0, false, `a.csv:1:1: found several columns that may have the values: column 1, column 2, column 3, expected FILE:COLUMN, which names one`},
		{"a.csv", "a\n", 2, false, `a.csv:1:1: found no column "2", expected a number from 1 to 1, or a first line with names of columns`},
		{"a.csv", "a,\"b\nc\"d,\n", 2, false, `a.csv:2:3: found "d," after the quotes of a field, expected the end of the field (a quote within quotes is written twice)`},
		{"a.txt", "a 1\n", 0, false, `a.txt:1: found "a 1", expected name<TAB>value`},
		{"a.txt", "a\n", 0, true, `expected name<TAB>value`},
		{"a.txt", "\t1\n", 0, false, `expected name<TAB>value`},
		{"a.txt", "\"a\t1\n", 0, false, `expected a name quoted as Go does, or that begins with no quotation mark`},
		{"a.txt", "a\t1\n", 3, false, `a.txt:1: found 2 columns, expected 3 or more`},
		{"a.txt", "a\t1\n", 1, false, `expected 2 or more: the name is column 1`},
		{"a.txt", "bad\t1\n", 0, false, `a.txt:1: found bad, expected good`},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		of := Column{Number: c.column, Named: true, Loose: c.loose}
		err := ReadColumn(t.Context(), path, of, func(v *Value) (found, expected string) {
			fmt.Fprintf(&got, "%d %s=%s;", v.Line, v.Names[0], v.Text)
			if string(v.Names[0]) == "bad" {
				return "bad", "good"
			}
			return "", ""
		})
		if err == nil && got.String() != c.want || err != nil &&
			!strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q, column %d: found %q, %v, expected %q", c.text, c.column, got.String(),
				err, c.want)
		}
	}
}

func FuzzReadColumnByNames(f *testing.F) {
	f.Add("Rue de\t0.5\n\"a\\tb\"\tx\n", byte(0), false, false)
	f.Add("vertex,value\n\"a, b\",0.5\n", byte(2), false, true)
	f.Add("5 0.3\n", byte(0), true, false)
	f.Fuzz(func(t *testing.T, text string, column byte, loose, rows bool) {
		path := filepath.Join(t.TempDir(), map[bool]string{true: "a.csv", false: "a.txt"}[rows])
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		last := 0
		of := Column{Number: int(column % 5), Named: true, Loose: loose}
		_ = ReadColumn(t.Context(), path, of, func(v *Value) (found, expected string) {
			if v.Line <= last || len(v.Names[0]) == 0 && !strings.Contains(text, `""`) {
				t.Fatalf("line %d after %d, name %q", v.Line, last, v.Names[0])
			}
			last = v.Line
			return "", ""
		})
	})
}

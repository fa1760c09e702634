package graphio

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// allRows returns the rows of a table, cut by the code under test.
func allRows(text string, delimiter byte) (rows [][]string, bad *fault) {
	c := &csvGrammar{delimiter: delimiter}
	data := []byte(strings.TrimPrefix(text, "\xef\xbb\xbf"))
	if len(data) > 0 {
		data = endLine(data)
	}
	for len(data) > 0 {
		end := c.recordEnd(data, 0)
		if end < 0 {
			end = len(data) - 1
		}
		record := []byte(strings.TrimSuffix(string(data[:end]), "\r"))
		data = data[end+1:]
		if len(record) == 0 {
			continue
		}
		row, bad := c.row(record)
		if bad != nil {
			return rows, bad
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// FuzzCSVLikeGo: if encoding/csv accepts a table, the result here is the same, except for blanks
// around fields. The slow parser agrees for every input.
func FuzzCSVLikeGo(f *testing.F) {
	for _, text := range []string{
		"a,b\n", "\"a\nb\",c\n\"d\"\"\r\n\",e\r\n", "a,\"b\n", "\"a\"x,b\n", "\n\n \"a\n\" , b\n",
		"a,\"\"\n\"\n\n\",b", "\xef\xbb\xbf\"a\n\",b\n", "a\"b,c\n", "\"a\",\"b\nc\nd\"\n1,2\n",
		"\"\r\n",
	} {
		f.Add(text, byte(0))
		f.Add(strings.ReplaceAll(text, ",", "\t"), byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, kind byte) {
		delimiter := []byte{',', '\t', ';'}[kind%3]
		rows, bad := allRows(text, delimiter)
		slow, slowBad := slowCSV(text, delimiter)
		if !strings.ContainsAny(text, "\x00") && !strings.HasPrefix(text, "\xff\xfe") &&
			!strings.HasPrefix(text, "\xfe\xff") {
			if (bad != nil) != (slowBad != 0) {
				t.Fatalf("%q: found %v, the slow parser stopped at line %d", text, bad, slowBad)
			}
			if bad == nil && !slices.EqualFunc(rows, slow, slices.Equal[[]string]) {
				t.Fatalf("%q: rows %q, of the slow parser %q", text, rows, slow)
			}
		}
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf")))
		r.Comma, r.FieldsPerRecord = rune(delimiter), -1
		want, err := r.ReadAll()
		if err != nil || strings.Contains(text, "\x00") {
			return
		}
		trim := func(rows [][]string) (all []string) {
			for _, row := range rows {
				for _, field := range row {
					all = append(all, strings.Trim(field, " \t"))
				}
				all = append(all, "end of row")
			}
			return all
		}
		// here, a single carriage return is refused
		if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return
		}
		if bad != nil || !slices.Equal(trim(rows), trim(want)) {
			t.Fatalf("%q: rows %q (%v), of encoding/csv %q", text, rows, bad, want)
		}
	})
}

// randomTable makes a table of numbers with texts between them. Some texts have several lines.
func randomTable(rng *rand.Rand, n int) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.UseCRLF = rng.IntN(2) == 0
	texts := []string{"", "x", "a,b", "line\nbreak", "\n\n", `say "hi"`, "\"\n\"", "1,2,3\n4,5,6\n", strings.Repeat("long\n", 30), ",\n\"", "\n\""}
	_ = w.Write([]string{"from", "note", "to", "rest"}) // writing to a Builder cannot fail
	for range n {
		if rng.IntN(40) == 0 {
			w.Flush()
			b.WriteString("\n")
		}
		_ = w.Write([]string{fmt.Sprint(rng.IntN(100)), texts[rng.IntN(len(texts))], fmt.Sprint(rng.IntN(100)), texts[rng.IntN(len(texts))]})
	}
	w.Flush()
	return b.String()
}

// wantTable returns the graph of a table of numbers, read with encoding/csv.
func wantTable(t *testing.T, text string) (want graph) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	for first := true; ; first = false {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first {
			continue
		}
		var u, v uint64
		if _, err := fmt.Sscan(row[0]+" "+row[2], &u, &v); err != nil {
			t.Fatal(err)
		}
		want.tuples, want.vertices = append(want.tuples, [2]uint64{u, v}),
			append(want.vertices, u, v)
	}
	slices.Sort(want.vertices)
	want.vertices = slices.Compact(want.vertices)
	return want
}

// TestRecords reads line breaks in quotes, with any cuts between pieces and any number of ranks.
func TestRecords(t *testing.T) {
	team := team(t, 3)
	for seed := range rounds(120, 60, 40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text := randomTable(rng, 1+rng.IntN(150))
		want := wantTable(t, text)
		for _, packed := range []string{text, gz(text)} {
			path := put(t, "a.csv", packed)
			piece := 1 + rng.IntN(300)
			in, err := read(path, piece, ReadOptions{Team: team})
			if err != nil {
				t.Fatalf("seed %d, pieces of %d: %v", seed, piece, err)
			}
			same(t, plainly(t, in), want)
			in.Close()
			ranks := 1 + rng.IntN(6)
			got, err := joined(t, path, ranks, piece, ReadOptions{Team: team})
			if err != nil {
				t.Fatalf("seed %d, pieces of %d, %d ranks: %v", seed, piece, ranks, err)
			}
			same(t, got, want)
		}
	}
}

// TestRecordErrors: the error for a fault in a record of several lines names the line of the fault.
func TestRecordErrors(t *testing.T) {
	for text, want := range map[string]string{
		"from,to\n\"a\nb\",c\n\"d\n\n\",\n":   `a.csv:6:3: found nothing in "to", expected a vertex`,
		"from,to\na,b\n\"c\nd\"x,e\n":         `a.csv:4:3: found "x,e" after the quotes of a field, expected the end of the field (a quote within quotes is written twice)`,
		"from,to\na,b\nc,\"d\ne,f\n":          `a.csv:3:3: found quotes that do not end, expected a " that ends them`,
		"from,to\n\"a\nb\",\"c\n":             `a.csv:3:4: found quotes that do not end, expected a " that ends them`,
		"from,to,cost\n\"a\nb\", c ,\" x\"\n": `a.csv:3:8: found the weight " x" in "cost", expected a number`,
		// the record ends, to distinguish a reader that continues beyond the limit
		"from,to\na,b\n\"" + strings.Repeat("c\n",
			1<<20) + "\",d\n": `a.csv:3:1: found a record of more than 1 MiB: "\"` +
			strings.Repeat(`c\n`,
				39) + `c"..., expected quotes that end, and shorter ones`,
		"from,to\n" + strings.Repeat("a,b\n", 1000) +
			"a,\xff": `a.csv:1002:3: found bytes that are not UTF-8: "a,\xff", expected names in UTF-8 (iconv -f LATIN1 -t UTF-8 converts a file in Latin-1)`,
	} {
		path := put(t, "a.csv", text)
		small := 7
		if len(text) > 1<<20 {
			small = 1 << 12 // each piece scans the record from its beginning
		}
		for _, piece := range []int{small, 1 << 20} {
			_, err := read(path, piece, ReadOptions{Team: team(t, 2), Weights: edges.Float64})
			wantError(t, err, path, want)
		}
	}
}

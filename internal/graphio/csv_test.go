package graphio

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/edges"
)

// slowCSV reads a table character by character. It returns the rows of data, and the line at which
// the first malformed record begins.
func slowCSV(data string, delimiter byte) (rows [][]string, bad badLine) {
	if strings.HasPrefix(data, "\xff\xfe") || strings.HasPrefix(data, "\xfe\xff") {
		return nil, 1
	}
	data = strings.TrimPrefix(data, "\xef\xbb\xbf")
	if data != "" && !strings.HasSuffix(data, "\n") {
		data += "\n"
	}
	blank := func(c byte) bool { return c == ' ' || c == '\t' && delimiter != '\t' }
	line, begins := 1, 1
	var row []string
	field, pending := "", "" // pending: blanks that may be inside a field
	const (
		before = iota // only blanks of the field so far
		within        // in a field without quotes
		quoted
		quote // at a quote within quotes
		after // after the closing quote of a field
	)
	state, faulty := before, false
	end := func(c byte) {
		if state == quote || state == after {
			row = append(row, field)
		} else {
			row = append(row, strings.Trim(field, " \t"))
		}
		field, pending, state = "", "", before
		if c != '\n' {
			return
		}
		if faulty && bad == 0 {
			bad = badLine(begins)
		}
		if empty := len(row) == 1 && row[0] == "" &&
			strings.Trim(data[lineStart(data, line):lineStart(data, line+1)], "\r\n") == "" &&
			begins == line; !empty && bad == 0 {
			rows = append(rows, row)
		}
		row, faulty = nil, false
		line++
		begins = line
	}
	for i := range len(data) {
		c := data[i]
		if c == 0 {
			faulty = true
		}
		carriage := c == '\r' && i+1 < len(data) && data[i+1] == '\n'
		switch {
		case state == quoted && c == '"':
			state = quote
		case state == quoted:
			if c == '\n' {
				line++
			}
			if !carriage {
				field += string([]byte{c})
			}
		case state == quote && c == '"':
			field, state = field+`"`, quoted
		case c == delimiter || c == '\n':
			end(c)
		case carriage:
		case c == '\r' && (state == before || state == within):
			state, faulty = within, true
		case state == before && c == '"':
			field, state = "", quoted
		case state == before && blank(c):
			pending += string([]byte{c})
		case state == before || state == within:
			field, pending, state = field+pending+string([]byte{c}), "", within
		case !blank(c):
			state, faulty = after, true
		default:
			state = after
		}
	}
	if state == quoted && bad == 0 {
		bad = badLine(begins)
	}
	return rows, bad
}

// lineStart returns the offset of a line, numbered from 1.
func lineStart(data string, line int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(data[at:], '\n') + 1
	}
	return at
}

// slowEdges makes a graph of rows "source, target, weight" without the header. The vertices are
// names, sorted by their bytes.
func slowEdges(rows [][]string, columns int) (list []string, g graph, ok bool) {
	number := map[string]uint64{}
	for _, row := range rows {
		if len(row) != columns || row[0] == "" || row[1] == "" || !utf8.ValidString(row[0]) ||
			!utf8.ValidString(row[1]) {
			return nil, g, false
		}
		list = append(list, row[0], row[1])
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for i, name := range list {
		number[name] = uint64(i)
		g.vertices = append(g.vertices, uint64(i))
	}
	for _, row := range rows {
		g.tuples = append(g.tuples, [2]uint64{number[row[0]], number[row[1]]})
		if columns == 3 {
			w, err := parseFloat([]byte(row[2]), 64)
			if err != nil || math.IsNaN(w) || math.IsInf(w, 0) || w == 0 &&
				!isZero([]byte(row[2])) {
				return nil, g, false
			}
			g.weights = append(g.weights, w)
		}
	}
	return list, g, len(rows) > 0
}

func wantNames(t testing.TB, in *edges.Input, want []string) {
	t.Helper()
	if in.Names == nil || in.Names.Len() != len(want) {
		t.Fatalf("names %v, expected %d", in.Names, len(want))
	}
	for i, name := range want {
		if got := in.Names.Name(uint64(i)); got != name {
			t.Fatalf("name %d is %q, expected %q", i, got, name)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"a,b\n", "a,b,1\nb,c,2.5\r\n\r\n", "\"a,\"\"b\",c,3\n x , y ,4", "\xef\xbb\xbfä,東京,1\n",
		"a\tb\n\"c\t\"\td\n", "a,b\n\"c,d\n", "a,b,c,d\n", "\"a\"x,b\n",
		"a,\n", ",b\n", "a\x00,b\n", "\xff,b\n", "\xff\xfe", "a,b,nan\n", "\" a\" ,b\n\t\"c\",d\n",
	} {
		f.Add(text, byte(0), byte(7))
		f.Add(text, byte(1), byte(1))
	}
	team := team(f, 3)
	no := false
	f.Fuzz(func(t *testing.T, text string, kind, piece byte) {
		delimiter, format := byte(','), CSV
		if kind%2 == 1 {
			delimiter, format = '\t', TSV
		}
		rows, bad := slowCSV(text, delimiter)
		columns := 2
		if len(rows) > 0 {
			columns = len(rows[0])
		}
		o := ReadOptions{Format: format, Weights: edges.Float64, Team: team, Columns: Columns{Header: &no, IDs: "name", Delimiter: string(delimiter), Source: "1", Target: "2"}}
		if columns == 3 {
			o.Columns.Weight = "3"
		}
		if columns < 2 || columns > 3 || !isText(text) {
			columns = -1
		}
		in, err := read(put(t, "a", text), int(piece)+1, o)
		if err == nil {
			defer in.Close()
		}
		if columns < 0 {
			return
		}
		list, want, ok := slowEdges(rows, columns)
		// invalid UTF-8 in a column that is not read
		if ok = ok && bad == 0; ok && err != nil && strings.Contains(err.Error(), "UTF-8") {
			return
		}
		if (err == nil) != ok {
			if err != nil && strings.Contains(err.Error(), "data") || err != nil &&
				strings.Contains(err.Error(), "archive") {
				return // a file in another format
			}
			t.Fatalf("error %v, the slow parser: line %d, %t", err, bad, ok)
		}
		if err == nil {
			same(t, plainly(t, in), want)
			wantNames(t, in, list)
		}
	})
}

// TestCSV reads random tables in small pieces with several workers.
func TestCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	team := team(t, 3)
	words := []string{"Paris", "Rue de Rivoli", `say "hi"`, "a,b", "東京", " blank ", "x", "10", "9", "-", "#", "line\ttab"}
	for range 200 {
		var b strings.Builder
		numbers := rng.IntN(2) == 0
		fmt.Fprintln(&b, "junk,to,from,weight")
		for range 1 + rng.IntN(100) {
			cell := func() string {
				if numbers {
					return strconv.Itoa(rng.IntN(40))
				}
				word := words[rng.IntN(len(words))]
				if strings.ContainsAny(word, `",`) || word != strings.TrimSpace(word) ||
					rng.IntN(3) == 0 {
					word = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
				}
				return word
			}
			fmt.Fprintf(&b, "%s,%s,%s,%g\n", strings.Repeat("j", rng.IntN(3)), cell(), cell(),
				rng.Float64())
		}
		rows, bad := slowCSV(b.String(), ',')
		if bad != 0 {
			t.Fatal(bad)
		}
		for i, row := range rows[1:] {
			rows[i+1] = []string{row[2], row[1], row[3]}
		}
		in, err := read(put(t, "a.csv", b.String()), 1+rng.IntN(200),
			ReadOptions{Weights: edges.Float64, Team: team})
		if err != nil {
			t.Fatal(err)
		}
		list, want, ok := slowEdges(rows[1:], 3)
		if !ok {
			t.Fatal("the slow parser fails")
		}
		if named := slices.ContainsFunc(list, func(s string) bool { return countDigits([]byte(s)) < len(s) }); !named {
			want = numbered(rows[1:])
			if in.Names != nil {
				t.Fatal("numbers are names")
			}
		} else {
			wantNames(t, in, list)
		}
		same(t, plainly(t, in), want)
		in.Close()
	}
}

// numbered returns the graph of rows whose ids are numbers.
func numbered(rows [][]string) (g graph) {
	for _, row := range rows {
		u, _ := strconv.ParseUint(row[0], 10, 64) // the test wrote the number
		v, _ := strconv.ParseUint(row[1], 10, 64)
		w, _ := parseFloat([]byte(row[2]), 64)
		g.vertices, g.tuples, g.weights = append(g.vertices, u, v),
			append(g.tuples, [2]uint64{u, v}), append(g.weights, w)
	}
	slices.Sort(g.vertices)
	g.vertices = slices.Compact(g.vertices)
	return g
}

// TestCSVByShares reads tables of numbers in parts, as the workers of a cluster do, plain and
// compressed.
func TestCSVByShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	team := team(t, 2)
	for range 60 {
		var b strings.Builder
		if rng.IntN(2) == 0 {
			fmt.Fprintln(&b, "from;to;weight")
		}
		for range 1 + rng.IntN(200) {
			fmt.Fprintf(&b, "%d;\"%d\";%g\r\n", rng.Uint64()>>1>>rng.IntN(63), rng.IntN(50),
				rng.Float64())
		}
		for _, text := range []string{b.String(), gz(b.String())} {
			path := put(t, "a.csv", text)
			o := ReadOptions{Weights: edges.Float64, Team: team}
			in, err := read(path, 1<<20, o)
			if err != nil {
				t.Fatal(err)
			}
			want := plainly(t, in)
			in.Close()
			got, err := joined(t, path, 1+rng.IntN(5), 1+rng.IntN(300), o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	}
}

func TestCSVIsUnderstood(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		text string
		o    Columns
		want string // the note, or the error
	}{
		{"source,target\na,b\n", Columns{}, `csv, "source" to "target", 1 edge, 2 vertices, named "a".."b", weights no, directed`},
		{"Target;x;Source\nb;1;a\n", Columns{}, `csv, "Source" to "Target", 1 edge, 2 vertices, named "a".."b", weights no, directed`},
		{"a,b\nb,c\n", Columns{}, `csv, column 1 to column 2, no line with names of columns, 2 edges, 3 vertices, named "a".."c", weights no, directed`},
		{"a,b\nb,c\n", Columns{Header: &yes}, `csv, "a" to "b", 1 edge, 2 vertices, named "b".."c", weights no, directed`},
		{"x,y,z\n1,2,3\n", Columns{}, `csv, "x" to "y", 1 edge, 2 vertices, ids 1..2, weights no, directed`},
		{"1,2,0.5\n2,3,1\n", Columns{}, `csv, column 1 to column 2, weight column 3, no line with names of columns, 2 edges, 3 vertices, ids 1..3, weights float64, directed`},
		{"x,y,z\n1,2,3\n", Columns{Source: "z", Target: "1", Weight: "y"}, `csv, "z" to "x", weight "y", 1 edge, 2 vertices, ids 1..3 sparse, weights float64, directed`},
		{"1,2\n3,x\n", Columns{IDs: "number"}, `a.csv:2:3: found "x", which is not a number in column 2, expected a whole number from 0 to 18446744073709551614 (--ids name reads ids of any kind)`},
		{"1,2\n", Columns{IDs: "name"}, `csv, column 1 to column 2, no line with names of columns, 1 edge, 2 vertices, named "1".."2", weights no, directed`},
		{"source,target\n", Columns{}, `a.csv: found no edges, expected one or more`},
		{"", Columns{}, `a.csv: found no edges, expected one or more`},
		{"a\nb\n", Columns{}, `a.csv:1:1: found 1 column: "a", expected 2 or more, with "," between them (--delimiter names another)`},
		{"source,target\na,b,c\n", Columns{}, `a.csv:2:5: found 3 columns: "a,b,c", expected 2 as in the first line`},
		{"source,target\na,\n", Columns{}, `a.csv:2:3: found nothing in "target", expected a vertex`},
		{"source,target\na,\"b\n", Columns{Header: &yes}, `a.csv:2:3: found quotes that do not end, expected a " that ends them`},
		{"source,target,cost\na,b,c\n", Columns{}, `a.csv:2:5: found the weight "c" in "cost", expected a number`},
		{"source,target\na,b\n", Columns{Source: "x"}, `a.csv:1:1: found no column "x", expected one of source, target`},
		{"a,b\n", Columns{Source: "x", Header: &no}, `a.csv:1:1: found no column "x", expected a number from 1 to 2, or a first line with names of columns`},
		{"source,target\na,b\n", Columns{Source: "2"}, `a.csv:1:1: found one column for two of source, target and weight, expected three different ones: --source-column, --target-column and --weight-column name them`},
		{"source,target\na,\xff\n", Columns{}, `a.csv:2:3: found bytes that are not UTF-8: "a,\xff", expected names in UTF-8 (iconv -f LATIN1 -t UTF-8 converts a file in Latin-1)`},
	} {
		path := put(t, "a.csv", c.text)
		in, err := read(path, 100, ReadOptions{Weights: edges.Float64, Columns: c.o})
		if err != nil {
			wantError(t, err, path, c.want)
			continue
		}
		if got := in.Account[0]; got != path+": "+c.want {
			t.Errorf("%q: account\n%s\nwant\n%s", c.text, got, c.want)
		}
		in.Close()
	}
}

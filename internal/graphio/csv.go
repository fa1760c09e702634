package graphio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// Columns say what the columns of a table mean: of CSV and TSV. The zero value finds it out.
type Columns struct {
	// Source, Target and Weight are columns, by name or by number from 1.
	Source, Target, Weight string
	// Delimiter is the byte between columns.
	Delimiter string
	// Header says whether the first line has the names of columns, if it is not nil.
	Header *bool
	// IDs is "number", "name", or "" for what the first lines look like.
	IDs string
	// Vertices is a file of a table, CSV, TSV or Parquet, whose lines are vertices, which exist also where no edge names them, and Vertex its column of ids, by name
	// or by number.
	Vertices, Vertex string

	ofVertices bool // the table is one of vertices, whose id is the source
}

// IDKinds are what Columns.IDs may be.
var IDKinds = []string{"number", "name"}

// ParseDelimiter returns the byte of a delimiter: itself, or a word.
func ParseDelimiter(s string) (byte, error) {
	words := map[string]byte{"tab": '\t', `\t`: '\t', "comma": ',', "semicolon": ';', "bar": '|', "space": ' '}
	if c, ok := words[s]; ok {
		return c, nil
	}
	if len(s) != 1 || s[0] >= utf8.RuneSelf || s[0] < ' ' && s[0] != '\t' || s[0] == '"' {
		return 0, fmt.Errorf("found the delimiter %q, expected one character such as , or ;, or the word tab", s)
	}
	return s[0], nil
}

// Tabular reports whether the vertices of a graph of a name and a format, which may be empty, may have names.
func Tabular(path, format string) bool {
	if format == "" {
		if files, err := Files(context.Background(), path); err == nil {
			path = files[0]
		}
		format = string(formatOfName(path))
	}
	return namesIn[Format(format)] || Format(format) == GraphML
}

// csvGrammar is what a line of a table looks like.
type csvGrammar struct {
	delimiter byte
	columns   int    // of every line
	header    bool   // a file may begin with the titles
	at        [3]int // the source, the target and the weight, from 0; -1 is none
	titles    []string
	last      int          // of them the last
	stops     *csvStops    // of records that are read fast; nil if none are
	names     *names.Table // of ids that are text; nil of numbers
}

// Usual names of columns, in lower case.
var (
	sourceNames = []string{"source", "src", "from", "source_id", "from_id", "sourceid", "fromid", "src_id", "from_node", "u", "start", "node1", "node_1", "id1", ":start_id"}
	targetNames = []string{"target", "dst", "to", "target_id", "to_id", "targetid", "toid", "dst_id", "to_node", "v", "end", "node2", "node_2", "id2", "dest", "destination", ":end_id"}
	vertexNames = []string{"id", "vertex", "node", "name", "vertex_id", "node_id", "vertexid", "nodeid", "key", "label", ":id"}
	weightNames = []string{"weight", "w", "cost", "distance", "length"}
)

// readCSV reads a table whose lines are edges. Its vertices are the ids, or the names, that occur.
func (r *reader) readCSV(ctx context.Context, f *file, format Format) (*edges.RankInput, error) {
	head := f.head()
	c, said, from, err := r.Columns.understand(head, f.headIsAll(), format)
	if err == nil && from.offset == 0 && r.Columns.Header == nil && len(r.others) > 0 {
		c, said, from, err = r.otherHeader(ctx, f, format, c, said)
	}
	if err != nil {
		return nil, inFile(err, f.path)
	}
	g := grammar{columns: 2, high: maxID, single: r.Weights == edges.Float32, csv: c}
	weighted := c.at[2] >= 0
	if weighted {
		g.columns = 3
	}
	return r.readNamed(ctx, f, from, g, edgeTable{
		names: c.names, said: said, weighted: weighted, directed: true,
		begin: func(f *file) (start, error) { return c.begin(f, c.header) },
	})
}

// understand tells from the first lines what the columns of a table mean, and says it. Its lines of data begin where it says, after the names of columns
// if there are such.
func (o *Columns) understand(content []byte, all bool, format Format) (c *csvGrammar, said string, from start, err error) {
	head, bad := cutBOM(content)
	if bad != nil {
		bad.line, bad.column = 1, 1
		return nil, "", from, bad
	}
	c = &csvGrammar{at: [3]int{-1, -1, -1}}
	if c.delimiter, err = o.delimiter(head, format); err != nil {
		return nil, "", from, err
	}
	rows, second, err := c.rows(head, all)
	if err != nil {
		return nil, "", from, err
	}
	if len(rows) == 0 && o.ofVertices {
		return nil, "", from, noVertices("")
	} else if len(rows) == 0 {
		return nil, "", from, noEdges("")
	}
	first, rest := rows[0], rows[1:]
	if c.columns = len(first); c.columns < 2 && !o.ofVertices {
		return nil, "", from, firstLineFault("1 column: "+quote([]byte(first[0])), fmt.Sprintf("2 or more, with %s between them (--delimiter names another)", delimiterName(c.delimiter)))
	}
	header := o.hasHeader(first, rest)
	if c.header = header; header {
		c.titles = first
		rows = rest
		from = start{min(second.offset+int64(len(content)-len(head)), int64(len(content))), second.lines}
	} else {
		for i := range first {
			c.titles = append(c.titles, "column "+strconv.Itoa(i+1))
		}
	}
	if err := o.choose(c, header, rows); err != nil {
		return nil, "", from, err
	}
	c.last = max(c.at[0], c.at[1], c.at[2])
	c.stops = c.stopsOf()
	named := o.IDs == "name"
	if o.IDs == "" {
		for _, row := range rows {
			for _, at := range c.at[:2] {
				if at < 0 {
					continue
				}
				named = named || at < len(row) && (len(row[at]) == 0 || countDigits([]byte(row[at])) != len(row[at]))
			}
		}
	}
	if named {
		c.names = names.NewTable()
	}
	return c, c.say(format, header), from, nil
}

// delimiter is the byte between columns: the one given, that of the format, or of CSV the one that the first line has most of.
func (o *Columns) delimiter(head []byte, format Format) (byte, error) {
	if o.Delimiter != "" {
		return ParseDelimiter(o.Delimiter)
	}
	if format == TSV {
		return '\t', nil
	}
	line, _, _ := bytes.Cut(head, newline)
	best, most := byte(','), 0
	for _, c := range []byte(",;\t|") {
		if n := bytes.Count(line, []byte{c}); n > most {
			best, most = c, n
		}
	}
	return best, nil
}

func delimiterName(c byte) string {
	if c == '\t' {
		return "tabs"
	}
	return strconv.Quote(string(rune(c)))
}

// rows returns the fields of the first records, but of those at fault, and where the lines after the first one begin.
func (c *csvGrammar) rows(head []byte, all bool) (rows [][]string, second start, err error) {
	const enough = 100
	if all {
		head = endLine(append(slices.Clip(head), '\n'))
	}
	for at, line := 0, 1; at < len(head) && len(rows) < enough; {
		end := c.recordEnd(head, at)
		if end < 0 && (!all || len(rows) > 0) {
			break
		}
		if end < 0 {
			end = len(head) - 1
		}
		record, from := head[at:end], line
		line += bytes.Count(record, newline) + 1
		at = end + 1
		record = bytes.TrimSuffix(record, []byte{'\r'})
		if len(record) == 0 {
			continue
		}
		row, bad := c.row(record)
		if bad != nil && len(rows) > 0 {
			continue // who reads it says so
		} else if bad != nil {
			c.place(bad, record, from)
			return nil, start{}, bad
		}
		if rows = append(rows, row); len(rows) == 1 {
			second = start{int64(at), line - 1}
		}
	}
	if len(rows) == 0 && !all {
		return nil, start{}, firstLineFault("a first line of more than 64 KiB, or quotes that do not end", "names of columns, or an edge")
	}
	return rows, second, nil
}

// row returns the fields of a record.
func (c *csvGrammar) row(record []byte) ([]string, *fault) {
	if bad := checkLine(record); bad != nil {
		return nil, bad
	}
	var row []string
	cut := cutter{record: record, delimiter: c.delimiter}
	for cut.more() {
		field, bad := cut.field()
		if bad != nil {
			return nil, bad
		}
		row = append(row, string(field))
	}
	return row, nil
}

// hasHeader reports whether the first line has the names of columns: it is said, a column is called by its name, two have usual names, or
// a column of numbers begins with a word.
func (o *Columns) hasHeader(first []string, rest [][]string) bool {
	if o.Header != nil {
		return *o.Header
	}
	if o.ofVertices && (len(first) > 1 && countDigits([]byte(first[0])) < len(first[0]) || usual(first, vertexNames) >= 0) {
		return true
	}
	for _, name := range []string{o.Source, o.Target, o.Weight} {
		if name != "" && slices.Contains(first, name) {
			return true
		}
	}
	source, target := usual(first, sourceNames), usual(first, targetNames)
	if source >= 0 && target >= 0 || source >= 0 && slices.Contains(first[source+1:], first[source]) || target >= 0 && slices.Contains(first[target+1:], first[target]) {
		return true
	}
	for i, field := range first {
		if isNumber(field) || len(rest) == 0 {
			continue
		}
		if !slices.ContainsFunc(rest, func(row []string) bool { return i >= len(row) || !isNumber(row[i]) }) {
			return true
		}
	}
	return false
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// usual returns the column that has the first of some usual names, or -1.
func usual(titles, usual []string) int {
	for _, name := range usual {
		if at := slices.IndexFunc(titles, func(title string) bool { return strings.ToLower(title) == name }); at >= 0 {
			return at
		}
	}
	return -1
}

// choose finds the columns of the source, the target and the weight: those named, those with usual names, or the first, the second and, of
// three without names of which the last has numbers, the third.
func (o *Columns) choose(c *csvGrammar, header bool, rows [][]string) error {
	if o.ofVertices {
		at, err := c.column(o.Source, header)
		if at < 0 && header {
			at = usual(c.titles, vertexNames)
		}
		c.at[0] = max(at, 0)
		return err
	}
	for i, given := range []string{o.Source, o.Target, o.Weight} {
		switch at, err := c.column(given, header); {
		case err != nil:
			return err
		case given != "":
			c.at[i] = at
		case header:
			c.at[i] = usual(c.titles, [][]string{sourceNames, targetNames, weightNames}[i])
			if at := c.at[i]; at >= 0 && slices.Contains(c.titles[at+1:], c.titles[at]) {
				return firstLineFault(fmt.Sprintf("two columns with the name %q", c.titles[at]), "one, or columns by number: --source-column 1 --target-column 2 (--header no: an edge)")
			}
		}
	}
	for i := range 2 {
		if c.at[i] < 0 && c.at[1-i] != i {
			c.at[i] = i
		} else if c.at[i] < 0 {
			c.at[i] = 1 - i
		}
	}
	if !header && o.Weight == "" && c.columns == 3 && o.Source == "" && o.Target == "" && len(rows) > 0 &&
		!slices.ContainsFunc(rows, func(row []string) bool { return len(row) < 3 || !isNumber(row[2]) }) {
		c.at[2] = 2
	}
	if c.at[0] == c.at[1] || c.at[2] == c.at[0] || c.at[2] == c.at[1] {
		return firstLineFault("one column for two of source, target and weight", "three different ones: --source-column, --target-column and --weight-column name them")
	}
	return nil
}

// column returns the column of a name or a number.
func (c *csvGrammar) column(given string, header bool) (int, error) {
	if given == "" {
		return -1, nil
	}
	if header {
		if at := slices.Index(c.titles, given); at >= 0 {
			if slices.Contains(c.titles[at+1:], given) {
				return 0, firstLineFault(fmt.Sprintf("two columns with the name %q", given), "a number from 1")
			}
			return at, nil
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 1 && n <= c.columns {
		return n - 1, nil
	}
	if !header {
		return 0, firstLineFault(fmt.Sprintf("no column %q", given), fmt.Sprintf("a number from 1 to %d, or a first line with names of columns", c.columns))
	}
	return 0, firstLineFault(fmt.Sprintf("no column %q", given), "one of "+strings.Join(c.titles, ", "))
}

// say tells what was understood of the columns.
func (c *csvGrammar) say(format Format, header bool) string {
	if c.at[1] < 0 {
		return "vertices by " + c.title(0)
	}
	said := fmt.Sprintf("%s, %s to %s", format, c.title(0), c.title(1))
	if c.at[2] >= 0 {
		said += ", weight " + c.title(2)
	}
	if !header {
		said += ", no line with names of columns"
	}
	return said
}

func (c *csvGrammar) title(i int) string {
	if title := c.titles[c.at[i]]; strings.HasPrefix(title, "column ") {
		return title
	}
	return strconv.Quote(c.titles[c.at[i]])
}

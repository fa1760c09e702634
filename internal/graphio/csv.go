package graphio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// Columns tell the meaning of a CSV or TSV table's columns. With the zero value the reader derives
// it from the first lines.
type Columns struct {
	// Source, Target and Weight are columns, given by name or by number from 1.
	Source, Target, Weight string
	// Delimiter is the byte between columns.
	Delimiter string
	// Header, if not nil, tells whether the first line has the names of columns.
	Header *bool
	// IDs is "number" or "name". If it is "", the first lines decide.
	IDs string
	// Vertices is a table of vertices: a file in CSV, TSV or Parquet with a line for each vertex.
	// It may contain vertices without edges. Vertex is its column of ids, by name or by number.
	Vertices, Vertex string

	ofVertices bool   // this is a table of vertices; Source is the id
	naming     string // for errors: how to name the columns of an edge's ends
}

// IDKinds are the allowed values of Columns.IDs.
var IDKinds = []string{"number", "name"}

// ParseDelimiter returns the byte of a delimiter, given as itself or as a word.
func ParseDelimiter(s string) (byte, error) {
	words := map[string]byte{
		"tab": '\t', `\t`: '\t', "comma": ',', "semicolon": ';', "bar": '|', "space": ' ',
	}
	if c, ok := words[s]; ok {
		return c, nil
	}
	if len(s) != 1 || s[0] >= utf8.RuneSelf || s[0] < ' ' && s[0] != '\t' || s[0] == '"' {
		return 0, fmt.Errorf(
			"found the delimiter %q, expected one character such as , or ;, or the word tab", s)
	}
	return s[0], nil
}

// Tabular reports whether the vertices of a graph with this file name and format may have names.
// format may be empty.
func Tabular(path, format string) bool {
	of, files, err := inputs(context.Background(), path, Format(format))
	if of == "" && err == nil {
		of = formatOfName(files[0])
	}
	return namesIn[of] || of == GraphML
}

// csvGrammar describes the records of a table.
type csvGrammar struct {
	delimiter byte
	columns   int    // of every line
	header    bool   // a file may begin with the names of columns
	at        [3]int // columns of source, target and weight, from 0; -1 if there is none
	titles    []string
	stops     *csvStops // for the fast path; nil if it cannot be used
	named     bool      // ids are text
	remark    string    // why they are, if that is not plain
	from      start     // of the data, after the names of columns if there are any
	// the column, from 1, whose text is the same for all edges: directed or undirected; 0 is none
	kind     int
	kindText []byte
	head     [][]string // fields of the first lines
}

// readCSV reads a table whose records are edges.
func (r *reader) readCSV(ctx context.Context, p *parsed) error {
	c, err := r.Columns.understand(p.f, r.format)
	if err == nil && !c.header && r.Columns.Header == nil && len(r.others) > 0 {
		c, err = r.otherHeader(ctx, p.f, c)
	}
	if err == nil {
		err = r.Columns.headed(c)
	}
	if err != nil {
		return err
	}
	r.edgeTable(p, c)
	if p.csv, p.from = c, c.from; r.Directed == nil {
		p.Directed = c.kinds(&p.what)
	}
	c.head = nil
	return nil
}

// edgeTable describes a table whose records are edges. Its vertices are all ids or names in it.
func (r *reader) edgeTable(p *parsed, c *csvGrammar) {
	p.grammar, p.others, p.what = r.grammar(c.at[2] >= 0), r.others, c.say(r.format)
	if p.zeros = r.Columns.IDs != ""; c.named {
		p.named = names.NewTable()
	}
	p.Directed, p.Check = true, someEdges(r.name)
}

// kinds reads the column Type of a table written by Gephi, and notes its value. All edges must have
// the same type as the first.
func (c *csvGrammar) kinds(said *string) (directed bool) {
	at := usual(c.titles, []string{"type"})
	rows := c.data()
	if !c.header || at < 0 || len(rows) == 0 || at >= len(rows[0]) || slices.Contains(c.at[:], at) {
		return true
	}
	text := rows[0][at]
	directed = strings.EqualFold(text, "directed")
	if !directed && !strings.EqualFold(text, "undirected") {
		return true
	}
	c.kind, c.kindText = at+1, []byte(text)
	*said += fmt.Sprintf(", %s by %q", edges.Kind(directed), c.titles[at])
	return directed
}

// understand derives the meaning of a table's columns from the first lines.
func (o *Columns) understand(f *file, format Format) (c *csvGrammar, err error) {
	c = &csvGrammar{at: [3]int{-1, -1, -1}}
	if c.delimiter, err = o.delimiter(f.head(), format); err != nil {
		return nil, err
	}
	var second start
	if c.head, second, err = c.rows(f); err != nil {
		return nil, err
	}
	if len(c.head) == 0 && o.ofVertices {
		return nil, noVertices("")
	} else if len(c.head) == 0 {
		return nil, noEdges("")
	}
	first, rest := c.head[0], c.head[1:]
	if c.columns = len(first); c.columns < 2 && !o.ofVertices {
		return nil, firstLineFault("1 column: "+quote([]byte(first[0])),
			fmt.Sprintf("2 or more, with %s between them (--delimiter names another)",
				delimiterName(c.delimiter)))
	}
	if !o.ofVertices && o.Source == "" && o.Target == "" && isMatrix(first, rest) {
		return nil, firstLineFault("what looks like a matrix: "+
			quote([]byte(strings.Join(first, string(c.delimiter)))),
			"a line for each edge, with its source and its target (--source-column and --target-column name them)")
	}
	if c.header = o.hasHeader(first, rest); c.header {
		c.titles, c.from = first, second
	} else {
		for i := range first {
			c.titles = append(c.titles, "column "+strconv.Itoa(i+1))
		}
	}
	if err = o.choose(c); err == nil {
		err = o.idKinds(c)
	}
	c.stops = c.stopsOf()
	return c, err
}

// data returns the fields of the first lines of data.
func (c *csvGrammar) data() [][]string {
	if c.header && len(c.head) > 0 {
		return c.head[1:]
	}
	return c.head
}

// delimiter returns the byte between columns: the given delimiter, or that of the format. For CSV
// it is the delimiter that is most frequent in the first line.
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

// rows returns the fields of the first records, without malformed ones. second is the place after
// the first record.
func (c *csvGrammar) rows(f *file) (rows [][]string, second start, err error) {
	head, all := f.head(), f.headIsAll()
	size := len(head)
	if all {
		head = append(slices.Clip(head), '\n')
	}
	end := len(head)
	for line := 1; len(head) > 0 && len(rows) < headerLines; {
		record, rest, ends := c.cutRecord(head)
		if !ends && (!all || len(rows) > 0) {
			break
		}
		from := line
		line += bytes.Count(head[:len(head)-len(rest)], newline)
		if head = rest; len(record) == 0 {
			continue
		}
		row, bad := c.row(record)
		if bad != nil && len(rows) > 0 {
			continue // it is reported when the record is read
		} else if bad != nil {
			place(bad, record, from)
			return nil, start{}, bad
		}
		if rows = append(rows, row); len(rows) == 1 {
			second = start{f.bom + int64(min(end-len(head), size)), line - 1}
		}
	}
	if len(rows) == 0 && !all {
		return nil, start{}, firstLineFault(
			"a first line of more than 64 KiB, or quotes that do not end", "names of columns, or an edge")
	}
	return rows, second, nil
}

// row returns the fields of a record.
func (c *csvGrammar) row(record []byte) ([]string, *fault) {
	if bad := checkLine(record); bad != nil {
		return nil, bad
	}
	var row []string
	all, bad := new(cutter).fields(record, c.delimiter)
	for _, field := range all {
		row = append(row, string(field))
	}
	return row, bad
}

// column returns the index of a column given by name or number.
func (c *csvGrammar) column(given string) (int, error) {
	if given == "" {
		return -1, nil
	}
	if c.header {
		if at := slices.Index(c.titles, given); at >= 0 {
			if slices.Contains(c.titles[at+1:], given) {
				return 0, firstLineFault(fmt.Sprintf("two columns with the name %q", given),
					"a number from 1")
			}
			return at, nil
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 1 && n <= c.columns {
		return n - 1, nil
	}
	if !c.header {
		return 0, firstLineFault(fmt.Sprintf("no column %q", given),
			fmt.Sprintf("a number from 1 to %d, or a first line with names of columns", c.columns))
	}
	return 0,
		firstLineFault(fmt.Sprintf("no column %q", given), "one of "+strings.Join(c.titles, ", "))
}

// say describes the columns that are used.
func (c *csvGrammar) say(format Format) string {
	if c.at[1] < 0 {
		return "vertices by " + c.title(0)
	}
	said := fmt.Sprintf("%s, %s to %s", format, c.title(0), c.title(1))
	if c.at[2] >= 0 {
		said += ", weight " + c.title(2)
	}
	if !c.header {
		said += ", no line with names of columns"
	}
	return said + c.remark
}

func (c *csvGrammar) title(i int) string {
	if title := c.titles[c.at[i]]; strings.HasPrefix(title, "column ") {
		return title
	}
	return strconv.Quote(c.titles[c.at[i]])
}

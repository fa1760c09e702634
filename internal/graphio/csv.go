package graphio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// Tabular reports whether a graph of a name and a format, which may be empty, is read as a table, whose vertices may have names.
func Tabular(path, format string) bool {
	if format == "" {
		format = string(formatOfName(path))
	}
	return format == string(CSV) || format == string(TSV)
}

// csvGrammar is what a line of a table looks like.
type csvGrammar struct {
	delimiter byte
	columns   int    // of every line
	at        [3]int // the source, the target and the weight, from 0; -1 is none
	titles    []string
	last      int          // of them the last
	names     *names.Table // of ids that are text; nil of numbers
}

// Usual names of columns, in lower case.
var (
	sourceNames = []string{"source", "src", "from", "source_id", "from_id", "sourceid", "fromid", "src_id", "from_node", "u", "start", "node1", "node_1", "id1", ":start_id"}
	targetNames = []string{"target", "dst", "to", "target_id", "to_id", "targetid", "toid", "dst_id", "to_node", "v", "end", "node2", "node_2", "id2", "dest", "destination", ":end_id"}
	weightNames = []string{"weight", "w", "cost", "distance", "length"}
)

// readCSV reads a table whose lines are edges. Its vertices are the ids, or the names, that occur.
func (r *reader) readCSV(ctx context.Context, f *file, format Format) (*edges.RankInput, error) {
	head := f.head()
	c, said, header, err := r.Columns.understand(head, f.headIsAll(), format)
	if err != nil {
		return nil, inFile(err, f.path)
	}
	from := start{}
	if header {
		l := lineReader{r: f.content}
		if _, err := l.next(); err != nil && err != io.EOF {
			return nil, inFile(err, f.path)
		}
		from = start{l.offset, l.line}
	}
	g := grammar{columns: 2, high: maxID, single: r.Weights == edges.Float32, csv: c}
	weighted := c.at[2] >= 0
	if weighted {
		g.columns = 3
	}
	if c.names != nil && r.partial {
		return nil, &fault{
			f.path, 0, "vertices with names",
			"numbers: a cluster cannot read names yet (superstep run without --master reads them)",
		}
	}
	t, err := r.readTable(ctx, f, from, g)
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	path := f.path
	check := func(tuples int, _ uint64) error {
		if tuples == 0 {
			return noEdges(path)
		}
		return nil
	}
	var x *numbering
	var dictionary *names.Dictionary
	if !r.partial {
		if err := check(t.n, 0); err != nil {
			return nil, err
		}
		if c.names != nil {
			if n := c.names.Len(); uint64(n) > maxVertices-1 {
				return nil, inFile(tooMany(uint64(n)), path)
			}
			x = new(numbering)
			dictionary, x.named = c.names.Sort(r.Team)
			x.n = dictionary.Len()
		} else if x, err = number(ctx, r.Team, t); err != nil {
			return nil, inFile(err, path)
		}
	}
	list, _, err := pack(ctx, r.Team, t, x, r.Weights)
	if err != nil {
		return nil, err
	}
	s := r.input(path, list, x, r.directed(true))
	s.Names = dictionary
	s.Largest, s.Spans, s.Check = t.max, []edges.Span{t.span}, check
	s.Account = r.account(f, said, t.remarks, s, weighted)
	return s, nil
}

// understand tells from the first lines what the columns of a table mean, and says it. header reports that the first line has their names.
func (o *Columns) understand(head []byte, all bool, format Format) (c *csvGrammar, said string, header bool, err error) {
	head, bad := cutBOM(head)
	if bad != nil {
		bad.line = 1
		return nil, "", false, bad
	}
	c = &csvGrammar{at: [3]int{-1, -1, -1}}
	if c.delimiter, err = o.delimiter(head, format); err != nil {
		return nil, "", false, err
	}
	rows, err := c.rows(head, all)
	if err != nil {
		return nil, "", false, err
	}
	if len(rows) == 0 {
		return nil, "", false, noEdges("")
	}
	first, rest := rows[0], rows[1:]
	if c.columns = len(first); c.columns < 2 {
		return nil, "", false, &fault{"", 1, "1 column: " + quote([]byte(first[0])), fmt.Sprintf("2 or more, with %s between them (--delimiter names another)", delimiterName(c.delimiter))}
	}
	if header = o.hasHeader(first, rest); header {
		c.titles = first
		rows = rest
	} else {
		for i := range first {
			c.titles = append(c.titles, "column "+strconv.Itoa(i+1))
		}
	}
	if err := o.choose(c, header, rows); err != nil {
		return nil, "", false, err
	}
	c.last = max(c.at[0], c.at[1], c.at[2])
	named := o.IDs == "name"
	if o.IDs == "" {
		for _, row := range rows {
			for _, at := range c.at[:2] {
				named = named || at < len(row) && (len(row[at]) == 0 || countDigits([]byte(row[at])) != len(row[at]))
			}
		}
	}
	if named {
		c.names = names.NewTable()
	}
	return c, c.say(format, header), header, nil
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

// rows returns the fields of the first lines.
func (c *csvGrammar) rows(head []byte, all bool) ([][]string, error) {
	const enough = 100
	var rows [][]string
	for number := 1; len(head) > 0 && len(rows) < enough; number++ {
		line, rest, whole := bytes.Cut(head, newline)
		if !whole && !all {
			break
		}
		head = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 {
			continue
		}
		if bad := checkLine(line); bad != nil {
			bad.line = number
			return nil, bad
		}
		var row []string
		cut := cutter{rest: bytes.Clone(line), delimiter: c.delimiter}
		for cut.more() {
			field, bad := cut.field()
			if bad != nil {
				bad.line = number
				return nil, bad
			}
			row = append(row, string(field))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// hasHeader reports whether the first line has the names of columns: it is said, a column is called by its name, two have usual names, or
// a column of numbers begins with a word.
func (o *Columns) hasHeader(first []string, rest [][]string) bool {
	if o.Header != nil {
		return *o.Header
	}
	for _, name := range []string{o.Source, o.Target, o.Weight} {
		if name != "" && slices.Contains(first, name) {
			return true
		}
	}
	if usual(first, sourceNames) >= 0 && usual(first, targetNames) >= 0 {
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
	for i, given := range []string{o.Source, o.Target, o.Weight} {
		switch at, err := c.column(given, header); {
		case err != nil:
			return err
		case given != "":
			c.at[i] = at
		case header:
			c.at[i] = usual(c.titles, [][]string{sourceNames, targetNames, weightNames}[i])
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
		return &fault{"", 1, "one column for two of source, target and weight", "three different ones: --source-column, --target-column and --weight-column name them"}
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
				return 0, &fault{"", 1, fmt.Sprintf("two columns with the name %q", given), "a number from 1"}
			}
			return at, nil
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 1 && n <= c.columns {
		return n - 1, nil
	}
	if !header {
		return 0, &fault{"", 1, fmt.Sprintf("no column %q", given), fmt.Sprintf("a number from 1 to %d, or a first line with names of columns", c.columns)}
	}
	return 0, &fault{"", 1, fmt.Sprintf("no column %q", given), "one of " + strings.Join(c.titles, ", ")}
}

// say tells what was understood of the columns.
func (c *csvGrammar) say(format Format, header bool) string {
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

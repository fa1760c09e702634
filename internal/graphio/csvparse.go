package graphio

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// cutter cuts a record of a table into fields.
type cutter struct {
	record    []byte
	at        int // where the next field begins
	delimiter byte
	ended     bool
	scratch   []byte // unquoted texts of fields
	all       [][]byte
}

// fields cuts a record into its fields. They are valid until the next call.
func (c *cutter) fields(record []byte, delimiter byte) ([][]byte, *fault) {
	c.all = c.all[:0]
	for c.begin(record, delimiter); !c.ended; {
		field, bad := c.field()
		if bad != nil {
			return nil, bad
		}
		c.all = append(c.all, field)
	}
	return c.all, nil
}

// begin starts with a new record. Fields of earlier records stay valid.
func (c *cutter) begin(record []byte, delimiter byte) {
	c.record, c.at, c.delimiter, c.ended = record, 0, delimiter, false
}

// field returns the next field without its quotes, or without the blanks around it. A doubled quote
// within quotes becomes one quote, and a line break becomes a newline.
func (c *cutter) field() ([]byte, *fault) {
	from := c.at
	rest, blanks := c.record[from:], " \t"
	if c.delimiter == ' ' || c.delimiter == '\t' {
		blanks = " "
	}
	for i, b := range rest {
		if b == '"' {
			return c.quoted(c.at + i + 1)
		}
		if b != ' ' && b != blanks[len(blanks)-1] {
			break
		}
	}
	if end := bytes.IndexByte(rest, c.delimiter); end >= 0 {
		rest = rest[:end]
		c.at += end + 1
	} else {
		c.at, c.ended = len(c.record), true
	}
	if i := bytes.IndexByte(rest, '\r'); i >= 0 {
		return nil, wrong("a carriage return within a line", `lines that end with \n or \r\n (tr '\r' '\n' < FILE > NEW makes them), or quotes around the field`).inColumn(from + i + 1)
	}
	return trimBlanks(rest), nil
}

// quoted returns the field whose opening quote is before record[from].
func (c *cutter) quoted(from int) ([]byte, *fault) {
	end := closing(c.record, from)
	if end < 0 {
		return nil, wrong(openQuotes, `a " that ends them`).inColumn(from)
	}
	after := end + 1
	for after < len(c.record) && isBlank(c.record[after]) && c.record[after] != c.delimiter {
		after++
	}
	switch {
	case after == len(c.record):
		c.at, c.ended = after, true
	case c.record[after] == c.delimiter:
		c.at = after + 1
	default:
		return nil, wrong(quote(c.record[after:])+" after the quotes of a field",
			"the end of the field (a quote within quotes is written twice)").inColumn(after + 1)
	}
	text := c.record[from:end]
	if bytes.IndexByte(text, '"') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text, nil
	}
	start := len(c.scratch)
	for i := 0; i < len(text); i++ {
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		c.scratch = append(c.scratch, text[i])
		if text[i] == '"' {
			i++
		}
	}
	return c.scratch[start:len(c.scratch):len(c.scratch)], nil
}

// trimBlanks removes spaces and tabs from both ends.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// parseCSV is parse for a table: data is whole records.
func (p *parser) parseCSV(data []byte) {
	c := p.csv
	p.names.Reset()
	p.cut.scratch = nil // it holds the names of the batch before
	// otherwise each record is checked, to find the invalid one
	text := utf8.Valid(data) || c.names == nil
	for len(data) > 0 {
		if data = data[p.fastCSV(data):]; len(data) == 0 {
			break
		}
		var bad *fault
		if _, data, bad = p.record(data, text); bad != nil && !p.leave(bad) {
			return
		}
	}
	if c.names != nil {
		p.ids = c.names.Take(&p.names, p.ids)
	}
}

// record reads the first record of data, and cuts it off.
func (p *parser) record(data []byte, text bool) (record, rest []byte, bad *fault) {
	end := bytes.IndexByte(data, '\n')
	p.lines++
	first := p.lines
	record = bytes.TrimSuffix(data[:end], carriage)
	bad = p.read(record, text)
	if bad != nil && bad.found == openQuotes { // the record may have more lines
		switch all := p.csv.recordEnd(data, 0); {
		case all > end:
			p.lines += bytes.Count(data[end:all], newline)
			end = all
			record = bytes.TrimSuffix(data[:end], carriage)
			bad = p.read(record, text)
		case all < 0 && len(data) > maxLine:
			bad = &fault{column: 1, found: "a record of more than 1 MiB: " + quote(data), expected: "quotes that end, and shorter ones", fatal: true}
		// the whole record shows which quotes do not end, but only its first line is skipped
		case all < 0:
			record = data[:len(data)-1]
			bad = p.read(record, text)
		}
	}
	if bad != nil {
		p.csv.place(bad, record, first)
	}
	return record, data[end+1:], bad
}

// place sets the line and column of a fault. Its column is a position in the record, which begins
// at the given line.
func (c *csvGrammar) place(bad *fault, record []byte, line int) {
	bad.line, bad.column = c.placeOf(bad.column-1, record, line)
}

// placeOf returns the line and column of a position in a record, which begins at the given line.
func (c *csvGrammar) placeOf(at int, record []byte, line int) (int, int) {
	before := record[:min(max(at, 0), len(record))]
	return line + bytes.Count(before, newline), len(before) - bytes.LastIndexByte(before, '\n')
}

// openQuotes is the error text for quotes that do not end.
const openQuotes = "quotes that do not end"

var carriage = []byte{'\r'}

// read reads one record of a table. A malformed record adds nothing, an empty one is skipped. text
// means that it is valid UTF-8.
func (p *parser) read(record []byte, text bool) *fault {
	if len(record) == 0 {
		return nil
	}
	c := p.csv
	var fields [3][]byte
	if bad := c.fields(&p.cut, record, text, &fields); bad != nil {
		return bad
	}
	if c.kind > 0 {
		if bad := c.otherKind(record, p.cut.all[c.kind-1]); bad != nil {
			return bad
		}
	}
	ends := 2
	if c.at[1] < 0 { // a table of vertices
		ends = 1
	}
	if i, bad := p.keep(&fields, ends, c.names != nil, c.zeros); bad != nil {
		bad.found += " in " + c.title(i)
		return bad.inColumn(c.begins(record, c.at[i]) + 1)
	}
	return nil
}

// keep adds an edge, or a vertex if ends is 1. fields are its ends and its weight. Ends are names
// if named is true, otherwise numbers, which may have leading zeros if zeros is true. A malformed
// edge adds nothing, and which is its wrong field.
func (p *parser) keep(fields *[3][]byte, ends int, named, zeros bool) (which int, bad *fault) {
	ids, names := len(p.ids), p.names.Len()
	defer func() {
		if bad != nil {
			p.ids = p.ids[:ids]
			p.names.Cut(names)
		}
	}()
	for i, field := range fields[:ends] {
		if len(field) == 0 {
			return i, wrong("nothing", "a vertex")
		}
		if named {
			p.names.Add(field)
			continue
		}
		id, bad := p.number(field)
		if bad != nil {
			bad.expected += " (--ids name reads ids of any kind)"
		} else if !zeros {
			bad = zeroed(field)
		}
		if bad != nil {
			return i, bad
		}
		p.ids = append(p.ids, id)
	}
	if p.columns == 3 {
		w, bad := weight(fields[2], p.single)
		if bad != nil {
			return 2, bad
		}
		p.weights = append(p.weights, w)
	}
	return 0, nil
}

// fields cuts a record, which is not empty, and stores the fields that are read. text means that it
// is valid UTF-8.
func (c *csvGrammar) fields(cut *cutter, record []byte, text bool, fields *[3][]byte) *fault {
	if bad := checkLine(record); bad != nil {
		return bad
	}
	if !text && !utf8.Valid(record) {
		return wrong("bytes that are not UTF-8: "+quote(record), "names in UTF-8 (iconv -f LATIN1 -t UTF-8 converts a file in Latin-1)").inColumn(validBytes(record) + 1)
	}
	all, bad := cut.fields(record, c.delimiter)
	if bad != nil {
		return bad
	}
	n := len(all)
	if n != c.columns {
		return wrong(counted(n, "column")+": "+quote(record), fmt.Sprintf("%d as in the first line", c.columns)).inColumn(c.begins(record, min(n, c.columns)) + 1)
	}
	for i, at := range c.at {
		if at >= 0 {
			fields[i] = all[at]
		}
	}
	return nil
}

// otherKind returns a fault unless the column Type of a record is the same as in the first one: all
// directed or all undirected.
func (c *csvGrammar) otherKind(record, text []byte) *fault {
	if bytes.EqualFold(text, c.kindText) {
		return nil
	}
	return wrong(fmt.Sprintf("%s in %q", quote(text), c.titles[c.kind-1]), quote(c.kindText)+
		" as in the first line (--directed or --undirected takes all edges for that)").inColumn(c.begins(record, c.kind-1) + 1)
}

// validBytes returns the length of the valid UTF-8 at the beginning of a text.
func validBytes(text []byte) int {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// begins returns the position of field n in a record, after the blanks before it. Without such a
// field it returns the end of the record.
func (c *csvGrammar) begins(record []byte, n int) int {
	cut := cutter{record: record, delimiter: c.delimiter}
	for ; n > 0 && !cut.ended; n-- {
		if _, bad := cut.field(); bad != nil {
			break
		}
	}
	at := cut.at
	for !cut.ended && at < len(record) && isBlank(record[at]) && record[at] != c.delimiter {
		at++
	}
	return at
}

// number reads an id.
func (p *parser) number(field []byte) (uint64, *fault) {
	if id, end := digits(field, 0); end == len(field) && end <= 18 && id >= p.low && id <= p.high {
		return id, nil
	}
	return p.id(field)
}

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
	starts    []int // where the fields begin in the record, after blanks; last the record's end
}

// fields cuts a record into its fields. The slice is valid until the next call. The texts of
// earlier records stay valid.
func (c *cutter) fields(record []byte, delimiter byte) ([][]byte, *fault) {
	c.all, c.starts = c.all[:0], c.starts[:0]
	c.record, c.at, c.delimiter, c.ended = record, 0, delimiter, false
	for !c.ended {
		start := c.at
		for start < len(record) && isBlank(record[start]) && record[start] != delimiter {
			start++
		}
		field, bad := c.field()
		if bad != nil {
			return nil, bad
		}
		c.all, c.starts = append(c.all, field), append(c.starts, start)
	}
	c.starts = append(c.starts, len(record))
	return c.all, nil
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
		const lines = `lines that end with \n or \r\n (tr '\r' '\n' < FILE > NEW makes them)`
		return nil, wrong("a carriage return within a line",
			lines+", or quotes around the field").inColumn(from + i + 1)
	}
	return bytes.Trim(rest, " \t"), nil
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

// openQuotes is the error text for quotes that do not end.
const openQuotes = "quotes that do not end"

var carriage = []byte{'\r'}

// row reads one record of a table. It ignores an empty record.
func (p *parser) row(record []byte) *fault {
	if len(record) == 0 {
		return nil
	}
	c := p.csv
	var fields [3][]byte
	if bad := c.fields(&p.cut, record, p.utf8 || p.named == nil, &fields); bad != nil {
		return bad
	}
	if c.kind > 0 {
		if text := p.cut.all[c.kind-1]; !bytes.EqualFold(text, c.kindText) {
			return wrong(fmt.Sprintf("%s in %q", quote(text), c.titles[c.kind-1]),
				quote(c.kindText)+
					" as in the first line (--directed or --undirected takes all edges for that)",
			).inColumn(p.cut.starts[c.kind-1] + 1)
		}
	}
	if i, bad := p.keep(&fields); bad != nil {
		bad.found += " in " + c.title(i)
		return bad.inColumn(p.cut.starts[c.at[i]] + 1)
	}
	return nil
}

// keep adds an edge or, if there is one column, a vertex. fields has the texts of the ends and of
// the weight. If one of them is at fault, which is its index.
func (p *parser) keep(fields *[3][]byte) (which int, bad *fault) {
	for i, field := range fields[:min(p.columns, 2)] {
		if bad := p.end(field); bad != nil {
			return i, bad
		}
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

// end adds a vertex of a table.
func (p *parser) end(text []byte) *fault {
	if len(text) == 0 {
		return wrong("nothing", "a vertex")
	}
	if p.named != nil {
		p.names.Add(text)
		return nil
	}
	id, bad := p.id(text)
	if bad != nil {
		bad.expected += " (--ids name reads ids of any kind)"
	} else if !p.zeros {
		bad = zeroed(text)
	}
	p.ids = append(p.ids, id)
	return bad
}

// fields cuts a record, which is not empty, and stores the fields that are read. text means that it
// is valid UTF-8.
func (c *csvGrammar) fields(cut *cutter, record []byte, text bool, fields *[3][]byte) *fault {
	if bad := checkLine(record); bad != nil {
		return bad
	}
	if !text && !utf8.Valid(record) {
		return wrong("bytes that are not UTF-8: "+quote(record),
			"names in UTF-8 (iconv -f LATIN1 -t UTF-8 converts a file in Latin-1)",
		).inColumn(validBytes(record) + 1)
	}
	all, bad := cut.fields(record, c.delimiter)
	if bad != nil {
		return bad
	}
	n := len(all)
	if n != c.columns {
		return wrong(Counted(n, "column")+": "+quote(record), fmt.Sprintf("%d as in the first line",
			c.columns)).inColumn(cut.starts[min(n, c.columns)] + 1)
	}
	for i, at := range c.at {
		if at >= 0 {
			fields[i] = all[at]
		}
	}
	return nil
}

// validBytes returns the length of the valid UTF-8 at the beginning of a text.
func validBytes(text []byte) int {
	for i, r := range string(text) {
		if r == utf8.RuneError && !bytes.HasPrefix(text[i:], []byte("\uFFFD")) {
			return i
		}
	}
	return len(text)
}

package graphio

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// cutter cuts a line of a table into fields.
type cutter struct {
	rest      []byte
	delimiter byte
	ended     bool
}

// more reports whether there is another field.
func (c *cutter) more() bool { return !c.ended }

// field returns the next field: without its quotes, or without the blanks around it. A quote within quotes is written twice; what
// has quotes is changed in place.
func (c *cutter) field() ([]byte, *fault) {
	text := c.rest
	if c.delimiter != ' ' && c.delimiter != '\t' {
		text = bytes.TrimLeft(text, " \t")
	} else {
		text = bytes.TrimLeft(text, " ")
	}
	if len(text) > 0 && text[0] == '"' {
		return c.quoted(text)
	}
	if end := bytes.IndexByte(c.rest, c.delimiter); end >= 0 {
		text, c.rest = c.rest[:end], c.rest[end+1:]
	} else {
		text, c.rest, c.ended = c.rest, nil, true
	}
	return trimBlanks(text), nil
}

// quoted returns the field that begins with the quote at text[0].
func (c *cutter) quoted(text []byte) ([]byte, *fault) {
	out := 0
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			text[out] = text[i]
			out++
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			text[out] = '"'
			out++
			i++
			continue
		}
		rest := trimBlanks(text[i+1:])
		if c.delimiter == '\t' {
			rest = text[i+1:]
		}
		switch {
		case len(rest) == 0:
			c.rest, c.ended = nil, true
		case rest[0] == c.delimiter:
			c.rest = rest[1:]
		default:
			return nil, &fault{found: quote(rest) + " after the quotes of a field", expected: "the end of the field (a quote within quotes is written twice)"}
		}
		return text[:out], nil
	}
	return nil, &fault{found: "quotes that do not end in their line", expected: `a " that ends them (fields with a line break within are not read)`}
}

// trimBlanks cuts spaces and tabs off both ends.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// parseCSV reads data, whole lines of a table, until one is at fault: p.lines then counts it.
func (p *parser) parseCSV(data []byte) *fault {
	c := p.csv
	p.names.Reset()
	text := c.names == nil || utf8.Valid(data) // else the line that is not is looked for
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line := data[:end]
		data = data[end+1:]
		p.lines++
		if len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		if len(line) == 0 {
			continue
		}
		if bad := p.csvLine(line, text); bad != nil {
			return bad
		}
	}
	if c.names != nil {
		p.ids = c.names.Take(&p.names, p.ids)
	}
	return nil
}

// csvLine reads one line of a table. text says that it is UTF-8.
func (p *parser) csvLine(line []byte, text bool) *fault {
	if bad := checkLine(line); bad != nil {
		return bad
	}
	c := p.csv
	if !text && !utf8.Valid(line) {
		return &fault{found: "bytes that are not UTF-8: " + quote(line), expected: "names in UTF-8 (iconv -f LATIN1 -t UTF-8 converts a file in Latin-1)"}
	}
	var fields [3][]byte
	n := 0
	if bytes.IndexByte(line, '"') < 0 {
		n = c.plain(line, &fields)
	} else {
		cut := cutter{rest: line, delimiter: c.delimiter}
		for ; cut.more(); n++ {
			field, bad := cut.field()
			if bad != nil {
				return bad
			}
			c.keep(n, field, &fields)
		}
	}
	if n != c.columns {
		return &fault{found: counted(n, "column", "columns") + ": " + quote(line), expected: fmt.Sprintf("%d as in the first line", c.columns)}
	}
	for i, field := range fields[:2] {
		if len(field) == 0 {
			return &fault{found: "nothing in " + c.title(i), expected: "a vertex"}
		}
		if c.names != nil {
			p.names.Add(field)
			continue
		}
		id, bad := p.number(field)
		if bad != nil {
			bad.found += " in " + c.title(i)
			bad.expected += " (--ids name reads ids of any kind)"
			return bad
		}
		p.ids = append(p.ids, id)
	}
	if p.columns == 3 {
		w, bad := weight(fields[2], p.single)
		if bad != nil {
			bad.found += " in " + c.title(2)
			return bad
		}
		p.weights = append(p.weights, w)
	}
	return nil
}

// number reads an id.
func (p *parser) number(field []byte) (uint64, *fault) {
	if id, end := digits(field, 0); end == len(field) && end <= 18 && id >= p.low && id <= p.high {
		return id, nil
	}
	return p.id(field)
}

// plain cuts a line without quotes, and returns how many fields it has.
func (c *csvGrammar) plain(line []byte, fields *[3][]byte) int {
	n := 0
	for ; n <= c.last; n++ {
		end := bytes.IndexByte(line, c.delimiter)
		if end < 0 {
			c.keep(n, trimBlanks(line), fields)
			return n + 1
		}
		c.keep(n, trimBlanks(line[:end]), fields)
		line = line[end+1:]
	}
	for {
		end := bytes.IndexByte(line, c.delimiter)
		if n++; end < 0 {
			return n
		}
		line = line[end+1:]
	}
}

// keep keeps field n if it is one that is read.
func (c *csvGrammar) keep(n int, field []byte, fields *[3][]byte) {
	for i, at := range c.at {
		if n == at {
			fields[i] = field
		}
	}
}

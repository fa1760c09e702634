package graphio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
)

// jsonLines reads one object per line. An object is an edge: the members with the chosen names are
// its source, its target and, if there is one, its weight. Other members are ignored.
type jsonLines struct{ *csvGrammar }

// jsonHead is the number of first lines that determine the meaning of the members.
const jsonHead = 100

// readJSONLines reads lines of JSON. The vertices are all ids or names in them.
func (r *reader) readJSONLines(_ context.Context, p *parsed) error {
	j, err := r.Columns.members(p.f.head(), p.f.headIsAll())
	if err == nil {
		r.edgeTable(p, j.csvGrammar)
		p.own = j.line
	}
	return err
}

// members derives the meaning of the objects' members from the first lines.
func (o *Columns) members(head []byte, all bool) (*jsonLines, error) {
	lines, first := headLines(head, all)
	if len(lines) == 0 && !all {
		return nil, firstLineFault("no whole line in the first 64 KiB",
			`a shorter first line, such as {"source": 1, "target": 2}`)
	}
	if len(lines) == 0 {
		return nil, noEdges("")
	}
	cursor := newJSONCursor(lines[0])
	titles := cursor.titles()
	if bad := cursor.bad; bad != nil {
		return nil, bad.onLine(first, max(bad.column, 1))
	}
	if len(titles) < 2 {
		return nil, wrong(Counted(len(titles), "member")+": "+quote(lines[0]),
			`2 or more, such as {"source": 1, "target": 2}`).onLine(first, 1)
	}
	c, err := o.titled("lines of JSON", titles)
	if err != nil {
		return nil, err
	}
	j := &jsonLines{c}
	c.named = o.IDs == "name" || o.IDs == "" && slices.ContainsFunc(lines, j.hasName)
	return j, nil
}

// headLines returns the first lines of a text that are not empty, and the number of the first of
// them. all means that head is the whole text.
func headLines(head []byte, all bool) (lines [][]byte, first int) {
	for number := 1; len(head) > 0 && len(lines) < jsonHead; number++ {
		line, rest, whole := bytes.Cut(head, newline)
		if !whole && !all {
			break
		}
		if head = rest; len(trimLine(line)) == 0 {
			continue
		}
		if lines = append(lines, line); first == 0 {
			first = number
		}
	}
	return lines, first
}

// titles returns the names of an object's members.
func (c *jsonCursor) titles() (titles []string) {
	c.object(`an object, such as {"source": 1, "target": 2}`, func(name []byte, _ int) {
		titles = append(titles, string(name))
		c.skip(0)
	})
	return titles
}

// hasName reports whether an end in a line is not a whole number, or has leading zeros.
func (j *jsonLines) hasName(line []byte) bool {
	c := newJSONCursor(line)
	fields := j.fields(&c)
	if c.bad != nil {
		return false // it is reported when the line is read
	}
	return slices.ContainsFunc(fields[:2], func(f jsonField) bool {
		return len(f.text) == 0 || countDigits(f.text) != len(f.text) || leadingZero(f.text)
	})
}

// jsonField is a string or a number.
type jsonField struct {
	text   []byte
	column int // where it begins in the line, after blanks, from 1; 0 if it is missing
	number bool
}

// fields returns the members of a line's object that are read.
func (j *jsonLines) fields(c *jsonCursor) (fields [3]jsonField) {
	c.object("an object, which begins with {", func(name []byte, column int) {
		switch at := j.member(name); {
		case at < 0:
			c.skip(0)
		case fields[at].column > 0:
			c.fail(wrong("two members "+quote(name), "one").inColumn(column))
		default:
			fields[at] = c.field(at)
		}
	})
	for i, at := range j.at {
		if at >= 0 && fields[i].column == 0 {
			c.fail(wrong("no member "+strconv.Quote(j.titles[at])+": "+quote(c.all),
				"one, as in the first line").inColumn(len(c.all) + 1))
		}
	}
	c.end()
	return fields
}

// member returns the index of the member with a name, or -1 if it is not read.
func (j *jsonLines) member(name []byte) int {
	return slices.IndexFunc(j.at[:],
		func(at int) bool { return at >= 0 && string(name) == j.titles[at] })
}

// field reads a string or a number: source, target or weight.
func (c *jsonCursor) field(at int) (f jsonField) {
	c.space()
	f.column = c.column()
	if c.next() == '"' {
		f.text = c.string()
		return f
	}
	expected := "a vertex: a number or a string"
	if at == 2 {
		expected = "a weight: a number"
	}
	f.text, f.number = c.number(expected), true
	return f
}

// line reads the object of a line.
func (j *jsonLines) line(p *parser, line []byte) *fault {
	c := newJSONCursor(line)
	if len(c.text) == 0 {
		return nil
	}
	fields := j.fields(&c)
	if c.bad != nil {
		return c.bad
	}
	for i, f := range fields[:2] {
		if p.named != nil && f.number && bytes.ContainsAny(f.text, ".eE") {
			return wrong(fmt.Sprintf("the number %s in %q", quote(f.text), j.titles[j.at[i]]),
				"a vertex: a whole number or a string").inColumn(f.column)
		}
	}
	texts := [3][]byte{fields[0].text, fields[1].text, fields[2].text}
	if i, bad := p.keep(&texts); bad != nil {
		bad.found += " in " + strconv.Quote(j.titles[j.at[i]])
		return bad.inColumn(fields[i].column)
	}
	return nil
}

package graphio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
)

// jsonLines reads objects, one a line, each an edge: its source, its target and, if columns is 3,
// its weight, by the names of members. Others are not looked at.
type jsonLines struct {
	members [3]string
	columns int
}

// jsonHead is how many of the first lines are looked at to tell what they mean.
const jsonHead = 100

// readJSONLines reads lines of JSON. Its vertices are the ids, or the names, that occur.
func (r *reader) readJSONLines(ctx context.Context, f *file) (*edges.RankInput, error) {
	j, named, said, err := r.Columns.members(f.head(), f.headIsAll())
	if err != nil {
		return nil, inFile(err, f.path)
	}
	g := r.tableGrammar(j.columns == 3, named)
	g.own = j
	return r.readNamed(ctx, start{}, g, &parsed{f: f, what: said, directed: true}, nil)
}

// members tells from the first lines which members of their objects are what, and whether ids are
// names, and says it.
func (o *Columns) members(head []byte, all bool) (_ *jsonLines, named bool, said string, err error) {
	head, bad := cutBOM(head)
	if bad != nil {
		bad.line = 1
		return nil, false, "", bad
	}
	if o.Header != nil || o.Delimiter != "" {
		return nil, false, "", wrong("--header or --delimiter",
			"neither: lines of JSON have names and no delimiter")
	}
	lines := headLines(head, all)
	if len(lines) == 0 && !all {
		return nil, false, "", firstLineFault("no whole line in the first 64 KiB", `a shorter first line, such as {"source": 1, "target": 2}`)
	}
	if len(lines) == 0 {
		return nil, false, "", noEdges("")
	}
	c := &csvGrammar{at: [3]int{-1, -1, -1}}
	cursor := newJSONCursor(lines[0].text)
	if c.titles, bad = cursor.titles(); bad != nil {
		bad.line, bad.column = lines[0].number, max(bad.column, 1)
		return nil, false, "", bad
	}
	c.columns = len(c.titles)
	if c.columns < 2 {
		return nil, false, "", wrong(counted(c.columns, "member")+": "+quote(lines[0].text),
			`2 or more, such as {"source": 1, "target": 2}`).onLine(lines[0].number, 1)
	}
	if err := o.choose(c, true, nil); err != nil {
		return nil, false, "", err
	}
	j := &jsonLines{columns: 2}
	for i, at := range c.at {
		if at >= 0 {
			j.members[i] = c.titles[at]
		}
	}
	if c.at[2] >= 0 {
		j.columns = 3
	}
	named = o.IDs == "name" || o.IDs == "" && slices.ContainsFunc(lines, j.named)
	return j, named, c.say(JSONLines, true), nil
}

// numberedLine is a line and its number.
type numberedLine struct {
	text   []byte
	number int
}

// headLines are the first lines of a text that are not empty. all says that the text is whole.
func headLines(head []byte, all bool) []numberedLine {
	var lines []numberedLine
	for number := 1; len(head) > 0 && len(lines) < jsonHead; number++ {
		line, rest, whole := bytes.Cut(head, newline)
		if !whole && !all {
			break
		}
		head = rest
		if len(trimLine(line)) > 0 {
			lines = append(lines, numberedLine{line, number})
		}
	}
	return lines
}

// titles returns the names of the members of an object.
func (c *jsonCursor) titles() ([]string, *fault) {
	if !c.take('{') {
		return nil, c.bad(`an object, such as {"source": 1, "target": 2}`)
	}
	var titles []string
	for first := true; ; first = false {
		more, bad := c.list('}', first)
		if bad != nil || !more {
			return titles, bad
		}
		name, bad := c.key()
		if bad == nil {
			bad = c.skip(0)
		}
		if bad != nil {
			return nil, bad
		}
		titles = append(titles, string(name))
	}
}

// named reports whether a line has an end that is no whole number.
func (j *jsonLines) named(line numberedLine) bool {
	fields, bad := j.fields(newJSONCursor(line.text))
	if bad != nil {
		return false // it is said when it is read
	}
	for _, f := range fields[:2] {
		if len(f.text) == 0 || countDigits(f.text) != len(f.text) || leadingZero(f.text) {
			return true
		}
	}
	return false
}

// jsonField is a string or a number.
type jsonField struct {
	text   []byte
	column int // where it begins in the line, without the blanks before that
	there  bool
	number bool
}

// fields returns the members of the object of a line that are read.
func (j *jsonLines) fields(c jsonCursor) (fields [3]jsonField, bad *fault) {
	if !c.take('{') {
		return fields, c.bad("an object, which begins with {")
	}
	for first := true; ; first = false {
		more, bad := c.list('}', first)
		if bad != nil {
			return fields, bad
		}
		if !more {
			break
		}
		c.space()
		column := c.column()
		name, bad := c.key()
		if bad != nil {
			return fields, bad
		}
		at := j.member(name)
		if at < 0 {
			if bad := c.skip(0); bad != nil {
				return fields, bad
			}
			continue
		}
		if fields[at].there {
			return fields, wrong("two members "+quote(name), "one").inColumn(column)
		}
		if fields[at], bad = c.field(at); bad != nil {
			return fields, bad
		}
	}
	for i := range fields[:j.columns] {
		if !fields[i].there {
			return fields, wrong("no member "+strconv.Quote(j.members[i])+": "+quote(c.all),
				"one, as in the first line").inColumn(len(c.all) + 1)
		}
	}
	return fields, c.end()
}

// member returns which of the members that are read has a name, or -1.
func (j *jsonLines) member(name []byte) int {
	for i, member := range j.members[:j.columns] {
		if string(name) == member {
			return i
		}
	}
	return -1
}

// field reads a string or a number: the source, the target or the weight.
func (c *jsonCursor) field(at int) (f jsonField, bad *fault) {
	f.there = true
	c.space()
	f.column = c.column()
	if c.next() == '"' {
		f.text, bad = c.string()
		return f, bad
	}
	f.number = true
	if f.text, bad = c.number(); bad != nil {
		bad.expected = [...]string{"a vertex: a number or a string", "a vertex: a number or a string", "a weight: a number"}[at]
	}
	return f, bad
}

// line reads the object of a line.
func (j *jsonLines) line(p *parser, line []byte) *fault {
	c := newJSONCursor(line)
	if len(c.text) == 0 {
		return nil
	}
	fields, bad := j.fields(c)
	if bad != nil {
		return bad
	}
	for i, f := range fields[:2] {
		if p.named != nil && f.number && bytes.ContainsAny(f.text, ".eE") {
			return wrong(fmt.Sprintf("the number %s in %q", quote(f.text), j.members[i]),
				"a vertex: a whole number or a string").inColumn(f.column)
		}
	}
	texts := [3][]byte{fields[0].text, fields[1].text, fields[2].text}
	if i, bad := p.keep(&texts); bad != nil {
		bad.found += " in " + strconv.Quote(j.members[i])
		return bad.inColumn(fields[i].column)
	}
	return nil
}

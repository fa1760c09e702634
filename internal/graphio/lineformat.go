package graphio

import "bytes"

// lineFormat reads the lines of a format that is not columns separated by blanks: objects, lists,
// or lines that begin with letters. It is called once per line. The call costs little compared with
// reading the line.
type lineFormat interface {
	// line reads a line, without its newline and carriage return, into the columns of p. It may
	// modify the line's bytes.
	line(p *parser, line []byte) *fault
}

// parseOwn is parse for formats with a lineFormat.
func (p *parser) parseOwn(data []byte) {
	p.names.Reset()
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line := bytes.TrimSuffix(data[:end], carriage)
		data = data[end+1:]
		p.lines++
		if bad := p.whole(line); bad != nil && !p.leave(bad) {
			return
		}
	}
	if p.named != nil {
		p.ids = p.named.Take(&p.names, p.ids)
	}
}

// ownLine reads a line in such a format.
func (p *parser) ownLine(line []byte) *fault {
	if bad := checkLine(line); bad != nil {
		return bad
	}
	return p.own.line(p, line)
}

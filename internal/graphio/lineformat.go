package graphio

import "bytes"

// lineFormat reads the lines of a format that is not columns between blanks: objects, lists, lines
// with letters in front. It is called once a line, which costs little beside reading one.
type lineFormat interface {
	// line reads a line, without its newline and carriage return, into the columns of p. It may
	// change the bytes of the line.
	line(p *parser, line []byte) *fault
}

// parseOwn is parse of a format that reads its lines itself.
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

// ownLine reads a line of such a format.
func (p *parser) ownLine(line []byte) *fault {
	if bad := checkLine(line); bad != nil {
		return bad
	}
	return p.own.line(p, line)
}

package graphio

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// lineReader reads lines one by one: headers, small files, and the line of a fault that was found
// after parsing.
type lineReader struct {
	r      *bufio.Reader
	line   int   // number of the last line read, from 1
	offset int64 // bytes read
	long   []byte
}

// next returns the next line without its newline, or io.EOF. The line is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.long = l.long[:0]
		for err == bufio.ErrBufferFull && len(l.long) <= maxLine {
			l.long = append(l.long, line...)
			line, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	l.offset += int64(len(line))
	if len(line) == 0 && err != nil {
		return nil, err
	}
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, err
	}
	l.line++
	if line[len(line)-1] == '\n' {
		line = line[:len(line)-1]
	}
	if l.line == 1 {
		text, f := cutBOM(line)
		if f != nil {
			return nil, l.at(f)
		}
		line = text
	}
	if f := checkLine(line); f != nil {
		return nil, l.at(f)
	}
	return line, nil
}

// at sets a fault's line to the number of the last line read. A fault without a column gets column
// 1.
func (l *lineReader) at(f *fault) error {
	f.line, f.column = l.line, max(f.column, 1)
	return f
}

// eachLine parses the lines of a file from a start again, one after the other. It calls each with
// the offset, number and content of every line until each returns false.
func (r *reader) eachLine(f *file, g grammar, from start, each func(at int64, line int, text []byte, p *parser) bool) error {
	f.restart()
	l := lineReader{r: f.content}
	p := parser{grammar: g}
	for rows := 0; ; rows += p.rows {
		at := l.offset
		text, err := l.next()
		if err != nil {
			return endOfLists(err)
		}
		if at < from.offset {
			continue
		}
		p.reset()
		p.first = rows
		switch bad := p.whole(text); {
		case bad != nil && r.SkipBad == 0:
			return inFile(l.at(bad), f.path)
		case bad == nil && !each(at, l.line, text, &p):
			return nil
		}
	}
}

// lineOf returns a function that locates the fault of vertex id and returns it. The vertex is in
// the k-th tuple of the lines at offset from or later or, if listed, in the k-th list. The function
// reads the file again to find the line.
func (r *reader) lineOf(f *file, g grammar, from int64, listed bool, what, expected string) func(ctx context.Context, k int, id uint64) error {
	return func(ctx context.Context, k int, id uint64) error {
		bad := f.fault(fmt.Sprintf("vertex %d%s", id, what), expected)
		return r.again(ctx, f, bad, func(f *file) error {
			if err := r.eachLine(f, g, start{}, func(at int64, line int, text []byte, p *parser) bool {
				n := len(p.ids) / min(g.columns, 2)
				if listed {
					n = len(p.listed)
				}
				if at < from {
					return true
				}
				if k < n {
					bad.line, bad.column = line, columnOf(text, id)
				}
				k -= n
				return bad.line == 0
			}); err != nil {
				return err
			}
			if bad.line == 0 {
				return f.changed("fewer lines")
			}
			return bad
		})
	}
}

// again opens the file again and returns the result of look. If the file cannot be read twice, it
// returns bad.
func (r *reader) again(ctx context.Context, f *file, bad error, look func(*file) error) error {
	if !f.regular {
		return bad
	}
	f, err := r.open(ctx, f.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return look(f)
}

// columnOf returns the column of an id in a line, or 1.
func columnOf(line []byte, id uint64) int {
	for rest := trimLine(line); len(rest) > 0; {
		var field []byte
		field, rest = cutField(rest)
		if x, bad := wholeNumber(field); bad == nil && x == id {
			return offsetIn(line, field) + 1
		}
	}
	return 1
}

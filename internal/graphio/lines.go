package graphio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
)

// lineReader reads lines one by one: headers, small files, and the line of a fault that was found
// after parsing.
type lineReader struct {
	r      *bufio.Reader
	line   int   // number of the last line read, from 1
	offset int64 // of the next line in the content
	text   []byte
}

// lineReader returns a reader of the lines of the text.
func (f *file) lineReader() *lineReader { return &lineReader{r: f.content, offset: f.bom} }

// next returns the next line without its newline, or io.EOF. The line is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	l.text = l.text[:0]
	err := bufio.ErrBufferFull
	for err == bufio.ErrBufferFull && len(l.text) <= maxLine {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		l.text = append(l.text, part...)
	}
	if err != nil && err != bufio.ErrBufferFull && (err != io.EOF || len(l.text) == 0) {
		return nil, err
	}
	l.offset += int64(len(l.text))
	l.line++
	line := bytes.TrimSuffix(l.text, newline)
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

// eachRecord calls each for the lines of a file, or the records of a table, in order, beginning at
// from. each gets the data from the line or record on, with its offset and line number. It returns
// the data after the line or record. io.EOF from each ends eachRecord without an error.
func (f *file) eachRecord(ctx context.Context, c *csvGrammar, from start,
	each func(data []byte, at int64, line int) (rest []byte, err error),
) error {
	if err := f.skip(from); err != nil {
		return err
	}
	src := f.stream(from.offset, pieceSize, c)
	var p piece
	for line := from.lines + 1; ; {
		if err := src.next(ctx, &p); err != nil {
			return endOfLists(err)
		}
		data := p.data
		for len(data) > 0 && ctx.Err() == nil {
			rest, err := each(data, p.at+int64(len(p.data)-len(data)), line)
			if err != nil {
				return endOfLists(err)
			}
			line += bytes.Count(data[:len(data)-len(rest)], newline)
			data = rest
		}
	}
}

// again opens a file once more and parses it. It calls each for every line, or record of a table,
// with the parsed values, the offset, the line number and the text. It ends when each returns
// false.
func (r *reader) again(
	ctx context.Context, x textFile,
	each func(p *parser, at int64, line int, text []byte) bool,
) error {
	f, err := r.open(ctx, x.f.path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, rows := parser{grammar: x.grammar}, 0
	return f.eachRecord(ctx, x.csv, x.from, func(data []byte, at int64, line int) ([]byte, error) {
		p.reset()
		p.first = rows
		text, rest, bad := p.record(data)
		rows += p.lines - p.comments
		switch {
		case bad != nil && r.SkipBad == 0:
			bad.line += line - 1
			return nil, inFile(bad, f.path)
		case bad == nil && !each(&p, at, line, text):
			return nil, io.EOF
		}
		return rest, nil
	})
}

// lineOf returns a function that makes the error about vertex id in the k-th tuple; in a table of
// vertices it is the k-th vertex, and if listed is set, the vertex of the k-th list. Only lines
// that begin at offset first or later count. The function reads the file again to find the line,
// unless it is a pipe.
func (r *reader) lineOf(
	x textFile, first int64, listed bool, what, expected string,
) func(ctx context.Context, k int, id uint64) error {
	return func(ctx context.Context, k int, id uint64) error {
		bad := x.f.fault(fmt.Sprintf("vertex %d%s", id, what), expected)
		if x.named != nil {
			bad.found = "a vertex twice"
		}
		if !x.f.regular {
			return bad
		}
		err := r.again(ctx, x, func(p *parser, at int64, line int, text []byte) bool {
			n := (len(p.ids) + p.names.Len()) / min(x.columns, 2)
			if listed {
				n = len(p.listed)
			}
			if at < first {
				return true
			}
			switch {
			case k >= n:
			case x.csv == nil:
				bad.line, bad.column = line, columnOf(text, id)
			default:
				bad.line, bad.column = placeOf(p.cut.starts[x.csv.at[0]], text, line)
				if x.named != nil {
					bad.found = "vertex " + quote(p.cut.all[x.csv.at[0]]) + what
				}
			}
			k -= n
			return bad.line == 0
		})
		if err == nil && bad.line == 0 {
			err = x.f.changed("fewer lines")
		}
		return cmp.Or(err, error(bad))
	}
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

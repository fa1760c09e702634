package graphio

import (
	"bufio"
	"io"
	"strings"
)

// lineReader reads lines one by one: headers, small files, and the way to a fault that showed after
// parsing.
type lineReader struct {
	r      *bufio.Reader
	line   int   // number of the last line read, from 1
	offset int64 // bytes read
	long   []byte
}

// next returns the next line without its newline, or io.EOF. The line holds until the next call.
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

// at gives a fault the number of the last line read. Without a column it is at the beginning of the
// line.
func (l *lineReader) at(f *fault) error {
	f.line, f.column = l.line, max(f.column, 1)
	return f
}

// lineOf returns the line of the k-th line of data, from 0, of those that begin at offset from or
// after it, in a file whose comments begin with one of marks, and where in it one of the first two
// columns is an id.
func lineOf(f *file, from int64, k int, marks string, id uint64) (number, column int, err error) {
	f.restart()
	l := lineReader{r: f.content}
	for {
		at := l.offset
		line, err := l.next()
		if err == io.EOF {
			return 0, 0, f.changed("fewer lines")
		}
		if err != nil {
			return 0, 0, err
		}
		text := trimLine(line)
		if at < from || len(text) == 0 || strings.IndexByte(marks, text[0]) >= 0 {
			continue
		}
		if k == 0 {
			for i := range 2 {
				field := fieldAt(line, i)
				if x, bad := wholeNumber(field); bad == nil && x == id && column == 0 {
					column = offsetIn(line, field) + 1
				}
			}
			return l.line, max(column, 1), nil
		}
		k--
	}
}

package master

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line of a result, an id and a value: workers write no longer ones.
const maxLine = 1 << 20

// lines is a part of a result as it is merged.
type lines struct {
	in   *bufio.Reader
	part int
	line []byte
	id   uint64 // that line begins with
}

// next reads a line; io.EOF says that there is none.
func (l *lines) next() error {
	l.line = l.line[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		l.line = append(l.line, piece...)
		switch {
		case len(l.line) > maxLine:
			return fmt.Errorf("part %d has a line of more than %d bytes", l.part, maxLine)
		case err == nil:
			return l.number()
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return fmt.Errorf("part %d ends within a line", l.part)
		default:
			return err
		}
	}
}

// number reads the id.
func (l *lines) number() error {
	l.id = 0
	i := 0
	for ; i < len(l.line) && '0' <= l.line[i] && l.line[i] <= '9'; i++ {
		l.id = 10*l.id + uint64(l.line[i]-'0')
	}
	if i == 0 || l.line[i] != ' ' {
		return fmt.Errorf("part %d: found the line %.80q, expected an id and a value", l.part, l.line)
	}
	return nil
}

// front is a heap of parts by the ids of their next lines.
type front []*lines

func (f front) Len() int           { return len(f) }
func (f front) Less(i, j int) bool { return f[i].id < f[j].id }
func (f front) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *front) Push(x any)        { *f = append(*f, x.(*lines)) }
func (f *front) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// mergeLines writes the lines of parts that are sorted by rising id, in the order of all.
func mergeLines(w io.Writer, parts []io.Reader) error {
	var f front
	for i, p := range parts {
		l := &lines{in: bufio.NewReaderSize(p, 64<<10), part: i}
		switch err := l.next(); {
		case err == nil:
			f = append(f, l)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&f)
	for len(f) > 0 {
		l := f[0]
		if _, err := w.Write(l.line); err != nil {
			return err
		}
		was := l.id
		switch err := l.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&f)
		case err != nil:
			return err
		case l.id < was:
			return fmt.Errorf("part %d is not sorted: %d follows %d", l.part, l.id, was)
		default:
			heap.Fix(&f, 0)
		}
	}
	return nil
}

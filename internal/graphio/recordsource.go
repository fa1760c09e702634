package graphio

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// lines is part of lines or, of a table, records.
func (f *file) lines(from int64, size int, rank, ranks int, c *csvGrammar) source {
	src := f.part(from, size, false, rank, ranks)
	if c == nil {
		return src
	}
	switch s := src.(type) {
	case *fileSource:
		return &recordSource{f: f, csv: c, from: from, lo: s.lo, hi: s.hi, size: size, window: int64(min(size, 16<<10)), at: -1}
	case *streamSource:
		s.csv = c
	}
	return src
}

// recordSource reads pieces of a plain file that is a table, those records that begin in [lo, hi). A line break may be within quotes, and what is
// within is known from the beginning of the record alone: one goroutine at a time reads and cuts, which takes little, while the others parse.
type recordSource struct {
	f            *file
	csv          *csvGrammar
	from, lo, hi int64
	size         int
	window       int64 // how much before lo is looked at first

	mu    sync.Mutex
	index int
	first int64 // where the first record begins
	at    int64 // where the next piece begins; -1 before the first one
}

func (s *recordSource) span() edges.Span { return edges.Span{From: s.lo, To: s.hi, Size: s.f.size()} }

// before counts the lines before the first record.
func (s *recordSource) before() (int, error) {
	lines := 0
	buf := make([]byte, pieceSize)
	for at := s.from; at < s.first; at += int64(len(buf)) {
		buf = buf[:min(int64(cap(buf)), s.first-at)]
		if err := s.f.readAt(buf, at); err != nil {
			return 0, err
		}
		lines += bytes.Count(buf, newline)
	}
	return lines, nil
}

func (s *recordSource) next(ctx context.Context, p *piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.index = s.index
	if s.at < 0 {
		first, err := s.sync()
		if err != nil {
			s.index, s.at = s.index+1, s.f.size()
			return err
		}
		s.first, s.at = first, first
	}
	if s.at >= s.hi {
		return io.EOF
	}
	s.index++
	err := ctx.Err()
	if err == nil {
		err = s.read(p)
	}
	if err != nil {
		s.at = s.hi
	}
	return err
}

// read reads the next piece: the records that are complete in so many bytes, or one that is longer. The last of a part may end after it.
func (s *recordSource) read(p *piece) error {
	p.at, p.data = s.at, p.buf[:0]
	for want := int64(s.size); ; want += int64(s.size) {
		end := min(s.at+want, s.f.size())
		old := len(p.data)
		p.data = append(p.data, make([]byte, end-s.at-int64(old))...)
		p.buf = p.data
		if err := s.f.readAt(p.data[old:], s.at+int64(old)); err != nil {
			return err
		}
		skip := 0
		if s.at == 0 {
			skip = len(p.data) - len(bytes.TrimPrefix(p.data, utf8BOM))
		}
		cut := 0
		if over := s.hi - s.at; int64(len(p.data)) > over {
			cut = s.endAfter(p.data, skip, int(over))
		} else if cut = s.csv.lastEnd(p.data[skip:]); cut > 0 {
			cut += skip
		}
		if cut == 0 && (end == s.f.size() || len(p.data) > maxLine+s.size) {
			cut = len(p.data)
		}
		if cut > 0 {
			p.data = p.data[:cut]
			s.f.progress.add(min(int64(cut), s.hi-s.at))
			s.at += int64(cut)
			p.data = endLine(p.data)
			return nil
		}
	}
}

// endAfter returns where the first record begins that does so at data[over:] or later, 0 if data does not tell.
func (s *recordSource) endAfter(data []byte, at, over int) int {
	for at < over {
		end := s.csv.recordEnd(data, at)
		if end < 0 {
			return 0
		}
		at = end + 1
	}
	return at
}

// sync returns where the first record begins that does so at lo or later. Whether lo is within quotes is told by the lines before it: read as if
// they began within, and as if not, both soon agree on where a record begins, and from there on on all. They may not where there are no quotes: but
// then quotes that go on to lo would be those of a record that is too long, which is an error of an earlier part.
func (s *recordSource) sync() (int64, error) {
	if s.lo <= s.from {
		return s.lo, nil
	}
	for back, ahead := s.window, s.window; ; {
		base := max(s.lo-back, s.from)
		end := min(s.lo+ahead, s.f.size())
		data := make([]byte, end-base)
		if err := s.f.readAt(data, base); err != nil {
			return 0, err
		}
		whole := end == s.f.size()
		if whole {
			data = endLine(data)
		}
		first := 0
		if base > s.from {
			first = bytes.IndexByte(data, '\n') + 1
		} else if base == 0 {
			first = len(data) - len(bytes.TrimPrefix(data, utf8BOM))
		}
		outside := append([]int{0}, s.csv.starts(data[first:], false)...)
		from := 0 // where it is certain that a record begins
		if base > s.from {
			from = agreed(outside, s.csv.starts(data[first:], true))
			if from < 0 && s.lo-base > 2*maxLine && bytes.IndexByte(data[:s.lo-base], '"') < 0 {
				from = 0
			}
		}
		if from >= 0 && base+int64(first+from) <= s.lo {
			for _, at := range outside {
				if at >= from && base+int64(first+at) >= s.lo {
					return min(base+int64(first+at), s.f.size()), nil
				}
			}
			if whole || ahead > 2*maxLine { // a record that does not end, or too late
				return s.f.size(), nil
			}
			ahead *= 8
			continue
		}
		back *= 8
	}
}

// agreed returns the first number that two rising lists both have, or -1.
func agreed(a, b []int) int {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			return a[0]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return -1
}

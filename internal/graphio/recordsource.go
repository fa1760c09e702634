package graphio

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// recordSource reads pieces of a plain file that is a table, those records that begin in [lo, end).
// A line break may be within quotes, and what is within is known from the beginning of the record
// alone: one goroutine at a time reads and cuts, which takes little, while the others parse.
type recordSource struct {
	*streamSource
	from, lo int64
	window   int64 // how much before lo is looked at first
	synced   sync.Once
	failed   error
}

func (s *recordSource) span() edges.Span { return edges.Span{From: s.lo, To: s.end, Size: s.f.size()} }

// before counts the lines before the first record.
func (s *recordSource) before() (int, error) { return s.f.newlines(s.from, s.first) }

func (s *recordSource) next(ctx context.Context, p *piece) error {
	s.synced.Do(func() {
		s.first, s.failed = s.sync()
		s.offset = s.first
		s.content = io.NewSectionReader(s.f.f, s.first, s.f.size()-s.first)
	})
	if s.failed != nil {
		p.index = 0
		return s.failed
	}
	return s.streamSource.next(ctx, p)
}

// sync returns where the first record begins that does so at lo or later. Whether lo is within
// quotes is told by the lines before it: read as if they began within, and as if not, both soon
// agree on where a record begins, and from there on on all. They may not where there are no quotes:
// but then quotes that go on to lo would be those of a record that is too long, which is an error
// of an earlier part.
func (s *recordSource) sync() (int64, error) {
	if s.lo <= s.from {
		return s.lo, nil
	}
	for window := s.window; ; window *= 8 {
		base, end := max(s.lo-window, s.from), min(s.lo+window, s.f.size())
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
			if first = len(data) - len(bytes.TrimPrefix(data, utf8BOM)); s.lo < int64(first) {
				return int64(first), nil
			}
		}
		outside := slices.AppendSeq([]int{0}, s.csv.ends(data[first:], 0))
		from := 0 // where it is certain that a record begins
		if base > s.from {
			if from = s.agreed(outside, data[first:]); from < 0 && s.lo-base > 2*maxLine && bytes.IndexByte(data[:s.lo-base], '"') < 0 {
				from = 0
			}
		}
		if from < 0 || base+int64(first+from) > s.lo {
			continue
		}
		for _, at := range outside {
			if at >= from && base+int64(first+at) >= s.lo {
				return min(base+int64(first+at), s.f.size()), nil
			}
		}
		if whole || window > 2*maxLine { // a record that does not end, or too late
			return s.f.size(), nil
		}
	}
}

// agreed returns the first place where a record begins also if data begin within quotes, or -1.
// outside are the places where one does else.
func (s *recordSource) agreed(outside []int, data []byte) int {
	end := closing(data, 0) + 1
	if end == 0 {
		return -1
	}
	for at := range s.csv.ends(data, end) {
		if _, both := slices.BinarySearch(outside, at); both {
			return at
		}
	}
	return -1
}

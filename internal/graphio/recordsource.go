package graphio

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// recordSource reads pieces of a plain file that is a table: the records that begin in [lo, end). A
// line break may be within quotes, and only the beginning of the record tells whether it is. So one
// goroutine at a time reads and cuts, which takes little time, while the others parse.
type recordSource struct {
	*streamSource
	from, lo int64
	window   int64 // how far before lo the first search begins
	synced   sync.Once
	failed   error
}

func (s *recordSource) span() edges.Span { return edges.Span{From: s.lo, To: s.end, Size: s.f.size()} }

// before returns the number of lines before the first record.
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

// sync returns the beginning of the first record that begins at lo or later. The text before lo
// tells whether lo is within quotes. sync reads it twice: as if it began outside quotes, and as if
// it began within. Soon both find the same beginning of a record, and agree from there on. Without
// quotes in the text they may never agree. But then quotes that reach lo would make a record that
// is too long, and an earlier part reports that.
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
		from := 0 // a record certainly begins here
		if base > s.from {
			if from = s.agreed(outside, data[first:]); from < 0 && s.lo-base > 2*maxLine &&
				bytes.IndexByte(data[:s.lo-base], '"') < 0 {
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
		if whole || window > 2*maxLine { // the record does not end, or is too long
			return s.f.size(), nil
		}
	}
}

// agreed returns the first beginning of a record that is found even if data begins within quotes,
// or -1. outside has the beginnings that are found if data begins outside quotes.
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

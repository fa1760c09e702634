package graphio

import (
	"bytes"
	"context"
	"io"
	"math"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// piece is a sequence of whole lines or records of an input. Pieces are numbered in the order of
// the input.
type piece struct {
	index int
	at    int64  // offset of data[0] in the content
	data  []byte // whole lines end with a newline, which is added to the file's last line
	buf   []byte // memory of data, which is reused
	first int    // number of data lines before this piece, if the source counts them
}

// source cuts an input into pieces. Several goroutines may call next at the same time, each with
// its own piece. Indices are assigned in order, also to failed calls. After the last piece next
// returns io.EOF.
type source interface {
	next(ctx context.Context, p *piece) error
	// span returns the range of the content that the pieces cover, after the last piece.
	span() edges.Span
	// before returns the number of lines that begin before that range.
	before() (int, error)
}

// source returns the content of f in pieces of about size bytes. Pieces are whole lines, or records
// whose length divides size. They begin at offset from. If f is not a plain regular file, from must
// be the current position.
func (f *file) source(from int64, size int, records bool) source {
	return f.part(from, size, records, 0, 1)
}

// part is like source, for one of several parts of about the same size. A plain file is cut by its
// bytes, another file by its compressed bytes.
func (f *file) part(from int64, size int, records bool, rank, ranks int) source {
	if f.regular && f.codec == plain {
		f.uncount()
		lo, hi := edges.Part(int(max(f.size()-from, 0)), rank, ranks)
		return &fileSource{f: f, from: from, lo: from + int64(lo), hi: from + int64(hi), size: int64(size), records: records}
	}
	return &streamSource{f: f, offset: from, size: size, records: records, rank: rank, ranks: ranks, first: -1, end: math.MaxInt64}
}

// fileSource reads pieces of a plain file by offset, so workers read in parallel. It does not map
// the file into memory: if a mapped file shrinks, the process is killed.
type fileSource struct {
	f       *file
	from    int64 // beginning of the first part
	lo, hi  int64 // range of this part
	size    int64
	records bool

	mu    sync.Mutex
	index int
}

func (s *fileSource) next(ctx context.Context, p *piece) error {
	s.mu.Lock()
	p.index = s.index
	lo := s.lo + int64(p.index)*s.size
	end := s.hi
	if lo >= end {
		s.mu.Unlock()
		return io.EOF
	}
	s.index++
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	hi := min(lo+s.size, end)
	err := s.read(p, lo, hi)
	s.f.progress.add(hi - lo)
	return err
}

func (s *fileSource) read(p *piece, lo, hi int64) error {
	p.at = lo
	if s.records {
		p.buf = grow(p.buf, int(hi-lo))
		p.data = p.buf
		return s.f.readAt(p.data, lo)
	}
	// A piece has the lines that begin in [lo, hi). The byte before lo tells whether a line begins
	// at lo.
	skip := int64(0)
	if lo > s.from {
		skip = 1
	}
	p.buf = grow(p.buf, int(hi-lo+skip))
	if err := s.f.readAt(p.buf, lo-skip); err != nil {
		return err
	}
	p.data = p.buf
	if skip > 0 {
		first := bytes.IndexByte(p.data[:len(p.data)-1], '\n')
		if first < 0 {
			p.data = nil // the piece is inside a line that began earlier
			return nil
		}
		p.data = p.data[first+1:]
		p.at += int64(first)
	}
	return s.finish(p, hi)
}

func (s *fileSource) span() edges.Span { return edges.Span{From: s.lo, To: s.hi, Size: s.f.size()} }

// before returns the number of lines that begin between from and lo.
func (s *fileSource) before() (int, error) {
	if s.lo == s.from {
		return 0, nil
	}
	lines, err := s.f.newlines(s.from, s.lo-1)
	return lines + 1, err
}

// newlines counts the newlines in a range of a plain file.
func (f *file) newlines(from, to int64) (n int, err error) {
	buf := make([]byte, pieceSize)
	for at := from; at < to; at += int64(len(buf)) {
		buf = buf[:min(int64(cap(buf)), to-at)]
		if err := f.readAt(buf, at); err != nil {
			return 0, err
		}
		n += bytes.Count(buf, newline)
	}
	return n, nil
}

var newline = []byte{'\n'}

// finish completes the last line of p, which continues after hi. A line that is too long stays
// incomplete, and the parser refuses it.
func (s *fileSource) finish(p *piece, hi int64) error {
	const step = 4 << 10
	last := len(p.data) - bytes.LastIndexByte(p.data, '\n') - 1
	for p.data[len(p.data)-1] != '\n' && last <= maxLine {
		n := min(step, s.f.size()-hi)
		if n == 0 {
			p.data = append(p.data, '\n')
			break
		}
		old := len(p.data)
		p.data = append(p.data, make([]byte, n)...)
		if err := s.f.readAt(p.data[old:], hi); err != nil {
			return err
		}
		hi += n
		last += int(n)
		if end := bytes.IndexByte(p.data[old:], '\n'); end >= 0 {
			p.data = p.data[:old+end+1]
		}
	}
	p.data = endLine(p.data)
	return nil
}

// streamSource reads pieces of a stream. One goroutine at a time reads, while the others parse. A
// piece belongs to the part that contains the position in the compressed file at which reading the
// piece begins. To read a part, a rank decodes all parts before it, too.
type streamSource struct {
	f           *file
	content     io.Reader // f.content, or a reader of a plain file; nil before the first piece
	end         int64     // pieces begin before this offset
	size        int
	records     bool
	csv         *csvGrammar // of a table, whose pieces are whole records
	rank, ranks int

	mu      sync.Mutex
	offset  int64
	index   int
	rest    []byte // beginning of the next piece
	done    bool
	first   int64                 // beginning of the part; -1 until it is reached
	skipped int                   // number of lines before the part
	count   func(data []byte) int // counts the data lines of a piece; may be nil
	counted int                   // data lines of all pieces so far
}

func (s *streamSource) next(ctx context.Context, p *piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.index = s.index
	for !s.done {
		owner := s.owner()
		if owner > s.rank {
			s.done = true
			break
		}
		if owner == s.rank && s.first < 0 {
			s.first = s.offset
		}
		err := s.read(ctx, p)
		if p.first = s.counted; err == nil && s.count != nil {
			s.counted += s.count(p.data)
		}
		if err != nil || owner == s.rank {
			s.index++
			return err
		}
		s.skipped += bytes.Count(p.data, newline)
	}
	return io.EOF
}

// owner returns the rank whose part contains the next piece.
func (s *streamSource) owner() int {
	switch {
	case s.offset >= s.end:
		return s.ranks
	case s.ranks == 1 || s.f.size() == 0:
		return s.rank
	}
	return min(int(s.f.consumed()*int64(s.ranks)/s.f.size()), s.ranks-1)
}

func (s *streamSource) span() edges.Span {
	first := s.first
	if first < 0 {
		first = s.offset
	}
	return edges.Span{From: first, To: s.offset, Size: s.f.size()}
}

func (s *streamSource) before() (int, error) { return s.skipped, nil }

// read reads the next piece.
func (s *streamSource) read(ctx context.Context, p *piece) error {
	p.data = append(p.buf[:0], s.rest...)
	s.rest = s.rest[:0]
	for want := s.size; ; want += s.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.fill(p, want); err != nil {
			s.done = true
			return err
		}
		over := s.end - s.offset
		if over >= int64(len(p.data)) {
			over = 0
		}
		if s.done && over == 0 || s.cut(p, int(over)) || s.done {
			break
		}
	}
	p.at = s.offset
	if s.content != nil {
		s.f.progress.add(min(int64(len(p.data)), s.end-s.offset))
	}
	s.offset += int64(len(p.data))
	if !s.records && len(p.data) > 0 {
		p.data = endLine(p.data)
	}
	p.buf = p.data
	if len(p.data) == 0 {
		return io.EOF
	}
	return nil
}

// fill reads until p has want bytes, or the stream ends.
func (s *streamSource) fill(p *piece, want int) error {
	have := len(p.data)
	p.data = append(p.data, make([]byte, max(want-have, 0))...)
	from := s.content
	if from == nil {
		from = s.f.content
	}
	n, err := io.ReadFull(from, p.data[have:])
	p.data = p.data[:have+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.done = true
		return nil
	}
	return err
}

// cut moves the rest of p after its last line to the next piece. If over is not 0, it moves the
// rest after the first record that ends at over or later. It reports whether p can be parsed: it
// ends with a line, or its only line is too long, which is an error.
func (s *streamSource) cut(p *piece, over int) bool {
	if s.records {
		return true
	}
	text := p.data
	if s.offset == 0 {
		text = bytes.TrimPrefix(text, utf8BOM)
	}
	skip, end := len(p.data)-len(text), 0
	switch {
	case s.csv == nil:
		end = bytes.LastIndexByte(text, '\n') + 1
	case over > skip:
		end = s.csv.endAfter(text, over-skip)
	case over == 0:
		end = s.csv.lastEnd(text)
	}
	if end > 0 || over > 0 && over <= skip { // no record begins within a byte order mark
		end += skip
	}
	if end == 0 {
		return len(p.data) > maxLine
	}
	s.rest = append(s.rest, p.data[end:]...)
	p.data = p.data[:end]
	return true
}

// endLine adds a newline if data, which is not empty, does not end with one.
func endLine(data []byte) []byte {
	if data[len(data)-1] != '\n' {
		return append(data, '\n')
	}
	return data
}

// grow returns n bytes. It reuses buf if it is large enough.
func grow(buf []byte, n int) []byte {
	if cap(buf) < n {
		buf = make([]byte, n, n+n/8)
	}
	return buf[:n]
}

package graphio

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
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

// stream returns a source of the content of f from an offset on, where the content is now.
func (f *file) stream(from int64, size int, c *csvGrammar) *streamSource {
	from = max(from, f.bom)
	return &streamSource{
		f: f, content: f.content, from: from, offset: from, size: size, csv: c, first: -1,
		high: math.MaxInt64, end: math.MaxInt64,
	}
}

// lines returns a source of the lines of f, or of the records of a table, in pieces of about size
// bytes. It has the lines that begin in bytes [lo, hi) of the file as it is stored. The data begin
// at offset from of the content. Except in a plain regular file, from bytes have been read already.
func (f *file) lines(from int64, size int, lo, hi int64, c *csvGrammar) (_ source, err error) {
	s := f.stream(from, size, c)
	if !f.regular || f.codec != plain {
		s.low, s.high = lo, hi
		return s, nil
	}
	f.uncount()
	lo, hi = max(lo, s.from), min(max(hi, s.from), f.size())
	if c == nil {
		return &fileSource{f: f, from: s.from, lo: lo, hi: hi, size: int64(size)}, nil
	}
	// A line break may be within quotes, and only the beginning of the record tells whether it is.
	// So one goroutine at a time reads and cuts, which takes little time, while the others parse.
	s.end = hi
	s.first, err = c.firstRecord(f, s.from, lo, int64(min(size, 16<<10)))
	s.offset, s.content = s.first, io.NewSectionReader(f.f, s.first, f.size()-s.first)
	return s, err
}

// fileSource reads pieces of a plain file by offset, so workers read in parallel. It does not map
// the file into memory: if a mapped file shrinks, the process is killed.
type fileSource struct {
	f       *file
	from    int64 // beginning of the first part
	lo, hi  int64 // range of this part
	size    int64
	records bool
	taken   parallel.Counter // pieces
}

func (s *fileSource) next(ctx context.Context, p *piece) error {
	p.index = s.taken.Take(1)
	lo := s.lo + int64(p.index)*s.size
	if lo >= s.hi {
		return io.EOF
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	hi := min(lo+s.size, s.hi)
	err := s.read(p, lo, hi)
	s.f.progress.add(hi - lo)
	return err
}

// read reads the records in [lo, hi), or the lines that begin there.
func (s *fileSource) read(p *piece, lo, hi int64) error {
	if p.at = lo; s.records {
		p.buf = grow(p.buf, int(hi-lo))
		p.data = p.buf
		return s.f.readAt(p.data, lo)
	}
	from := max(lo-1, s.from) // the byte before lo tells whether a line begins at lo
	first := 0
	p.buf, p.data = p.buf[:0], nil
	// The last line continues after hi. A line that is too long stays incomplete, and the parser
	// refuses it.
	for over := int64(4 << 10); over <= 2*maxLine; over *= 8 {
		have, end := len(p.buf), min(hi+over, s.f.size())
		p.buf = slices.Grow(p.buf, int(end-from)-have)[:end-from]
		if err := s.f.readAt(p.buf[have:], from+int64(have)); err != nil {
			return err
		}
		if have == 0 && lo > s.from {
			if first = bytes.IndexByte(p.buf[:hi-1-from], '\n') + 1; first == 0 {
				return nil // the piece is inside a line that began earlier
			}
		}
		at := max(have, int(hi-1-from))
		last := bytes.IndexByte(p.buf[at:], '\n')
		if p.data = p.buf[first:]; last >= 0 {
			p.data = p.buf[first : at+last+1]
		}
		if last >= 0 || end == s.f.size() {
			break
		}
	}
	p.at, p.data = from+int64(first), endLine(p.data)
	return nil
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

// streamSource reads pieces of a stream, one goroutine at a time, while the others parse their
// pieces. A part is a range of bytes of the file as it is stored. A piece belongs to the part that
// contains the position of the stored file at which the reading of the piece begins. A rank that
// reads a part also decodes the content before it.
type streamSource struct {
	f         *file
	from      int64     // beginning of the data
	content   io.Reader // of a plain table, from the first piece on
	end       int64     // of the part of a plain table: pieces begin before this offset
	size      int
	csv       *csvGrammar // of a table, whose pieces are whole records
	low, high int64       // the part, as bytes of the file as it is stored

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
		at := s.place()
		if at >= s.high || s.offset >= s.end {
			s.done = true
			break
		}
		if at >= s.low && s.first < 0 {
			s.first = s.offset
		}
		err := s.read(ctx, p)
		if p.first = s.counted; err == nil && s.count != nil {
			s.counted += s.count(p.data)
		}
		if err != nil || at >= s.low {
			s.index++
			return err
		}
		s.skipped += bytes.Count(p.data, newline)
	}
	return io.EOF
}

// place returns the position in the stored file at which the next piece begins. Content that a
// decoder still has when the whole file has been read belongs to the last part.
func (s *streamSource) place() int64 { return max(min(s.f.consumed(), s.f.size()-1), 0) }

func (s *streamSource) span() edges.Span {
	first := s.first
	if first < 0 {
		first = s.offset
	}
	return edges.Span{From: first, To: s.offset, Size: s.f.size()}
}

// before returns the number of lines between the beginning of the data and the part.
func (s *streamSource) before() (int, error) {
	if s.end < math.MaxInt64 {
		return s.f.newlines(s.from, s.first)
	}
	return s.skipped, nil
}

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
	if s.end < math.MaxInt64 {
		s.f.progress.add(min(int64(len(p.data)), s.end-s.offset))
	}
	s.offset += int64(len(p.data))
	if len(p.data) > 0 {
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
	n, err := io.ReadFull(s.content, p.data[have:])
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
	end := 0
	switch {
	case s.csv == nil:
		end = bytes.LastIndexByte(p.data, '\n') + 1
	case over > 0:
		end = s.csv.endAfter(p.data, over)
	default:
		end = s.csv.lastEnd(p.data)
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
func grow(buf []byte, n int) []byte { return slices.Grow(buf[:0], n)[:n] }

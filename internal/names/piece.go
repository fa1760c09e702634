package names

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
)

// A piece is the encoding of names, in ascending order, for sending or storing: their number, the
// sum of their lengths, and blocks as in a dictionary.
//
//	names, bytes | block | block ...       both are varints
//
// A Reader reads untrusted pieces.

// ErrPiece means that a piece was not made by AppendPiece.
var ErrPiece = errors.New("names: the piece is damaged")

// maxPieceBytes bounds the sum of the lengths of a piece's names, because shared prefixes are short
// in a piece.
const maxPieceBytes = 1 << 32

// AppendPiece appends a piece of names lo to hi-1 of the dictionary.
func (d *Dictionary) AppendPiece(dst []byte, lo, hi uint64) []byte {
	size := 0
	for c := d.Cursor(lo, hi); c.Next(); {
		size += len(c.Name())
	}
	dst = binary.AppendUvarint(dst, hi-lo)
	dst = binary.AppendUvarint(dst, uint64(size))
	var before []byte
	i := 0
	for c := d.Cursor(lo, hi); c.Next(); i++ {
		dst = appendCoded(dst, i, before, c.Name())
		before = append(before[:0], c.Name()...)
	}
	return dst
}

// appendCoded appends name i of a block or piece. before is the name before it.
func appendCoded(dst []byte, i int, before, name []byte) []byte {
	if i%blockNames > 0 {
		shared := common(before, name)
		dst = binary.AppendUvarint(dst, uint64(shared))
		name = name[shared:]
	}
	return append(binary.AppendUvarint(dst, uint64(len(name))), name...)
}

// Cursor iterates over names of a dictionary in order.
type Cursor struct {
	at, end uint64
	rest    []byte
	name    []byte
}

// Cursor returns a cursor before name lo, which ends before name hi. hi must be at most Len.
func (d *Dictionary) Cursor(lo, hi uint64) *Cursor {
	c := &Cursor{at: lo / blockNames * blockNames, end: hi}
	if lo >= hi {
		c.at = hi
		return c
	}
	c.rest = d.data[d.blocks[lo/blockNames]:]
	for c.at < lo {
		c.Next()
	}
	return c
}

// Next goes to the next name. It returns false if there is none.
func (c *Cursor) Next() bool {
	if c.at >= c.end {
		return false
	}
	shared := 0
	if c.at%blockNames > 0 {
		shared, c.rest = length(c.rest)
	}
	size, text := length(c.rest)
	c.name = append(c.name[:shared], text[:size]...)
	c.rest = text[size:]
	c.at++
	return true
}

// Name returns the cursor's current name. It is valid until Next is called.
func (c *Cursor) Name() []byte { return c.name }

// Part returns a dictionary of the names lo to hi-1. hi must be at most Len.
func (d *Dictionary) Part(lo, hi uint64) *Dictionary {
	var b Builder
	for c := d.Cursor(lo, hi); c.Next(); {
		if err := b.Add(c.Name()); err != nil {
			panic(err) // the names of a dictionary are ascending
		}
	}
	return b.Dictionary()
}

// Reader reads an untrusted piece, and returns an error for anything wrong in it.
type Reader struct {
	n, at uint64
	size  uint64 // of the remaining names
	rest  []byte
	name  []byte
}

// NewReader makes a reader of a piece, which is all of data.
func NewReader(data []byte) (*Reader, error) {
	n, i := binary.Uvarint(data)
	size, j := binary.Uvarint(data[max(i, 0):])
	if i <= 0 || j <= 0 {
		return nil, fmt.Errorf("%w: it has no beginning", ErrPiece)
	}
	data = data[i+j:]
	if n > uint64(len(data))/2 || size > maxPieceBytes { // a name takes 2 bytes or more
		return nil, fmt.Errorf("%w: %d names of %d bytes in %d", ErrPiece, n, size, len(data))
	}
	return &Reader{n: n, size: size, rest: data}, nil
}

// Next goes to the next name. It returns false if there is none. It checks that names are not empty
// and in ascending order.
func (r *Reader) Next() (bool, error) {
	if r.at == r.n {
		if len(r.rest) > 0 || r.size > 0 {
			return false, fmt.Errorf("%w: %d bytes after the last name, %d bytes of names missing",
				ErrPiece, len(r.rest), r.size)
		}
		return false, nil
	}
	shared := uint64(0)
	if r.at%blockNames > 0 {
		var i int
		if shared, i = binary.Uvarint(r.rest); i <= 0 || shared > uint64(len(r.name)) {
			return false, fmt.Errorf("%w: name %d shares %d bytes with one of %d", ErrPiece, r.at,
				shared, len(r.name))
		}
		r.rest = r.rest[i:]
	}
	size, i := binary.Uvarint(r.rest)
	if i <= 0 || size > uint64(len(r.rest)-i) || shared+size == 0 ||
		shared+size > min(maxName, r.size) {
		return false, fmt.Errorf("%w: name %d has %d bytes", ErrPiece, r.at, size)
	}
	text := r.rest[i : i+int(size)]
	if r.at > 0 && bytes.Compare(text, r.name[shared:]) <= 0 {
		return false, fmt.Errorf("%w: name %d does not follow the one before", ErrPiece, r.at)
	}
	r.name = append(r.name[:shared], text...)
	r.rest = r.rest[i+int(size):]
	r.size -= shared + size
	r.at++
	return true, nil
}

// Name returns the current name. It is valid until Next is called.
func (r *Reader) Name() []byte { return r.name }

// Builder makes a dictionary of names in ascending order.
type Builder struct {
	d    Dictionary
	last []byte
}

// Add adds a name, which must be greater than all before. It panics with a *[mem.Exhausted] if the
// memory budget is exhausted.
func (b *Builder) Add(name []byte) error {
	if len(name) == 0 || len(name) > maxName || b.d.n > 0 && bytes.Compare(name, b.last) <= 0 {
		return fmt.Errorf("%w: %.80q follows %.80q", ErrPiece, name, b.last)
	}
	if most := len(name) + 2*binary.MaxVarintLen32; cap(b.d.data)-len(b.d.data) < most {
		more := max(len(b.d.data)/4, most)
		mem.Ask(mem.Names, int64(len(b.d.data)+more))
		b.d.data = slices.Grow(b.d.data, more)
	}
	if b.d.n%blockNames == 0 {
		b.d.blocks = append(b.d.blocks, uint64(len(b.d.data)))
	}
	b.d.data = appendCoded(b.d.data, b.d.n, b.last, name)
	b.last = append(b.last[:0], name...)
	b.d.n++
	return nil
}

// AddPiece adds the names of a piece.
func (b *Builder) AddPiece(data []byte) error {
	r, err := NewReader(data)
	if err != nil {
		return err
	}
	for {
		if more, err := r.Next(); err != nil || !more {
			return err
		}
		if err := b.Add(r.Name()); err != nil {
			return err
		}
	}
}

// Len returns the number of names added.
func (b *Builder) Len() int { return b.d.n }

// Dictionary returns the dictionary of all names, in arrays without spare capacity. It empties the
// builder.
func (b *Builder) Dictionary() *Dictionary {
	d := &Dictionary{n: b.d.n, data: slices.Clip(b.d.data), blocks: slices.Clip(b.d.blocks)}
	if cap(b.d.data)-len(b.d.data) > len(b.d.data)/16 {
		mem.Ask(mem.Names, int64(len(d.data)))
		d.data = bytes.Clone(d.data)
	}
	*b = Builder{}
	return d
}

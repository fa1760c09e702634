package pack

import (
	"errors"
	"fmt"
)

// ErrHostile is the error for msgpack with false lengths or too deep nesting, which our encoder
// never writes.
var ErrHostile = errors.New("malformed msgpack")

// maxDepth is the greatest nesting of arrays and maps. The decoder is recursive: 2 MB of nested
// arrays would overflow Go's stack, which is fatal.
const maxDepth = 32

// Check walks one msgpack value without allocating. It returns an error unless every declared
// length fits in the remaining bytes (an element needs at least one), the value ends where b ends,
// and arrays and maps nest no deeper than 32. So the decoder allocates at most one element per
// byte.
func Check(b []byte) error {
	var left [maxDepth]uint64 // number of remaining elements, by depth
	depth, at := 0, 0
	left[0] = 1
	for {
		for left[depth] == 0 {
			if depth == 0 {
				if at != len(b) {
					return fmt.Errorf("%w: %d bytes behind it", ErrHostile, len(b)-at)
				}
				return nil
			}
			depth--
		}
		left[depth]--
		if at >= len(b) {
			return fmt.Errorf("%w: it ends early", ErrHostile)
		}
		i, err := read(b[at:])
		if err != nil {
			return fmt.Errorf("%w at byte %d", err, at)
		}
		at += i.bytes
		if i.elements > uint64(len(b)-at) {
			return fmt.Errorf("%w: %d elements in %d bytes", ErrHostile, i.elements, len(b)-at)
		}
		if i.elements > 0 {
			if depth++; depth == maxDepth {
				return fmt.Errorf("%w: it nests deeper than %d", ErrHostile, maxDepth-1)
			}
			left[depth] = i.elements
		}
	}
}

// item is the meaning of one msgpack code: its own bytes, and the number of elements that follow.
type item struct {
	bytes    int
	elements uint64
}

// layout is the layout of an item behind its code: a length, and then fixed bytes and as many bytes
// or elements as the length says.
type layout struct {
	length, fixed uint8  // bytes
	elements      uint64 // per unit of the length; 0 means that it counts bytes
}

// layouts has the layouts of the codes from 0xc0 on.
var layouts = [32]layout{
	{}, {}, {}, {}, // nil, no code, false, true
	{length: 1}, {length: 2}, {length: 4}, // bytes
	{1, 1, 0}, {2, 1, 0}, {4, 1, 0}, // extension, whose type is a byte
	{fixed: 4}, {fixed: 8}, // float
	{fixed: 1}, {fixed: 2}, {fixed: 4}, {fixed: 8}, // unsigned integer
	{fixed: 1}, {fixed: 2}, {fixed: 4}, {fixed: 8}, // integer
	{fixed: 2}, {fixed: 3}, {fixed: 5}, {fixed: 9}, {fixed: 17}, // extension of a fixed length
	{length: 1}, {length: 2}, {length: 4}, // string
	{2, 0, 1}, {4, 0, 1}, // array
	{2, 0, 2}, {4, 0, 2}, // map
}

// read reads the item at the start of b.
func read(b []byte) (item, error) {
	c := b[0]
	switch {
	case c <= 0x7f || c >= 0xe0: // a small integer
		return item{bytes: 1}, nil
	case c <= 0x8f:
		return item{1, 2 * uint64(c&0x0f)}, nil // map
	case c <= 0x9f:
		return item{1, uint64(c & 0x0f)}, nil // array
	case c <= 0xbf:
		return within(b, 1, uint64(c&0x1f)) // string
	case c == 0xc1:
		return item{}, fmt.Errorf("%w: code %#x", ErrHostile, c)
	}
	l := layouts[c-0xc0]
	head, n := 1+int(l.length), uint64(0)
	if len(b) < head {
		return item{}, fmt.Errorf("%w: it ends in a length", ErrHostile)
	}
	for _, digit := range b[1:head] {
		n = n<<8 | uint64(digit)
	}
	if l.elements > 0 {
		return item{head, n * l.elements}, nil
	}
	return within(b, head+int(l.fixed), n)
}

// within returns an item of head+n bytes, or an error if b is shorter.
func within(b []byte, head int, n uint64) (item, error) {
	if uint64(len(b)) < uint64(head)+n {
		return item{}, fmt.Errorf("%w: %d bytes of %d", ErrHostile, len(b), uint64(head)+n)
	}
	return item{bytes: head + int(n)}, nil
}

package pack

import (
	"encoding/binary"
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

// read reads the item at the start of b.
func read(b []byte) (item, error) {
	c := b[0]
	switch {
	// small integers, nil, false, true
	case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return item{bytes: 1}, nil
	case c <= 0x8f:
		return item{1, 2 * uint64(c&0x0f)}, nil // map
	case c <= 0x9f:
		return item{1, uint64(c & 0x0f)}, nil // array
	case c <= 0xbf:
		return within(b, 1, uint64(c&0x1f)) // string
	}
	switch c {
	case 0xc4, 0xd9: // bytes, string
		return sized(b, 1, 0)
	case 0xc5, 0xda:
		return sized(b, 2, 0)
	case 0xc6, 0xdb:
		return sized(b, 4, 0)
	case 0xc7, 0xc8, 0xc9: // extension, its type a byte
		return sized(b, 1<<(c-0xc7), 1)
	case 0xca, 0xce, 0xd2: // float32, uint32, int32
		return within(b, 1, 4)
	case 0xcb, 0xcf, 0xd3: // float64, uint64, int64
		return within(b, 1, 8)
	case 0xcc, 0xd0:
		return within(b, 1, 1)
	case 0xcd, 0xd1:
		return within(b, 1, 2)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // extension of 1, 2, 4, 8, 16 bytes
		return within(b, 2, 1<<(c-0xd4))
	case 0xdc, 0xdd: // array
		return counted(b, 2<<(c-0xdc), 1)
	case 0xde, 0xdf: // map
		return counted(b, 2<<(c-0xde), 2)
	}
	return item{}, fmt.Errorf("%w: code %#x", ErrHostile, c)
}

// length reads a length of width bytes behind the code.
func length(b []byte, width int) (uint64, error) {
	if len(b) < 1+width {
		return 0, fmt.Errorf("%w: it ends in a length", ErrHostile)
	}
	switch width {
	case 1:
		return uint64(b[1]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(b[1:])), nil
	}
	return uint64(binary.BigEndian.Uint32(b[1:])), nil
}

func sized(b []byte, width, more int) (item, error) {
	n, err := length(b, width)
	if err != nil {
		return item{}, err
	}
	return within(b, 1+width+more, n)
}

func counted(b []byte, width int, each uint64) (item, error) {
	n, err := length(b, width)
	return item{1 + width, n * each}, err
}

// within returns an item of head+n bytes, or an error if b is shorter.
func within(b []byte, head int, n uint64) (item, error) {
	if uint64(len(b)) < uint64(head)+n {
		return item{}, fmt.Errorf("%w: %d bytes of %d", ErrHostile, len(b), uint64(head)+n)
	}
	return item{bytes: head + int(n)}, nil
}

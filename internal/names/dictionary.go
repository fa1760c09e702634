package names

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Dictionary is a list of distinct names in ascending order of their bytes, which for UTF-8 is the
// order of their characters. The number of a name is its index. Names are stored in blocks. Each
// name after the first of a block is stored as the length of the prefix that it shares with the
// name before, and the rest (front coding: I. Witten, A. Moffat and T. Bell, Managing Gigabytes,
// 4.1).
//
//	block: length, name | shared, length, rest | shared, length, rest ...    lengths are varints
type Dictionary struct {
	n      int
	data   []byte
	blocks []uint64 // the beginning of each block in data
}

// blockNames is the number of names in a block. Reading a name begins at the beginning of its
// block.
const blockNames = 16

// Len returns the number of names.
func (d *Dictionary) Len() int { return d.n }

// Bytes returns the memory of the dictionary.
func (d *Dictionary) Bytes() int64 { return int64(cap(d.data)) + 8*int64(cap(d.blocks)) }

// Append appends name i; i must be less than Len.
func (d *Dictionary) Append(dst []byte, i uint64) []byte {
	c := Cursor{at: i - i%blockNames, end: i + 1, name: dst[len(dst):]}
	c.rest = d.data[d.blocks[i/blockNames]:]
	for c.Next() {
	}
	return append(dst, c.name...) // in place, if dst had room for it
}

// Name returns name i; i must be less than Len.
func (d *Dictionary) Name(i uint64) string { return string(d.Append(nil, i)) }

// Find returns the number of a name, and whether it exists.
func (d *Dictionary) Find(name string) (uint64, bool) { return d.Search([]byte(name)) }

// Search returns the number of the first name that is at least text, or Len if there is none. It
// also returns whether that name equals text.
func (d *Dictionary) Search(text []byte) (uint64, bool) {
	block, found := slices.BinarySearchFunc(d.blocks, text, func(at uint64, text []byte) int {
		size, first := length(d.data[at:])
		return bytes.Compare(first[:size], text)
	})
	if found {
		return uint64(block) * blockNames, true
	}
	if block == 0 {
		return 0, false
	}
	end := min(uint64(block)*blockNames, uint64(d.n))
	for c := d.Cursor(end-(end-1)%blockNames-1, end); c.Next(); {
		if order := bytes.Compare(c.Name(), text); order >= 0 {
			return c.at - 1, order == 0
		}
	}
	return end, false
}

func length(data []byte) (int, []byte) {
	n, size := binary.Uvarint(data)
	return int(n), data[size:]
}

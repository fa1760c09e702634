package parquet

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The encodings of Parquet's pages (parquet-format, Encodings.md). None takes more memory than the values that are asked for.

var (
	errPageShort = errors.New("a page that ends before its values do")
	errPageForm  = errors.New("a page whose encoding is at fault")
)

// hybrid reads small numbers of a fixed width: runs of one, and groups of eight that are packed (RLE / bit-packing hybrid).
type hybrid struct {
	data   []byte
	width  uint
	run    int // numbers left of a run
	value  uint32
	packed int    // numbers left of packed groups
	groups []byte // of these
	bits   uint64
	have   uint
}

// next fills dst with the next numbers.
func (h *hybrid) next(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case h.run > 0:
			n := min(h.run, len(dst))
			for i := range dst[:n] {
				dst[i] = h.value
			}
			h.run -= n
			dst = dst[n:]
		case h.packed > 0:
			n := min(h.packed, len(dst))
			if err := h.unpack(dst[:n]); err != nil {
				return err
			}
			h.packed -= n
			dst = dst[n:]
		default:
			if err := h.begin(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin reads the head of a run or of packed groups.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 || head>>1 > 1<<31 {
		return errPageShort
	}
	h.data = h.data[n:]
	if head&1 == 1 {
		h.packed, h.bits, h.have = int(head>>1)*8, 0, 0
		size := min(uint64(len(h.data)), head>>1*uint64(h.width))
		h.groups, h.data = h.data[:size], h.data[size:]
		return nil
	}
	size := int(h.width+7) / 8
	if len(h.data) < size {
		return errPageShort
	}
	h.value = 0
	for i, b := range h.data[:size] {
		h.value |= uint32(b) << (8 * i)
	}
	if bits.Len32(h.value) > int(h.width) {
		return errPageForm
	}
	h.data = h.data[size:]
	h.run = int(head >> 1)
	return nil
}

// unpack reads packed numbers.
func (h *hybrid) unpack(dst []uint32) error {
	mask := uint64(1)<<h.width - 1
	for i := range dst {
		for h.have < h.width {
			if len(h.groups) == 0 {
				return errPageShort
			}
			if h.have == 0 && len(h.groups) >= 8 && h.width > 0 { // a word at once, as many whole numbers as it has
				h.bits, h.have = binary.LittleEndian.Uint64(h.groups)&(1<<56-1), 56
				h.groups = h.groups[7:]
				continue
			}
			h.bits |= uint64(h.groups[0]) << h.have
			h.groups = h.groups[1:]
			h.have += 8
		}
		dst[i] = uint32(h.bits & mask)
		h.bits >>= h.width
		h.have -= h.width
	}
	return nil
}

// allOnes reports whether the first n numbers of width 1 are 1, and how many are before the first that is not.
func allOnes(data []byte, n int) (before int, ok bool, err error) {
	h := hybrid{data: data, width: 1}
	var some [1024]uint32
	for before < n {
		part := some[:min(n-before, len(some))]
		if h.run >= len(part) && h.value == 1 { // the usual case: all in one run
			k := min(h.run, n-before)
			h.run -= k
			before += k
			continue
		}
		if err := h.next(part); err != nil {
			return 0, false, err
		}
		for _, x := range part {
			if x != 1 {
				return before, false, nil
			}
			before++
		}
	}
	return before, true, nil
}

// deltas reads whole numbers of DELTA_BINARY_PACKED, and returns what follows them. It refuses other than n.
func deltas(data []byte, n int) (values []int64, rest []byte, err error) {
	d := deltaReader{data: data}
	block, mini, total := d.uvarint(), d.uvarint(), d.uvarint()
	value := d.varint()
	if d.err != nil {
		return nil, nil, d.err
	}
	if block == 0 || block%128 != 0 || block > 1<<20 || mini == 0 || mini > block || block%mini != 0 || block/mini%32 != 0 || total != uint64(n) {
		return nil, nil, errPageForm
	}
	values = make([]int64, 0, n)
	if n > 0 {
		values = append(values, value)
	}
	for len(values) < n {
		least := d.varint()
		widths := d.take(int(mini))
		if d.err != nil {
			return nil, nil, d.err
		}
		for _, width := range widths {
			if len(values) == n {
				break
			}
			if width > 64 {
				return nil, nil, errPageForm
			}
			part := d.take(int(block/mini) * int(width) / 8)
			if d.err != nil {
				return nil, nil, d.err
			}
			for i := range min(int(block/mini), n-len(values)) {
				value += least + int64(bitsAt(part, i*int(width), uint(width)))
				values = append(values, value)
			}
		}
	}
	return values, d.data, nil
}

// bitsAt returns the number of a width at a bit of data.
func bitsAt(data []byte, at int, width uint) uint64 {
	if width == 0 {
		return 0
	}
	x, got := uint64(0), uint(0)
	for got < width {
		b := uint64(data[at/8]) >> (at % 8)
		n := uint(8 - at%8)
		x |= b << got
		got += n
		at += int(n)
	}
	if width < 64 {
		x &= 1<<width - 1
	}
	return x
}

type deltaReader struct {
	data []byte
	err  error
}

func (d *deltaReader) uvarint() uint64 {
	x, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.err = errPageShort
		return 0
	}
	d.data = d.data[n:]
	return x
}

func (d *deltaReader) varint() int64 {
	x := d.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (d *deltaReader) take(n int) []byte {
	if n > len(d.data) {
		d.err = errPageShort
		return nil
	}
	part := d.data[:n]
	d.data = d.data[n:]
	return part
}

// plainTexts reads n texts, each after its length, in four bytes.
func plainTexts(data []byte, n int) ([][]byte, error) {
	if n > len(data)/4 {
		return nil, errPageShort
	}
	texts := make([][]byte, n)
	for i := range texts {
		if len(data) < 4 {
			return nil, errPageShort
		}
		size := uint64(binary.LittleEndian.Uint32(data))
		if data = data[4:]; size > uint64(len(data)) {
			return nil, errPageShort
		}
		texts[i], data = data[:size:size], data[size:]
	}
	return texts, nil
}

// deltaTexts reads n texts whose lengths come first (DELTA_LENGTH_BYTE_ARRAY).
func deltaTexts(data []byte, n int) ([][]byte, error) {
	lengths, data, err := deltas(data, n)
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, n)
	for i, size := range lengths {
		if size < 0 || size > int64(len(data)) {
			return nil, errPageShort
		}
		texts[i], data = data[:size:size], data[size:]
	}
	return texts, nil
}

// sharedTexts reads n texts each of which begins as the one before (DELTA_BYTE_ARRAY), of at most limit bytes in all.
func sharedTexts(data []byte, n, limit int) ([][]byte, error) {
	shared, data, err := deltas(data, n)
	if err != nil {
		return nil, err
	}
	texts, err := deltaTexts(data, n)
	if err != nil {
		return nil, err
	}
	var before []byte
	for i, prefix := range shared {
		if prefix < 0 || prefix > int64(len(before)) {
			return nil, errPageForm
		}
		if limit -= len(texts[i]) + int(prefix); limit < 0 {
			return nil, errPageForm
		}
		text := make([]byte, 0, int(prefix)+len(texts[i]))
		text = append(append(text, before[:prefix]...), texts[i]...)
		texts[i], before = text, text
	}
	return texts, nil
}

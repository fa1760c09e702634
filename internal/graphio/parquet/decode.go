package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/graphio"
)

// values are the values of a page or a dictionary: the bits of numbers, extended to 64, or texts.
type values struct {
	words []uint64
	texts [][]byte
}

// decode returns the n values of a page that uses no dictionary.
func (p *pages) decode(data []byte, n int, encoding format.Encoding) (v values, err error) {
	size, typ := p.column.size, p.column.typ
	switch encoding {
	case format.Plain, format.ByteStreamSplit:
		if size > 0 {
			data = data[:min(len(data), n*size)]
		}
	case format.DeltaBinaryPacked:
		_, err = afterDeltas(data, n, 8*size)
	case format.DeltaLengthByteArray:
		_, err = afterDeltas(data, n, 32)
	case format.DeltaByteArray:
		err = checkShared(data, n)
	default:
		err = fmt.Errorf("pages in the encoding %s, expected "+
			"plain, a dictionary, delta or byte_stream_split", encoding)
	}
	if err != nil {
		return v, err
	}
	decoded, err := typ.Decode(typ.NewValues(nil, nil), data, parquet.LookupEncoding(encoding))
	if err != nil {
		return v, err
	}
	content, offsets := decoded.Data()
	if size == 0 && len(offsets) <= n || len(content) < n*size {
		return v, errPageShort
	}
	if size == 0 {
		v.texts = make([][]byte, n)
		for i := range v.texts {
			v.texts[i] = content[offsets[i]:offsets[i+1]]
		}
		return v, nil
	}
	v.words = make([]uint64, n)
	for i := range v.words {
		v.words[i] = p.column.word(content[i*size:])
	}
	return v, nil
}

// word returns the number at the beginning of data.
func (c *column) word(data []byte) uint64 {
	if c.size == 8 {
		return binary.LittleEndian.Uint64(data)
	}
	switch x := binary.LittleEndian.Uint32(data); c.Type {
	case graphio.FloatColumn:
		return math.Float64bits(float64(math.Float32frombits(x)))
	case graphio.UintColumn:
		return uint64(x)
	default:
		return uint64(int32(x))
	}
}

// look returns the n values of a page whose data are indices into the dictionary.
func (p *pages) look(data []byte, n int) (v values, err error) {
	d := p.dictionary
	if d == nil || len(data) == 0 || data[0] > 32 {
		return v, errPageForm
	}
	places, err := checkRuns(data[1:], int(data[0]), n)
	if err != nil {
		return v, err
	}
	at, err := (&rle.Encoding{BitWidth: int(data[0])}).DecodeInt32(nil, places)
	if err != nil {
		return v, err
	}
	if p.column.size == 0 {
		v.texts, err = gather(d.texts, at[:n])
	} else {
		v.words, err = gather(d.words, at[:n])
	}
	return v, err
}

func gather[T any](dictionary []T, places []int32) ([]T, error) {
	all := make([]T, len(places))
	for i, at := range places {
		if uint64(uint32(at)) >= uint64(len(dictionary)) {
			return nil, fmt.Errorf("value %d of a dictionary of %d", uint32(at), len(dictionary))
		}
		all[i] = dictionary[at]
	}
	return all, nil
}

// noNulls returns an error if one of the n values of a page is missing.
func (p *pages) noNulls(levels []byte, n int) error {
	runs, err := checkRuns(levels, 1, n)
	if err != nil {
		return err
	}
	defined, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, runs)
	if err != nil {
		return err
	}
	if at := bytes.IndexByte(defined[:n], 0); at >= 0 {
		return &graphio.MissingValue{Row: p.all - p.rows + int64(at)}
	}
	return nil
}

// checkRuns returns the part of data with n numbers of the given width: runs of equal numbers, and
// packed groups of eight (RLE / bit-packing hybrid). Some writers cut the last group off after its
// last number; checkRuns pads it.
func checkRuns(data []byte, width, n int) ([]byte, error) {
	at := 0
	for n > 0 {
		head, k := binary.Uvarint(data[at:])
		count, size := int(min(head>>1, 1<<32)), (width+7)/8
		need := size
		if head&1 == 1 {
			count, size = 8*count, width*count
			need = (width*min(n, count) + 7) / 8
		}
		if at += k; k <= 0 || count > n+504 || need > len(data)-at {
			return nil, errPageShort
		}
		if n, at = n-count, at+size; at > len(data) {
			return append(data[:len(data):len(data)], make([]byte, at-len(data))...), nil
		}
	}
	return data[:at], nil
}

// afterDeltas returns the data after n numbers in DELTA_BINARY_PACKED. It refuses another count,
// and differences with more than this number of bits.
func afterDeltas(data []byte, n, bits int) ([]byte, error) {
	var head [4]uint64 // block size, miniblocks in a block, count, first number
	for i := range head {
		k := 0
		if head[i], k = binary.Uvarint(data); k <= 0 {
			return nil, errPageShort
		}
		data = data[k:]
	}
	block, parts := int(head[0]), int(head[1])
	if max(head[0], head[1]) > 1<<16 || min(block, parts) == 0 || block%(32*parts) != 0 ||
		head[2] != uint64(n) {
		return nil, errPageForm
	}
	for left := n - 1; left > 0; {
		_, k := binary.Uvarint(data) // the smallest difference
		if k <= 0 || len(data)-k < parts {
			return nil, errPageShort
		}
		widths := data[k : k+parts]
		data = data[k+parts:]
		for i := 0; i < parts && left > 0; i++ {
			size := block / parts * int(widths[i]) / 8
			if int(widths[i]) > bits || size > len(data) {
				return nil, errPageShort
			}
			data = data[size:]
			left -= block / parts
		}
	}
	return data, nil
}

// checkShared checks texts in DELTA_BYTE_ARRAY: no text may share more bytes with its predecessor
// than a page may have.
func checkShared(data []byte, n int) error {
	rest, err := afterDeltas(data, n, 32)
	if err == nil {
		_, err = afterDeltas(rest, n, 32)
	}
	if err != nil {
		return err
	}
	shared, err := parquet.DeltaBinaryPacked.DecodeInt32(nil, data)
	total := uint64(0)
	for _, size := range shared {
		total += uint64(uint32(size))
	}
	if total > maxPage {
		return errPageForm
	}
	return err
}

// Words fills dst with the next numbers: integers extended to 64 bits, or the bits of float64s.
func (p *pages) Words(dst []uint64) error {
	for len(dst) > 0 {
		for len(p.words) == 0 {
			if err := p.readPage(); err != nil {
				return err
			}
		}
		n := copy(dst, p.words)
		p.words, dst = p.words[n:], dst[n:]
	}
	return nil
}

// Texts calls each with each of the next n texts.
func (p *pages) Texts(n int, each func(text []byte) error) error {
	for range n {
		for len(p.texts) == 0 {
			if err := p.readPage(); err != nil {
				return err
			}
		}
		if err := each(p.texts[0]); err != nil {
			return err
		}
		p.texts = p.texts[1:]
	}
	return nil
}

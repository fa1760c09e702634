package parquet

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pagesOf returns pages of a type with a dictionary of one value.
func pagesOf(kind format.Type) *pages {
	c := columnOf(&format.SchemaElement{Type: thrift.Null[format.Type]{V: kind, Valid: true}}, 0)
	return &pages{column: &c, dictionary: &values{words: []uint64{7}}}
}

// TestForgedPages: a page that claims more values or bytes than its header is refused before memory
// is allocated.
func TestForgedPages(t *testing.T) {
	const many, n = 1 << 25, 100
	lengths := func(x ...int32) []byte {
		data, err := parquet.DeltaBinaryPacked.EncodeInt32(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	header := func(block, parts, total uint64) []byte {
		data := binary.AppendUvarint(binary.AppendUvarint(nil, block), parts)
		return append(binary.AppendUvarint(data, total), 0)
	}
	shared, own := make([]int32, 1000), make([]int32, 1000)
	own[0] = 1 << 20
	for i := range shared[1:] {
		shared[i+1] = own[0]
	}
	cat := slices.Concat[[]byte]
	wide := cat(header(128, 1, n), []byte{0, 64}, make([]byte, 1<<10))
	twice := cat(lengths(shared...), lengths(own...), make([]byte, own[0]))
	const (
		dictionary = format.RLEDictionary
		delta      = format.DeltaBinaryPacked
		texts      = format.DeltaByteArray
	)
	for name, x := range map[string]struct {
		kind     format.Type
		encoding format.Encoding
		data     []byte
		n        int
	}{
		"a run": {format.Int64, dictionary, append(binary.AppendUvarint([]byte{1},
			many<<1), 0), n},
		"groups of no bits": {format.Int64, dictionary, binary.AppendUvarint([]byte{0},
			many<<1|1), n},
		"differences":      {format.Int64, delta, header(128, 4, many), 1},
		"parts of a block": {format.Int64, delta, header(128, 1<<62, n), n},
		"bits of a number": {format.Int32, delta, wide, n},
		"lengths": {format.ByteArray, format.DeltaLengthByteArray, header(128, 4,
			many), 1},
		"texts after others": {format.ByteArray, texts, cat(lengths(0), header(128, 4, many)), 1},
		"shared texts":       {format.ByteArray, texts, twice, len(shared)},
		"negative lengths":   {format.ByteArray, texts, cat(lengths(0, -1), lengths(1, 1)), 2},
	} {
		p := pagesOf(x.kind)
		wantLittle(t, name, func() error {
			if x.encoding == format.RLEDictionary {
				_, err := p.look(x.data, x.n)
				return err
			}
			_, err := p.decode(x.data, x.n, x.encoding)
			return err
		})
	}
	for _, codec := range []compress.Codec{
		&parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw,
	} {
		raw, err := codec.Encode(nil, make([]byte, many))
		if err != nil {
			t.Fatal(err)
		}
		p := &pages{codec: codec.CompressionCodec()}
		wantLittle(t, codec.String(), func() error {
			_, err := p.decompress(raw, n)
			return err
		})
	}
}

// wantLittle wants read to fail after allocating little memory.
func wantLittle(t *testing.T, name string, read func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := read()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 16<<20 {
		t.Errorf("%s: %d bytes, %v", name, took, err)
	}
}

// TestShortGroup reads a last group of eight numbers that is cut off after the third.
func TestShortGroup(t *testing.T) {
	p := pagesOf(format.Int64)
	p.dictionary.words = []uint64{10, 11, 12, 13}
	v, err := p.look([]byte{2, 1<<1 | 1, 0b111001}, 3)
	if err != nil || len(v.words) != 3 || v.words[0] != 11 || v.words[1] != 12 || v.words[2] != 13 {
		t.Errorf("%v, %v", v.words, err)
	}
	if _, err := p.look([]byte{2, 1<<1 | 1}, 3); err == nil {
		t.Error("a group without bytes")
	}
}

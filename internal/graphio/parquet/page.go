package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/superstep-go/superstep/internal/graphio"
)

const (
	// maxPage is how many bytes a page may have, and maxPageValues how many values: more than any writer makes.
	maxPage       = 256 << 20
	maxPageValues = 1 << 26
	// maxPageHeader is how many bytes its header may have.
	maxPageHeader = 1 << 20
	// plainDictionary is what writers of before call RLEDictionary in pages of data, and Plain in dictionaries (PLAIN_DICTIONARY).
	plainDictionary format.Encoding = 2
)

// pages reads the pages of one column of a row group, one after the other. What it gives is of numbers (words: 32 or 64 bits, as they are) or texts.
type pages struct {
	source  graphio.ParquetSource
	column  *column
	codec   format.CompressionCodec
	at      int64
	end     int64
	all     int64 // rows of the row group
	rows    int64 // that are still to come
	counted int   // of the page that was read last
	header  []byte
	raw     []byte // the page as it is in the file
	page    []byte // decompressed
	zstd    *zstd.Decoder

	// What is left of a page: some of these.
	left    int      // values
	words   []byte   // of numbers in order
	wide    []int64  // decoded numbers
	texts   [][]byte // in order
	indices hybrid   // of those in the dictionary
	indexed bool

	dictWords  []byte // of numbers
	dictTexts  [][]byte
	dictionary int // values in it; -1 if there was none
	scratch    []uint32
}

// Pages returns a column's pages in a row group.
func (f *file) Pages(at, group int) graphio.ParquetPages {
	c, g := &f.columns[at], &f.meta.RowGroups[group]
	m := &g.Columns[c.leaf].MetaData
	from := chunkStart(m)
	return &pages{source: f.source, column: c, codec: m.Codec, at: from, end: from + m.TotalCompressedSize, all: g.NumRows, rows: g.NumRows, dictionary: -1}
}

// Close ends it.
func (p *pages) Close() {
	if p.zstd != nil {
		p.zstd.Close()
	}
}

// size returns how many bytes a number of the column has.
func (p *pages) size() int {
	if p.column.kind == format.Int32 || p.column.kind == format.Float {
		return 4
	}
	return 8
}

// next makes sure that there are values left, of a page that is read if there are none.
func (p *pages) next() error {
	for p.left == 0 {
		if p.at >= p.end {
			return errors.New("fewer values than rows")
		}
		if err := p.readPage(); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads a page: of data, or the dictionary.
func (p *pages) readPage() error {
	h, err := p.readHeader()
	if err != nil {
		return err
	}
	size, whole := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if size < 0 || whole < 0 || size > p.end-p.at || whole > maxPage {
		return fmt.Errorf("a page of %d bytes (%d in the file)", whole, size)
	}
	if err := p.source.Admit(whole+size, "a page"); whole+size > maxPage/4 && err != nil {
		return err
	}
	if p.column.kind == format.ByteArray { // names are parts of the page until they are in their table
		p.raw, p.page = nil, nil
	}
	p.raw = grow(p.raw, int(size))
	if err := p.source.ReadAt(p.raw, p.at); err != nil {
		return err
	}
	p.at += size
	p.source.Progress(size)
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(p.raw) {
		return errors.New("a page whose checksum is another")
	}
	switch h.Type {
	case format.DictionaryPage:
		return p.dictionaryPage(h, int(whole))
	case format.DataPage, format.DataPageV2:
		return p.dataPage(h, int(whole))
	default:
		return nil // an index
	}
}

// readHeader reads the header of a page.
func (p *pages) readHeader() (*format.PageHeader, error) {
	for size := int64(256); ; size *= 16 {
		size = min(size, p.end-p.at, maxPageHeader)
		p.header = grow(p.header, int(size))
		if err := p.source.ReadAt(p.header, p.at); err != nil {
			return nil, err
		}
		n, err := thriftLength(p.header)
		if err == errThriftEnd && size < min(p.end-p.at, maxPageHeader) {
			continue
		}
		h := new(format.PageHeader)
		if err == nil {
			err = decodeThrift(p.header[:n], h)
		}
		p.at += int64(n)
		return h, err
	}
}

// decompress returns the bytes of a page, of which there are size.
func (p *pages) decompress(raw []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed {
		if len(raw) != size {
			return nil, errPageForm
		}
		return raw, nil
	}
	p.page = grow(p.page, size)
	if size == 0 {
		return p.page, nil
	}
	var err error
	n := 0
	switch p.codec {
	case format.Snappy:
		if n, err = s2.DecodedLen(raw); err == nil && n == size {
			_, err = s2.Decode(p.page, raw)
		}
	case format.Zstd:
		if p.zstd == nil {
			if p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage)); err != nil {
				return nil, err
			}
		}
		var all []byte
		all, err = p.zstd.DecodeAll(raw, p.page[:0])
		n = len(all)
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			n, err = readAll(z, p.page)
		}
	case format.Brotli:
		n, err = readAll(brotli.NewReader(bytes.NewReader(raw)), p.page)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(raw, p.page)
	default:
		return nil, fmt.Errorf("pages compressed by %s, expected snappy, gzip, zstd, brotli or lz4_raw", p.codec)
	}
	if err == nil && n != size {
		err = errPageForm
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing a page (%s): %w", p.codec, err)
	}
	return p.page, nil
}

// readAll fills data, and returns more than its length if there is more.
func readAll(from io.Reader, data []byte) (int, error) {
	n, err := io.ReadFull(from, data)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err == nil {
		var more [1]byte
		if k, _ := from.Read(more[:]); k > 0 {
			n++
		}
	}
	return n, err
}

// dictionaryPage reads the values that pages of data name by their places.
func (p *pages) dictionaryPage(h *format.PageHeader, size int) error {
	if !h.DictionaryPageHeader.Valid || p.dictionary >= 0 {
		return errors.New("a dictionary without a header, or a second one")
	}
	n := int(h.DictionaryPageHeader.V.NumValues)
	if e := h.DictionaryPageHeader.V.Encoding; e != format.Plain && e != plainDictionary || n < 0 || n > maxPageValues {
		return fmt.Errorf("a dictionary of %d values in the encoding %s", n, e)
	}
	data, err := p.decompress(p.raw, size)
	if err != nil {
		return err
	}
	p.dictionary = n
	if p.column.kind == format.ByteArray {
		p.dictTexts, err = plainTexts(data, n)
		return err
	}
	if len(data) < n*p.size() {
		return errPageShort
	}
	p.dictWords = bytes.Clone(data)
	return nil
}

// dataPage begins a page of data.
func (p *pages) dataPage(h *format.PageHeader, size int) error {
	var n int
	var encoding format.Encoding
	var data []byte
	var err error
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		n, encoding = int(v.NumValues), v.Encoding
		if err = p.countPage(n); err == nil {
			if data, err = p.decompress(p.raw, size); err == nil {
				data, err = p.levels(data, n)
			}
		}
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		n, encoding = int(v.NumValues), v.Encoding
		if err = p.countPage(n); err == nil {
			data, err = p.dataPageV2(v, size)
		}
	default:
		err = errors.New("a page of data without a header")
	}
	if err != nil {
		return err
	}
	p.left = n
	p.words, p.wide, p.texts, p.indexed = nil, nil, nil, false
	return p.decode(data, n, encoding, size)
}

// countPage counts the values of a page.
func (p *pages) countPage(n int) error {
	if n < 0 || n > maxPageValues || int64(n) > p.rows {
		return fmt.Errorf("a page of %d values where %d rows are left", n, p.rows)
	}
	p.rows -= int64(n)
	p.counted = n
	return nil
}

// levels takes the levels of values that may be missing off a page, and refuses missing ones.
func (p *pages) levels(data []byte, n int) ([]byte, error) {
	if !p.column.optional {
		return data, nil
	}
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, errPageShort
	}
	size := int(binary.LittleEndian.Uint32(data))
	return data[4+size:], p.noNulls(data[4:4+size], n)
}

// noNulls refuses values that are not there.
func (p *pages) noNulls(levels []byte, n int) error {
	before, ok, err := allOnes(levels, n)
	if err == nil && !ok {
		err = &graphio.MissingValue{Row: p.all - p.rows - int64(p.counted) + int64(before)}
	}
	return err
}

// dataPageV2 returns the values of a page of the second form, whose levels are not compressed.
func (p *pages) dataPageV2(v *format.DataPageHeaderV2, size int) ([]byte, error) {
	repeated, defined := int(v.RepetitionLevelsByteLength), int(v.DefinitionLevelsByteLength)
	if repeated < 0 || defined < 0 || repeated+defined > min(len(p.raw), size) {
		return nil, errPageForm
	}
	if p.column.optional && (defined > 0 || v.NumNulls != 0) {
		if err := p.noNulls(p.raw[repeated:repeated+defined], int(v.NumValues)); err != nil {
			return nil, err
		}
	}
	raw := p.raw[repeated+defined:]
	if v.IsCompressed.Valid && !v.IsCompressed.V {
		return raw, nil
	}
	return p.decompress(raw, size-repeated-defined)
}

// decode makes the values of a page ready to be taken.
func (p *pages) decode(data []byte, n int, encoding format.Encoding, size int) (err error) {
	text := p.column.kind == format.ByteArray
	if encoding == format.DeltaBinaryPacked || encoding == format.DeltaLengthByteArray || encoding == format.DeltaByteArray {
		// Equal values take next to no bytes.
		if err := p.source.Admit(48*int64(n), fmt.Sprintf("a page of %d values", n)); err != nil {
			return err
		}
	}
	switch {
	case encoding == plainDictionary || encoding == format.RLEDictionary:
		if p.dictionary < 0 || len(data) == 0 || data[0] > 32 {
			return errPageForm
		}
		p.indexed, p.indices = true, hybrid{data: data[1:], width: uint(data[0])}
	case encoding == format.Plain && text:
		p.texts, err = plainTexts(data, n)
	case encoding == format.DeltaLengthByteArray && text:
		p.texts, err = deltaTexts(data, n)
	case encoding == format.DeltaByteArray && text:
		p.texts, err = sharedTexts(data, n, maxPage)
	case encoding == format.Plain:
		if p.words = data; len(data) < n*p.size() {
			err = errPageShort
		}
	case encoding == format.DeltaBinaryPacked && (p.column.kind == format.Int32 || p.column.kind == format.Int64):
		p.wide, _, err = deltas(data, n)
	case encoding == format.ByteStreamSplit && !text:
		p.words, err = joinStreams(data, n, p.size())
	default:
		err = fmt.Errorf("pages in the encoding %s, expected plain, a dictionary, delta or byte_stream_split", encoding)
	}
	return err
}

// joinStreams puts numbers together whose first bytes come first, then the second ones, and so on.
func joinStreams(data []byte, n, size int) ([]byte, error) {
	if len(data) < n*size {
		return nil, errPageShort
	}
	words := make([]byte, n*size)
	for b := range size {
		for i, x := range data[b*n : (b+1)*n] {
			words[i*size+b] = x
		}
	}
	return words, nil
}

// grow returns a buffer of n bytes, the one given if it has room.
func grow(buf []byte, n int) []byte {
	if cap(buf) < n {
		buf = make([]byte, n, n+n/8)
	}
	return buf[:n]
}

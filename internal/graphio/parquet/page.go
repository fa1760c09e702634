package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/superstep-go/superstep/internal/graphio"
)

const (
	// maxPage is the maximum size of a page in bytes, and maxPageValues the maximum number of its
	// values. Writers make smaller pages.
	maxPage       = 256 << 20
	maxPageValues = 1 << 26
	// maxPageHeader is the maximum size of a page header in bytes.
	maxPageHeader = 1 << 20
	// plainDictionary is the value that older writers use instead of RLEDictionary, and instead of
	// Plain in dictionaries.
	plainDictionary format.Encoding = 2
)

var (
	errPageShort = errors.New("a page that ends before its values do")
	errPageForm  = errors.New("a page with an invalid encoding")
)

// pages reads the pages of a column in a row group, in order.
type pages struct {
	source graphio.ParquetSource
	column *column
	codec  format.CompressionCodec
	at     int64 // offset of the next page
	end    int64
	all    int64 // rows of the row group
	rows   int64 // rows that are not read yet
	header []byte
	raw    []byte // the page as stored in the file
	page   []byte // decompressed

	dictionary *values
	values     // the remaining values of the page
}

// pages returns a column's pages in a row group.
func (f *file) pages(at, group int) graphio.ParquetPages {
	c, g := &f.columns[at], &f.meta.RowGroups[group]
	m := &g.Columns[c.leaf].MetaData
	p := &pages{source: f.source, column: c, codec: m.Codec, all: g.NumRows, rows: g.NumRows}
	p.at = chunkStart(m)
	p.end = p.at + m.TotalCompressedSize
	return p
}

// readPage reads a data page or a dictionary.
func (p *pages) readPage() error {
	if p.at >= p.end {
		return errors.New("fewer values than rows")
	}
	h, err := p.readHeader()
	if err != nil {
		return err
	}
	size, whole := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	v1, v2 := h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues
	d := h.DictionaryPageHeader.V.NumValues
	n := int64(max(v1, v2, d))
	switch {
	case min(v1, v2, d) < 0 || size < 0 || whole < 0 || size > p.end-p.at || whole > maxPage:
		return fmt.Errorf("a page of %d bytes (%d in the file)", whole, size)
	case n > maxPageValues || h.Type != format.DictionaryPage && n > p.rows:
		return fmt.Errorf("a page of %d values where %d rows are left", n, p.rows)
	}
	// A page of equal values has very few bytes but may claim many values.
	if need := whole + size + 40*n; need > maxPage/4 {
		p.source.Admit(need, fmt.Sprintf("a page of %d values", n))
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
		return nil // an index page, which is not used
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
		h := new(format.PageHeader)
		n, err := decodeThrift(p.header, h)
		if err == errThriftEnd && size < min(p.end-p.at, maxPageHeader) {
			continue
		}
		p.at += int64(n)
		return h, err
	}
}

var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	return d // only wrong options cause an error
})

// decompress returns the size bytes of a page. The library's codecs have no limit, so decompress
// stops at size.
func (p *pages) decompress(raw []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed {
		if len(raw) != size {
			return nil, errPageForm
		}
		return raw, nil
	}
	if p.page = grow(p.page, size+1); size == 0 {
		return nil, nil
	}
	n, err := 0, error(nil)
	stream := func(r io.Reader) { // one byte more is an error
		if n, err = io.ReadFull(r, p.page); err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil
		}
	}
	switch p.codec {
	case format.Snappy:
		if n, err = s2.DecodedLen(raw); err == nil && n == size {
			_, err = s2.Decode(p.page, raw)
		}
	case format.Zstd:
		var all []byte
		all, err = zstdDecoder().DecodeAll(raw, p.page[:0:size])
		n = len(all)
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			stream(z)
		}
	case format.Brotli:
		stream(brotli.NewReader(bytes.NewReader(raw)))
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(raw, p.page)
	default:
		return nil, fmt.Errorf(
			"pages compressed by %s, expected snappy, gzip, zstd, brotli or lz4_raw", p.codec)
	}
	if err == nil && n != size {
		err = errPageForm
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing a page (%s): %w", p.codec, err)
	}
	return p.page[:size], nil
}

// dictionaryPage reads the dictionary. Data pages contain indices into it.
func (p *pages) dictionaryPage(h *format.PageHeader, size int) error {
	d := &h.DictionaryPageHeader.V
	if p.dictionary != nil || d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return fmt.Errorf("a dictionary in the encoding %s, or a second one", d.Encoding)
	}
	data, err := p.decompress(p.raw, size)
	if err == nil {
		p.dictionary = new(values)
		*p.dictionary, err = p.decode(data, int(d.NumValues), format.Plain)
	}
	return err
}

// dataPage begins a data page.
func (p *pages) dataPage(h *format.PageHeader, size int) (err error) {
	var levels, data []byte // levels mark the missing values
	n, encoding, optional := 0, format.Plain, p.column.optional
	v1, v2 := &h.DataPageHeader.V, &h.DataPageHeaderV2.V
	if h.Type == format.DataPage {
		n, encoding = int(v1.NumValues), v1.Encoding
		if data, err = p.decompress(p.raw, size); err == nil && optional {
			levels, data, err = cutLevels(data)
		}
	} else {
		n, encoding = int(v2.NumValues), v2.Encoding
		optional = optional && (v2.DefinitionLevelsByteLength > 0 || v2.NumNulls != 0)
		from := int(v2.RepetitionLevelsByteLength) // these levels are not compressed
		to := from + int(v2.DefinitionLevelsByteLength)
		if from < 0 || to < from || to > min(len(p.raw), size) {
			return errPageForm
		}
		levels, data = p.raw[from:to], p.raw[to:]
		if !v2.IsCompressed.Valid || v2.IsCompressed.V {
			data, err = p.decompress(data, size-to)
		}
	}
	if err == nil && optional {
		err = p.noNulls(levels, n)
	}
	if err != nil {
		return err
	}
	p.rows -= int64(n)
	if encoding == format.RLEDictionary || encoding == plainDictionary {
		p.values, err = p.look(data, n)
	} else {
		p.values, err = p.decode(data, n, encoding)
	}
	return err
}

// cutLevels separates the levels of a page of version 1 from its values.
func cutLevels(data []byte) (levels, rest []byte, err error) {
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, nil, errPageShort
	}
	size := 4 + binary.LittleEndian.Uint32(data)
	return data[4:size], data[size:], nil
}

// grow returns a buffer of n bytes. It reuses buf if it is large enough.
func grow(buf []byte, n int) []byte { return slices.Grow(buf[:0], n)[:n] }

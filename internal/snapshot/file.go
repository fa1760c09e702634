package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/wire"
)

// A file of arrays, as an object of a store or mapped into memory. All numbers are little-endian.
//
//	| magic (8) | version (4) | byte order (4) | length of the header (4) | header, JSON |
//	| zeros to a multiple of 4096 |
//	| array | zeros to a multiple of 64 | array | ...
//	|<- block of 1 MiB ->|<- block ->| ... | the last one is shorter
//
// The header has each array's name, type, place and length, and the CRC-32C of each block of what
// comes after it. Who refers to the file has the CRC-32C of all before the first array, so that it
// vouches for every byte.
const (
	magic     = "superst\x1a"
	version   = 2
	order     = 0x01020304 // which other processors would have written the other way round
	preamble  = 20
	dataAlign = 4096
	align     = 64
	blockSize = 1 << 20

	maxHeader = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the header of a file.
type header struct {
	Kind      string       `json:"kind"` // partition, vertices or names
	ID        string       `json:"id"`   // of the snapshot
	Partition *graph.Shape `json:"partition,omitempty"`
	Count     int          `json:"count"` // see File
	Arrays    []array      `json:"arrays"`
	Blocks    []uint32     `json:"blocks"`
}

// Kinds of files.
const (
	partitionKind = "partition"
	verticesKind  = "vertices"
	namesKind     = "names"
)

// array is the position of an array, relative to the first.
type array struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	At     int64  `json:"at"`
	Length int64  `json:"length"` // in elements
}

// File is the description of a file that a reader needs.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Header is the CRC-32C of all bytes before the first array. It protects the checksums of the
	// rest.
	Header uint32 `json:"header_crc32c"`
	// Count is the number of vertices in a file of the index, or of names in a file of names. Their
	// input ids are consecutive from First on, unless the file is Listed and contains them.
	Count  int    `json:"count,omitempty"`
	First  uint64 `json:"first,omitempty"`
	Listed bool   `json:"listed,omitempty"`
}

// image is a file to be written: views of arrays in memory, with zeros between them.
type image struct {
	head   []byte
	header header
	data   [][]byte // after the head
	end    int64    // their length
}

var zeros [align]byte

func put[T any](m *image, name, kind string, s []T) {
	gap, data := -m.end&(align-1), wire.Bytes(s)
	m.header.Arrays = append(m.header.Arrays, array{name, kind, m.end + gap, int64(len(s))})
	m.data = append(m.data, zeros[:gap], data)
	m.end += gap + int64(len(data))
}

// Uint32s and the other methods implement graph.Arrays.
func (m *image) Uint32s(name string, s *[]uint32)   { put(m, name, "uint32", *s) }
func (m *image) Uint64s(name string, s *[]uint64)   { put(m, name, "uint64", *s) }
func (m *image) Float32s(name string, s *[]float32) { put(m, name, "float32", *s) }
func (m *image) Float64s(name string, s *[]float64) { put(m, name, "float64", *s) }

// finish makes the head.
func (m *image) finish() error {
	for from := int64(0); from < m.end; from += blockSize {
		sum := uint32(0)
		each(m.data, from, from+blockSize,
			func(some []byte) { sum = crc32.Update(sum, castagnoli, some) })
		m.header.Blocks = append(m.header.Blocks, sum)
	}
	text, err := json.Marshal(&m.header)
	if err != nil {
		return err
	}
	if len(text) > maxHeader {
		return fmt.Errorf("a header of %d bytes, expected at most %d", len(text), maxHeader)
	}
	m.head = make([]byte, start(len(text)))
	copy(m.head, magic)
	binary.LittleEndian.PutUint32(m.head[8:], version)
	binary.LittleEndian.PutUint32(m.head[12:], order)
	binary.LittleEndian.PutUint32(m.head[16:], uint32(len(text)))
	copy(m.head[preamble:], text)
	return nil
}

// size returns the size of the whole file.
func (m *image) size() int64 { return int64(len(m.head)) + m.end }

// start returns the position of the first array after a header of a number of bytes.
func start(header int) int64 {
	return (preamble + int64(header) + dataAlign - 1) / dataAlign * dataAlign
}

// each calls f for the bytes [from, to) of pieces that follow one another.
func each(pieces [][]byte, from, to int64, f func(some []byte)) {
	for _, piece := range pieces {
		n := int64(len(piece))
		if from < n && to > 0 {
			f(piece[max(from, 0):min(to, n)])
		}
		from, to = from-n, to-n
	}
}

// ReadAt reads from the file to be written.
func (m *image) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("reading before the beginning")
	}
	n := 0
	take := func(some []byte) { n += copy(p[n:], some) }
	each(append([][]byte{m.head}, m.data...), off, off+int64(len(p)), take)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// parseHead checks the beginning of a file up to its arrays. It returns the header and the position
// of the arrays.
func parseHead(head []byte, f File) (*header, int64, error) {
	length, err := headLength(head, f)
	if err != nil {
		return nil, 0, err
	}
	at := start(length)
	if int64(len(head)) < at {
		return nil, 0, fmt.Errorf("found a header of %d bytes in a file of %d", length, len(head))
	}
	if sum := crc32.Checksum(head[:at], castagnoli); sum != f.Header {
		return nil, 0, fmt.Errorf("the header has checksum %08x, expected %08x: it was damaged",
			sum, f.Header)
	}
	h := new(header)
	text := json.NewDecoder(bytes.NewReader(head[preamble : preamble+length]))
	text.DisallowUnknownFields()
	if err := text.Decode(h); err != nil {
		return nil, 0, fmt.Errorf("the header: %w", err)
	}
	return h, at, h.check(at, f)
}

// headLength returns the length of the header in bytes.
func headLength(head []byte, f File) (int, error) {
	if len(head) < preamble || string(head[:8]) != magic {
		return 0, errors.New("it is not a file of a snapshot")
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != version {
		return 0, fmt.Errorf("found version %d, expected %d: another version of superstep wrote it, or it was damaged", v, version)
	}
	if binary.LittleEndian.Uint32(head[12:]) != order {
		return 0, errors.New("it has another byte order")
	}
	length := int64(binary.LittleEndian.Uint32(head[16:]))
	if length > maxHeader || start(int(length)) > f.Size {
		return 0, fmt.Errorf("found a header of %d bytes in a file of %d", length, f.Size)
	}
	return int(length), nil
}

// sizes are the numbers of bytes of an element, by type.
var sizes = map[string]int64{"uint8": 1, "uint32": 4, "uint64": 8, "float32": 4, "float64": 8}

// check returns an error unless the header's arrays are consecutive in the file.
func (h *header) check(start int64, f File) error {
	data := f.Size - start
	if blocks := (data + blockSize - 1) / blockSize; int64(len(h.Blocks)) != blocks {
		return fmt.Errorf("found checksums of %d blocks, expected %d", len(h.Blocks), blocks)
	}
	end := int64(0)
	for _, a := range h.Arrays {
		size := sizes[a.Type]
		if size == 0 || a.At < end || a.At%align != 0 || a.At > data || a.Length < 0 ||
			a.Length > (data-a.At)/size {
			return fmt.Errorf("array %.40q of %d elements (%.10q) at %d: the file has %d bytes for arrays", a.Name, a.Length, a.Type, a.At, data)
		}
		end = a.At + a.Length*size
	}
	if end != data {
		return fmt.Errorf("arrays end at %d, expected %d", end, data)
	}
	return nil
}

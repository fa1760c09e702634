package vertexset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/mem"
)

// A set in bytes, in a file, a message or a checkpoint. Numbers are little-endian:
//
//	| "vertices" | version = 1 (4) | 0 (4) | fingerprint (8) | ids (8) | count (8) | length (8) |
//	| Roaring bitmap, length bytes, in the portable format of RoaringFormatSpec |
//	| CRC-32C of all bytes before (4) |
//
// fingerprint and ids are those of the graph's numbering, and 0 in a set of no graph. The bitmap
// has count vertices, all below ids. An empty set has no bitmap.
const (
	magic      = "vertices"
	version    = 1
	headerSize = graph.HeaderOfSet
	sumSize    = 4
)

// Limits of the Roaring format.
const (
	containerIDs   = 1 << 16
	containerBytes = 8192                            // of the largest useful container
	containerMost  = containerBytes + 2 + 4 + 4      // with its entries in the header
	mostBytes      = 16 + containerIDs*containerMost // of any set
	withRuns       = 12347
	withoutRuns    = 12346
	offsetsFrom    = 4 // with runs, so many containers have offsets
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func init() {
	graph.ReadSet = func(ctx context.Context, path string) (graph.VertexSet, error) {
		s, err := ReadFile(ctx, path)
		return s, err
	}
	graph.SetHeader = func(data []byte) (graph.VertexSet, int, error) {
		s, length, err := header(data)
		return s, headerSize + int(length) + sumSize, err
	}
	graph.DecodeSet = func(data []byte) (graph.VertexSet, error) {
		var s Set
		err := s.decode(data)
		return s, err
	}
}

// MarshalBinary encodes the set. Equal sets have equal bytes.
func (s Set) MarshalBinary() ([]byte, error) {
	var data []byte
	if s.Len() > 0 {
		smallest := s.bits.Clone()
		smallest.RunOptimize()
		var err error
		if data, err = smallest.ToBytes(); err != nil {
			return nil, err
		}
	}
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, x := range []uint64{s.fingerprint, s.ids, uint64(s.Len()), uint64(len(data))} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// UnmarshalBinary decodes a set. It copies the bytes.
func (s *Set) UnmarshalBinary(data []byte) error { return s.decode(bytes.Clone(data)) }

// decode decodes a set and takes over its bytes.
func (s *Set) decode(data []byte) error {
	found, length, err := header(data)
	if err != nil {
		return err
	}
	if uint64(len(data)) != headerSize+length+sumSize {
		return fmt.Errorf("found %d bytes, expected %d", len(data), headerSize+length+sumSize)
	}
	end := headerSize + int(length)
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return errors.New("the checksum is wrong: the data are damaged")
	}
	count := binary.LittleEndian.Uint64(data[32:])
	if count == 0 && length == 0 {
		*s = found
		return nil
	}
	if found.bits, err = parse(data[headerSize:end:end]); err != nil {
		return fmt.Errorf("malformed bitmap: %w", err)
	}
	if n := found.bits.GetCardinality(); n != count || count == 0 {
		return fmt.Errorf("found %d vertices, expected %d", n, count)
	}
	*s, err = found.within()
	return err
}

// header returns the set of a header without its bitmap, and the length of the bitmap.
func header(data []byte) (s Set, length uint64, err error) {
	switch {
	case len(data) < headerSize || string(data[:len(magic)]) != magic:
		return s, 0, errors.New("found no vertex set")
	case binary.LittleEndian.Uint32(data[8:]) != version ||
		binary.LittleEndian.Uint32(data[12:]) != 0:
		return s, 0, fmt.Errorf("found a vertex set of version %d, expected version %d",
			binary.LittleEndian.Uint32(data[8:]), version)
	}
	s.fingerprint, s.ids = binary.LittleEndian.Uint64(data[16:]),
		binary.LittleEndian.Uint64(data[24:])
	length = binary.LittleEndian.Uint64(data[40:])
	most := uint64(mostBytes)
	if s.fingerprint != 0 {
		most = 16 + (s.ids+containerIDs-1)/containerIDs*containerMost
	}
	if (s.fingerprint == 0) != (s.ids == 0) || s.ids > math.MaxUint32+1 || length > most {
		return s, 0, fmt.Errorf("found a bitmap of %d bytes for %d vertices, expected at most %d",
			length, s.ids, most)
	}
	return s, length, nil
}

// parse reads a bitmap and takes over its bytes.
func parse(data []byte) (*roaring.Bitmap, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	read := roaring.New()
	n, err := read.FromBuffer(data)
	if err == nil && n != int64(len(data)) {
		err = fmt.Errorf("found %d bytes, expected %d", len(data), n)
	}
	return read, err
}

// check checks a bitmap's containers in linear time. roaring.Bitmap.Validate compares each run with
// each other run.
func check(data []byte) error {
	short := errors.New("the bitmap is too short")
	take := func(n int) (part []byte) {
		if n <= len(data) {
			part, data = data[:n], data[n:]
		}
		return part
	}
	head := take(4)
	if head == nil {
		return short
	}
	cookie, n, runs := binary.LittleEndian.Uint32(head), 0, []byte(nil)
	if cookie&0xffff == withRuns {
		n = int(cookie>>16) + 1
		if runs = take((n + 7) / 8); runs == nil {
			return short
		}
	} else if head = take(4); cookie != withoutRuns || head == nil {
		return short
	} else if size := binary.LittleEndian.Uint32(head); size <= containerIDs {
		n = int(size)
	} else {
		return fmt.Errorf("found %d containers, expected at most %d", size, containerIDs)
	}
	sizes := take(4 * n)
	if sizes == nil || (runs == nil || n >= offsetsFrom) && take(4*n) == nil {
		return short
	}
	next := 0
	for i := range n {
		key := int(binary.LittleEndian.Uint16(sizes[4*i:]))
		count := int(binary.LittleEndian.Uint16(sizes[4*i+2:])) + 1
		size, width := 2*count, 2
		if runs != nil && runs[i/8]>>(i%8)&1 == 1 {
			head := take(2)
			if head == nil {
				return short
			}
			size, width = 4*int(binary.LittleEndian.Uint16(head)), 4
		} else if size > containerBytes {
			size, width = containerBytes, 8
		}
		part := take(size)
		if part == nil {
			return short
		}
		if key < next || elements(part, width) != count {
			return fmt.Errorf("container %d: the vertices do not ascend, or are not %d", key, count)
		}
		next = key + 1
	}
	return nil
}

// elements returns the number of vertices in a container of words of 64 vertices, of runs or of
// single vertices. It returns -1 if they do not ascend, or if runs touch each other.
func elements(part []byte, width int) (n int) {
	for next := 0; len(part) > 0; part = part[width:] {
		first, more := int(binary.LittleEndian.Uint16(part)), 0
		switch width {
		case 8:
			n += bits.OnesCount64(binary.LittleEndian.Uint64(part))
			continue
		case 4:
			more = int(binary.LittleEndian.Uint16(part[2:]))
		}
		if first < next || first+more >= containerIDs {
			return -1
		}
		n, next = n+1+more, first+more+width/2
	}
	return n
}

// Read reads a set to the end of r.
func Read(r io.Reader) (s Set, err error) {
	defer mem.Recover(&err)
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(r, head); err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return s, err
	}
	_, length, err := header(head)
	if err != nil {
		return s, err
	}
	mem.Ask("vertex sets", 2*int64(length)) // what is read, and the set
	data := bytes.NewBuffer(head)           // grows with what is read
	if _, err := io.Copy(data, io.LimitReader(r, int64(length)+sumSize+1)); err != nil {
		return s, err
	}
	err = s.decode(data.Bytes())
	return s, err
}

// WriteTo writes the set in the format that Read reads.
func (s Set) WriteTo(w io.Writer) (int64, error) {
	data, err := s.MarshalBinary()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	return int64(n), err
}

// ReadFile reads a set from a file.
func ReadFile(ctx context.Context, path string) (s Set, err error) {
	f, err := graphio.Open(ctx, path)
	if err == nil {
		defer func() { _ = f.Close() }()
		s, err = Read(f)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// WriteFile writes a set to a file, which is complete or absent. The set must belong to a graph.
func (s Set) WriteFile(ctx context.Context, path string) error {
	if s.fingerprint == 0 {
		return fmt.Errorf("%s: the vertex set belongs to no graph: bind it to one", path)
	}
	return graphio.WriteFile(ctx, path, 0o666, 1, func(w io.Writer) error {
		_, err := s.WriteTo(w)
		return err
	})
}

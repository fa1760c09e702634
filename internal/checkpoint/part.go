package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/s2"
)

// The format of a stored part is SSPART02, and then a stream of S2, which has a checksum of each
// block. The stream contains:
//
//	+----------------+---------------+----------------------------+
//	| bytes of head  | Part, as JSON | sections, one after another |
//	+----------------+---------------+----------------------------+
//
// The number has 4 bytes, little-endian.
const (
	magic      = "SSPART02"
	blockBytes = 1 << 20 // greatest uncompressed size of a block
	blockHead  = 8       // least size of a block in the stream
	maxHead    = 1 << 20
)

// encode returns the stored form of a part. It drops each section after encoding it, so that its
// memory can be freed.
func encode(p *Part) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	all := bytes.NewBufferString(magic)
	to := s2.NewWriter(all, s2.WriterConcurrency(1), // it has two buffers of a block's size
		s2.WriterBlockSize(min(4<<10+int(p.Bytes()), blockBytes)))
	// Close returns the error of any Write.
	_, _ = to.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	for i, s := range p.Sections {
		_, _ = to.Write(s.Data)
		p.Sections[i].Data = nil
	}
	err = to.Close()
	return all.Bytes(), err
}

// errPart means that bytes are not a part as encode makes it: they are of another version, or
// damaged.
var errPart = errors.New("it is no part of a checkpoint of this version, or is damaged")

// decode reads a part. b may be any bytes.
func decode(b []byte) (*Part, error) {
	stream, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("%w: found %.16q at its beginning, expected %q", errPart, b, magic)
	}
	from := s2.NewReader(bytes.NewReader(stream), s2.ReaderMaxBlockSize(blockBytes),
		s2.ReaderAllocBlock(4<<10)) // initially
	left := (len(stream)/blockHead + 1) * blockBytes // a greater result is impossible
	next := func(n int) ([]byte, error) {
		if n < 0 || n > left {
			return nil, fmt.Errorf("%w: found length %d, expected at most %d", errPart, n, left)
		}
		left -= n
		data := make([]byte, n)
		if _, err := io.ReadFull(from, data); err != nil {
			return nil, fmt.Errorf("%w: %w", errPart, err)
		}
		return data, nil
	}
	size, err := next(4)
	if err != nil {
		return nil, err
	}
	text, err := next(int(min(binary.LittleEndian.Uint32(size), maxHead)))
	if err != nil {
		return nil, err
	}
	p := &Part{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: its head: %w", errPart, err)
	}
	if p.Of < 1 || p.Partition < 0 || p.Partition >= p.Of || p.Vertices < 0 ||
		p.Vertices > math.MaxUint32 {
		return nil, fmt.Errorf("%w: partition %d of %d with %d vertices", errPart, p.Partition,
			p.Of, p.Vertices)
	}
	for i, s := range p.Sections {
		if p.Sections[i].Data, err = next(s.Bytes); err != nil {
			return nil, fmt.Errorf("section %.80q: %w", s.Name, err)
		}
	}
	if n, err := from.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, fmt.Errorf("%w: found data after the last section", errPart)
	}
	return p, nil
}

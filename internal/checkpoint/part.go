package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"
)

// A part as it is stored:
//
//	0          8                12
//	+----------+----------------+----------------+------------------------------------------+
//	| SSPART01 | bytes of head  | head, as JSON  | each section's blocks, one after another |
//	+----------+----------------+----------------+------------------------------------------+
//
// A block has the bytes that it stands for (4 bytes), those that follow (4), and these, compressed by s2; as they are where both numbers are
// the same. Numbers are little-endian.
const (
	magic      = "SSPART01"
	blockBytes = 1 << 20
	maxHead    = 1 << 20
)

type head struct {
	Partition int           `json:"partition"`
	Of        int           `json:"of"`
	Superstep int           `json:"superstep"`
	Vertices  int           `json:"vertices"`
	Print     uint64        `json:"print"`
	Sections  []headSection `json:"sections"`
}

type headSection struct {
	Name   string `json:"name"`
	Raw    int    `json:"raw"`
	Stored int    `json:"stored"`
}

// encode returns a part as it is stored. It forgets the sections as it goes, so that their memory can be had back.
func encode(p *Part) ([]byte, error) {
	h := head{p.Partition, p.Of, p.Superstep, p.Vertices, p.Print, nil}
	var body []byte
	for i, s := range p.Sections {
		before := len(body)
		for data := s.Data; len(data) > 0; {
			block := data[:min(len(data), blockBytes)]
			data = data[len(block):]
			body = appendBlock(body, block)
		}
		h.Sections = append(h.Sections, headSection{s.Name, len(s.Data), len(body) - before})
		p.Sections[i].Data = nil
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	all := make([]byte, 0, len(magic)+4+len(text)+len(body))
	all = append(all, magic...)
	all = binary.LittleEndian.AppendUint32(all, uint32(len(text)))
	return append(append(all, text...), body...), nil
}

func appendBlock(to, block []byte) []byte {
	at := len(to)
	to = append(to, make([]byte, 8+s2.MaxEncodedLen(len(block)))...)
	packed := s2.Encode(to[at+8:], block)
	if len(packed) >= len(block) {
		packed = to[at+8 : at+8+copy(to[at+8:], block)]
	}
	binary.LittleEndian.PutUint32(to[at:], uint32(len(block)))
	binary.LittleEndian.PutUint32(to[at+4:], uint32(len(packed)))
	return to[:at+8+len(packed)]
}

// errPart is what is wrong with a part that is not as encode makes them.
var errPart = errors.New("it is no part of a checkpoint, or is broken")

// decode reads a part. It bears any bytes.
func decode(b []byte) (*Part, error) {
	if len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: found %.16q at its beginning, expected %q", errPart, b[:min(len(b), 16)], magic)
	}
	n := binary.LittleEndian.Uint32(b[len(magic):])
	if b = b[len(magic)+4:]; n > maxHead || int(n) > len(b) {
		return nil, fmt.Errorf("%w: found a head of %d bytes in %d", errPart, n, len(b))
	}
	var h head
	if err := json.Unmarshal(b[:n], &h); err != nil {
		return nil, fmt.Errorf("%w: its head: %w", errPart, err)
	}
	if h.Of < 1 || h.Partition < 0 || h.Partition >= h.Of || h.Vertices < 0 || h.Vertices > math.MaxUint32 {
		return nil, fmt.Errorf("%w: partition %d of %d with %d vertices", errPart, h.Partition, h.Of, h.Vertices)
	}
	p := &Part{Partition: h.Partition, Of: h.Of, Superstep: h.Superstep, Vertices: h.Vertices, Print: h.Print}
	b = b[n:]
	for _, s := range h.Sections {
		if s.Stored < 0 || s.Stored > len(b) || s.Raw < 0 {
			return nil, fmt.Errorf("%w: section %.80q has %d bytes of %d", errPart, s.Name, s.Stored, len(b))
		}
		data, err := unblock(b[:s.Stored], s.Raw)
		if err != nil {
			return nil, fmt.Errorf("section %.80q: %w", s.Name, err)
		}
		p.Add(s.Name, data)
		b = b[s.Stored:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind its sections", errPart, len(b))
	}
	return p, nil
}

// unblock returns the bytes that a section's blocks stand for, which are said to be raw many.
func unblock(b []byte, raw int) ([]byte, error) {
	sum := 0
	for rest := b; len(rest) > 0; {
		if len(rest) < 8 {
			return nil, fmt.Errorf("%w: a block of %d bytes", errPart, len(rest))
		}
		whole, packed := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if whole > blockBytes || packed > whole || int(packed) > len(rest)-8 {
			return nil, fmt.Errorf("%w: a block of %d bytes for %d, where %d are left", errPart, packed, whole, len(rest)-8)
		}
		if packed < whole {
			if n, err := s2.DecodedLen(rest[8 : 8+packed]); err != nil || n != int(whole) {
				return nil, fmt.Errorf("%w: a block that stands for %d bytes, and said %d", errPart, n, whole)
			}
		}
		sum += int(whole)
		rest = rest[8+packed:]
	}
	if sum != raw {
		return nil, fmt.Errorf("%w: blocks of %d bytes, and %d said", errPart, sum, raw)
	}
	data := make([]byte, 0, raw)
	for len(b) > 0 {
		whole, packed := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
		block := b[8 : 8+packed]
		if b = b[8+packed:]; packed == whole {
			data = append(data, block...)
			continue
		}
		at := len(data)
		data = data[:at+whole]
		if _, err := s2.Decode(data[at:at+whole], block); err != nil {
			return nil, fmt.Errorf("%w: %w", errPart, err)
		}
	}
	return data, nil
}

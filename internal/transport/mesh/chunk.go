package mesh

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/transport"
)

// A frame is sent on a connection as one or more chunks in order. Pings may come between them. A
// chunk is a header and a part of the frame's payload, which is its presence and then its values.
// Numbers are little-endian.
//
//	 0  magic "SSFR"            4 | version        2 | kind 1 | encoding 1
//	 8  job                                                              8
//	16  sender's incarnation                                             8
//	24  attempt epoch           4 | superstep                            4
//	32  sender partition        4 | receiver partition                   4
//	40  count                                                            8
//	48  bytes of presence, in the whole frame                            8
//	56  bytes of values, in the whole frame                              8
//	64  offset of this chunk in the payload                              8
//	72  bytes of payload here   4 | form 1 | zero                        3
//	80  sequence: of the chunk on its connection, from 0                 4
//	84  sum of the payload here, as it travels (sumOf); with TLS 0       8
//	92  bytes of payload here as it travels compressed, 0: as it is      4
//	96  CRC32-C of bytes 0 to 95                                         4
//	100 payload
//
// A compressed payload is a block of S2 (github.com/klauspost/compress/s2), shorter than the
// payload. The last checksum covers the payload's sum, and so the whole chunk. A ping has kind 255.
// It has only magic, version, incarnation, sequence and checksums, and no payload. A message of a
// Link has kind 254. It has the numbers of workers instead of partitions, the tag instead of the
// superstep, only values, and no count. Chunks of frames, and of messages under other tags, may
// come between its chunks.
const (
	chunkMagic   = "SSFR"
	headerSize   = 100
	kindPing     = 255
	kindMessage  = 254
	maxChunk     = 64 << 20 // greatest payload of a chunk
	formRaw      = 0
	formPacked   = 1 // the codec encoded the values
	checkedBytes = 96
)

// Version is the version of the protocol: of hellos, chunks and credits.
const Version = 7

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// identity is the part of the header that all chunks of a frame share.
type identity struct {
	kind, encoding, form      uint8
	epoch, superstep          uint32
	from, to                  uint32
	job, incarnation          uint64
	count, presence, contents uint64
}

func (i *identity) payload() uint64 { return i.presence + i.contents }

func (i *identity) String() string {
	return fmt.Sprintf("%s frame of job %d, epoch %d, superstep %d, partition %d to %d",
		kindName(i.kind), i.job, i.epoch, i.superstep, i.from, i.to)
}

func kindName(kind uint8) string {
	if kind == kindMessage {
		return "message"
	}
	if int(kind) < transport.Kinds {
		return transport.Kind(kind).String()
	}
	return fmt.Sprintf("kind %d", kind)
}

// header is the header of a chunk.
type header struct {
	identity
	offset   uint64
	length   uint32
	sequence uint32
	sum      uint64 // of the payload
	packed   uint32 // bytes of the compressed payload, or 0
}

// size returns the number of payload bytes on the wire.
func (h *header) size() int {
	if h.packed > 0 {
		return int(h.packed)
	}
	return int(h.length)
}

// errCorrupt is the error of a damaged or foreign chunk.
var errCorrupt = errors.New("corrupt frame")

// put writes the header to b, which must have headerSize bytes.
func (h *header) put(b []byte) {
	le := binary.LittleEndian
	copy(b, chunkMagic)
	le.PutUint16(b[4:], Version)
	b[6], b[7] = h.kind, h.encoding
	le.PutUint64(b[8:], h.job)
	le.PutUint64(b[16:], h.incarnation)
	le.PutUint32(b[24:], h.epoch)
	le.PutUint32(b[28:], h.superstep)
	le.PutUint32(b[32:], h.from)
	le.PutUint32(b[36:], h.to)
	le.PutUint64(b[40:], h.count)
	le.PutUint64(b[48:], h.presence)
	le.PutUint64(b[56:], h.contents)
	le.PutUint64(b[64:], h.offset)
	le.PutUint32(b[72:], h.length)
	b[76], b[77], b[78], b[79] = h.form, 0, 0, 0
	le.PutUint32(b[80:], h.sequence)
	le.PutUint64(b[84:], h.sum)
	le.PutUint32(b[92:], h.packed)
	le.PutUint32(b[checkedBytes:], crc32.Checksum(b[:checkedBytes], castagnoli))
}

// parse reads a header from headerSize bytes. maxFrame is the greatest payload of a frame.
func (h *header) parse(b []byte, maxFrame uint64) error {
	le := binary.LittleEndian
	if string(b[:4]) != chunkMagic {
		return fmt.Errorf("%w: found %q, expected %s", errCorrupt, b[:4], chunkMagic)
	}
	if sum := crc32.Checksum(b[:checkedBytes], castagnoli); sum != le.Uint32(b[checkedBytes:]) {
		return fmt.Errorf("%w: header checksum", errCorrupt)
	}
	if v := le.Uint16(b[4:]); v != Version {
		return fmt.Errorf("%w: found version %d, expected %d", errCorrupt, v, Version)
	}
	*h = header{
		identity: identity{
			kind: b[6], encoding: b[7], form: b[76],
			job: le.Uint64(b[8:]), incarnation: le.Uint64(b[16:]),
			epoch: le.Uint32(b[24:]), superstep: le.Uint32(b[28:]),
			from: le.Uint32(b[32:]), to: le.Uint32(b[36:]),
			count: le.Uint64(b[40:]), presence: le.Uint64(b[48:]), contents: le.Uint64(b[56:]),
		},
		offset: le.Uint64(b[64:]), length: le.Uint32(b[72:]), sequence: le.Uint32(b[80:]),
		sum:    le.Uint64(b[84:]),
		packed: le.Uint32(b[92:]),
	}
	return h.check(b[77:80], maxFrame)
}

// check returns an error if the lengths are out of bounds or do not fit together.
func (h *header) check(zero []byte, maxFrame uint64) error {
	switch {
	case zero[0]|zero[1]|zero[2] != 0 || h.form > formPacked:
		return fmt.Errorf("%w: form %d", errCorrupt, h.form)
	case h.kind == kindPing:
		ping := identity{kind: kindPing, incarnation: h.incarnation}
		if *h != (header{identity: ping, sequence: h.sequence}) {
			return fmt.Errorf("%w: found a ping with data", errCorrupt)
		}
		return nil
	case int(h.kind) >= transport.Kinds && h.kind != kindMessage:
		return fmt.Errorf("%w: kind %d", errCorrupt, h.kind)
	case h.presence > maxFrame || h.contents > maxFrame || h.payload() > maxFrame ||
		h.count > 1<<40:
		return fmt.Errorf("%w: %d values, %d + %d bytes: the limit is %d bytes", errCorrupt,
			h.count, h.presence, h.contents, maxFrame)
	case h.kind == kindMessage && (h.count > 0 || h.presence > 0 || h.encoding > 0 ||
		h.form != formRaw):
		return fmt.Errorf("%w: found a message with presence", errCorrupt)
	case h.length > maxChunk:
		return fmt.Errorf("%w: a chunk of %d bytes: the limit is %d", errCorrupt, h.length,
			maxChunk)
	case h.offset > h.payload() || uint64(h.length) > h.payload()-h.offset:
		return fmt.Errorf("%w: %d bytes at %d of %d", errCorrupt, h.length, h.offset, h.payload())
	case h.packed > 0 && h.packed >= h.length:
		return fmt.Errorf("%w: %d bytes compressed to %d", errCorrupt, h.length, h.packed)
	case h.length == 0 && h.payload() > 0:
		return fmt.Errorf("%w: an empty chunk of %d bytes", errCorrupt, h.payload())
	}
	return nil
}

// wholeChunk reports whether b begins with a whole chunk, if its header is valid.
func wholeChunk(b []byte) bool {
	if len(b) < headerSize {
		return false
	}
	length, packed := binary.LittleEndian.Uint32(b[72:]), binary.LittleEndian.Uint32(b[92:])
	return uint64(len(b)) >= headerSize+uint64(cmp.Or(packed, length))
}

// presenceHere returns the number of bytes in the chunk's payload that are presence.
func (h *header) presenceHere() int {
	return int(min(max(h.presence, h.offset)-h.offset, uint64(h.length)))
}

// chunkReader reads chunks from a connection.
type chunkReader struct {
	from     io.Reader
	maxFrame uint64
	secure   bool   // payloads have no sums: TLS detects changes
	sequence uint32 // expected next
	buffer   [headerSize]byte
	packed   []byte // memory for compressed payloads, and for those to be dropped
}

// next reads a chunk. It calls place after it has checked the header. place returns memory for the
// payload, as long as the header says, or nil to drop the payload.
func (r *chunkReader) next(h *header, place func(*header) ([]byte, error)) error {
	if _, err := io.ReadFull(r.from, r.buffer[:]); err != nil {
		return err
	}
	if err := h.parse(r.buffer[:], r.maxFrame); err != nil {
		return err
	}
	if h.sequence != r.sequence {
		return fmt.Errorf("%w: chunk %d, expected %d", errCorrupt, h.sequence, r.sequence)
	}
	r.sequence++
	to, err := place(h)
	if err != nil {
		return err
	}
	s := summing{split: h.presenceHere(), size: h.size(), none: r.secure}
	into := to
	if h.packed > 0 || to == nil {
		into = r.room(s.size)
	}
	if h.packed > 0 {
		s.split = 0
	}
	if err := r.take(&s, into); err != nil {
		return cut(err)
	}
	if s.sum != h.sum {
		return fmt.Errorf("%w: payload checksum", errCorrupt)
	}
	if h.packed > 0 && to != nil {
		err = unpack(to, into)
	}
	if cap(r.packed) > mostPacked { // the budget does not count it
		r.packed = nil
	}
	return err
}

// mostPacked is the greatest memory that a connection keeps for payloads that are not read to their
// place. A chunk has by default at most 1 MB, but the other side may send maxChunk.
const mostPacked = 2 << 20

// room returns memory for a payload that is not read to its place.
func (r *chunkReader) room(n int) []byte {
	if cap(r.packed) < n {
		r.packed = make([]byte, n+n/4)
	}
	return r.packed[:n]
}

// unpack decompresses a payload. It returns an error unless the length is that of the header.
func unpack(to, packed []byte) error {
	n, err := s2.DecodedLen(packed)
	if err != nil || n != len(to) {
		return fmt.Errorf("%w: a compressed payload has %d bytes, expected %d (%v)", errCorrupt,
			n, len(to), err)
	}
	if _, err := s2.Decode(to[:n:n], packed); err != nil {
		return fmt.Errorf("%w: a compressed payload: %w", errCorrupt, err)
	}
	return nil
}

// take reads a payload and adds it to the sum.
func (r *chunkReader) take(s *summing, to []byte) error {
	for have := 0; have < len(to); {
		n, err := r.from.Read(to[have:])
		have += n
		if err != nil && have < len(to) {
			return err
		}
		s.upTo(to, have)
	}
	return nil
}

// cut turns the end of the stream inside a chunk into an error.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

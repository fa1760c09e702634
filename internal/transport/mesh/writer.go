package mesh

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"
)

// small is the payload up to which a chunk is copied behind others: about what it costs to write
// one from its own place.
const small = 8 << 10

// Of what is written at once: bytes of headers and small payloads, bytes in all, and pieces of
// memory.
const (
	batchSize  = 64 << 10
	mostAtOnce = 1 << 20
	mostPieces = 256
)

// writer collects chunks and writes them at once. Payloads that are not small must stay as they are
// until flush returns.
type writer struct {
	conn     net.Conn
	secure   *secured      // the connection, if it has TLS
	patience time.Duration // for the other side to take a byte
	written  *atomic.Uint64
	sequence uint32
	batch    []byte   // headers and small payloads; it never moves
	apart    int      // where the part of the batch begins that is not in pieces yet
	pieces   [][]byte // in order
	bytes    int      // in pieces and batch
	buffers  net.Buffers

	// Of a short write under way.
	raw    syscall.RawConn // nil: there are none
	rest   []byte
	err    error
	attend func(fd uintptr) bool
}

func newWriter(c net.Conn, patience time.Duration, written *atomic.Uint64) *writer {
	w := &writer{conn: c, patience: patience, written: written, batch: make([]byte, 0, batchSize)}
	w.secure, _ = c.(*secured)
	if s, ok := c.(syscall.Conn); ok && shortBytes > 0 {
		w.raw, _ = s.SyscallConn() // without it, as what is long is written
	}
	w.attend = func(fd uintptr) bool {
		for w.err = nil; len(w.rest) > 0 && w.err == nil; {
			var n int
			n, w.err = writeShort(fd, w.rest)
			w.rest = w.rest[n:]
		}
		return w.err != syscall.EAGAIN
	}
	return w
}

// full reports whether what is collected must be written before another chunk is added.
func (w *writer) full() bool {
	return w.bytes >= mostAtOnce || len(w.pieces) > mostPieces-3 ||
		cap(w.batch)-len(w.batch) < headerSize+small
}

// add collects a chunk whose payload, as it travels, is a and b. The writer is not full.
func (w *writer) add(h *header, a, b []byte) {
	h.sequence, h.sum = w.sequence, 0
	if w.secure == nil {
		h.sum = sumOf(a, b)
	}
	w.sequence++
	n := len(w.batch)
	w.batch = w.batch[:n+headerSize]
	h.put(w.batch[n:])
	w.bytes += headerSize + len(a) + len(b)
	if len(a)+len(b) <= small {
		w.batch = append(append(w.batch, a...), b...)
		return
	}
	w.pieces = append(w.pieces, w.batch[w.apart:])
	w.apart = len(w.batch)
	for _, part := range [][]byte{a, b} {
		if len(part) > 0 {
			w.pieces = append(w.pieces, part)
		}
	}
}

// flush writes what is collected, as long as the other side takes any.
func (w *writer) flush() error {
	if w.bytes == 0 {
		return nil
	}
	if w.apart < len(w.batch) {
		w.pieces = append(w.pieces, w.batch[w.apart:])
	}
	w.buffers = w.pieces
	for {
		w.conn.SetWriteDeadline(time.Now().Add(w.patience))
		n, err := w.write()
		w.written.Add(uint64(n))
		if err == nil {
			break
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	w.batch, w.apart, w.pieces, w.bytes = w.batch[:0], 0, w.pieces[:0], 0
	return nil
}

// write writes what is in buffers, or a part of it.
func (w *writer) write() (n int64, err error) {
	if w.secure != nil {
		return w.secure.writeAll(w.buffers)
	}
	if w.raw == nil || len(w.buffers) != 1 || len(w.buffers[0]) > shortBytes {
		return w.buffers.WriteTo(w.conn)
	}
	w.rest = w.buffers[0]
	err = w.raw.Write(w.attend)
	if err == nil && w.err != nil {
		err = &net.OpError{Op: "write", Net: w.conn.LocalAddr().Network(), Source: w.conn.LocalAddr(), Addr: w.conn.RemoteAddr(), Err: w.err}
	}
	n = int64(len(w.buffers[0]) - len(w.rest))
	w.buffers[0], w.rest = w.rest, nil
	return n, err
}

// sumBlock is how many bytes of a payload are summed up at once: few enough to be in a cache still
// when they have come.
const sumBlock = 64 << 10

// A chunk's payload has a sum of 64 bits by XXH3, which is three times as fast as CRC32-C with the
// processor's help. The parts of the chunk that are presence and values are each summed up in
// blocks of sumBlock bytes, the last of which may be shorter; the sum of a block has the one of the
// block before as its seed, the first 0. With TLS it is 0: what was changed on the way does not
// decrypt.

// sumOf returns the sum of a chunk whose parts are a and b.
func sumOf(a, b []byte) uint64 {
	return sumOn(sumOn(0, a), b)
}

func sumOn(sum uint64, part []byte) uint64 {
	for len(part) > 0 {
		n := min(len(part), sumBlock)
		sum = xxh3.HashSeed(part[:n], sum)
		part = part[n:]
	}
	return sum
}

// summing is the sum of a chunk that is coming.
type summing struct {
	sum   uint64
	split int // bytes of its first part
	size  int
	done  int  // bytes that are in sum: whole blocks
	none  bool // the sum is 0, with TLS
}

// next returns where the block ends that is to be summed up next.
func (s *summing) next() int {
	if s.done < s.split {
		return min(s.done+sumBlock, s.split)
	}
	return min(s.done+sumBlock, s.size)
}

// add sums up the next block.
func (s *summing) add(block []byte) {
	if !s.none {
		s.sum = xxh3.HashSeed(block, s.sum)
	}
	s.done += len(block)
}

// upTo sums up the whole blocks among the first have bytes of the payload.
func (s *summing) upTo(payload []byte, have int) {
	for s.done < have {
		end := s.next()
		if end > have {
			return
		}
		s.add(payload[s.done:end])
	}
}

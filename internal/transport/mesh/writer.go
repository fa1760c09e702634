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

// small is the greatest payload that is copied behind other chunks: writing it from its own place
// would cost about the same.
const small = 24 << 10

// Limits of a single write: bytes of headers and small payloads, bytes in all, and pieces of
// memory.
const (
	batchSize  = 64 << 10
	mostAtOnce = 1 << 20
	mostPieces = 256
)

// writer collects chunks and writes them together. Payloads above small must not change until flush
// returns.
type writer struct {
	conn     net.Conn
	secure   *secured       // the connection, if it has TLS
	patience time.Duration  // time for the other side to accept a byte
	written  *atomic.Uint64 // counter of bytes
	sequence uint32
	batch    []byte   // headers and small payloads; it is never reallocated
	apart    int      // start of the part of batch that is not in pieces yet
	pieces   [][]byte // in order
	bytes    int      // in pieces and batch
	buffers  net.Buffers

	raw  syscall.RawConn // nil: try writes nothing
	rest []byte          // of the batch, in try
	once func(fd uintptr)
}

func newWriter(c net.Conn, patience time.Duration, written *atomic.Uint64) *writer {
	w := &writer{conn: c, patience: patience, written: written, batch: make([]byte, 0, batchSize)}
	w.secure, _ = c.(*secured)
	if s, ok := c.(syscall.Conn); ok && shortBytes > 0 {
		w.raw, _ = s.SyscallConn()
	}
	w.once = func(fd uintptr) {
		for err := error(nil); len(w.rest) > 0 && err == nil; {
			var n int
			n, err = writeShort(fd, w.rest)
			w.rest = w.rest[n:]
		}
	}
	return w
}

// full reports whether the collected chunks must be written before another is added.
func (w *writer) full() bool {
	return w.bytes >= mostAtOnce || len(w.pieces) > mostPieces-3 ||
		cap(w.batch)-len(w.batch) < headerSize+small
}

// add collects a chunk whose payload on the wire is a and b. The writer must not be full.
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

// flush writes the collected chunks. It waits as long as the other side accepts bytes.
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
		count(w.written, int(n))
		if err == nil {
			break
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	w.reset()
	return nil
}

func (w *writer) reset() { w.batch, w.apart, w.pieces, w.bytes = w.batch[:0], 0, w.pieces[:0], 0 }

// try writes a single collected chunk of at most small bytes, if the connection accepts it at once.
// If try returns false, flush must be called: it writes the rest, or returns the error.
func (w *writer) try() bool {
	w.rest = w.batch
	_ = w.raw.Control(w.once)
	w.apart = len(w.batch) - len(w.rest)
	count(w.written, w.apart)
	if w.bytes -= w.apart; w.bytes > 0 {
		return false
	}
	w.reset()
	return true
}

// write writes the buffers, or a part of them.
func (w *writer) write() (n int64, err error) {
	if w.secure != nil {
		return w.secure.writeAll(w.buffers)
	}
	return w.buffers.WriteTo(w.conn)
}

// sumBlock is the number of bytes of a payload that are summed at once: few enough to be still in a
// cache after they arrived.
const sumBlock = 64 << 10

// A chunk's payload has a sum of 64 bits by XXH3, which is three times as fast as CRC32-C with the
// processor's instructions. The chunk's presence and values are summed separately, in blocks of
// sumBlock bytes; the last block may be shorter. The seed of a block is the sum of the block
// before, at first 0. With TLS the sum is 0, because TLS detects changes.

// sumOf returns the sum of a chunk with parts a and b.
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

// summing is the sum of an arriving chunk.
type summing struct {
	sum   uint64
	split int // bytes of the first part
	size  int
	done  int  // bytes in sum so far: whole blocks
	none  bool // with TLS: the sum is 0
}

// upTo adds the whole blocks among the first have bytes of the payload.
func (s *summing) upTo(payload []byte, have int) {
	for s.done < have {
		end := min(s.done+sumBlock, s.size)
		if s.done < s.split {
			end = min(end, s.split)
		}
		if end > have {
			return
		}
		if !s.none {
			s.sum = xxh3.HashSeed(payload[s.done:end], s.sum)
		}
		s.done = end
	}
}

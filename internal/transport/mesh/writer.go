package mesh

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// small is the payload up to which a chunk is copied behind others: about what it costs to write one from its own place.
const small = 8 << 10

// Of what is written at once: bytes of headers and small payloads, bytes in all, and pieces of memory.
const (
	batchSize  = 64 << 10
	mostAtOnce = 1 << 20
	mostPieces = 256
)

// writer collects chunks and writes them at once. Payloads that are not small must stay as they are until flush returns.
type writer struct {
	conn     net.Conn
	patience time.Duration // for the other side to take a byte
	written  *atomic.Uint64
	sequence uint32
	batch    []byte   // headers and small payloads; it never moves
	apart    int      // where the part of the batch begins that is not in pieces yet
	pieces   [][]byte // in order
	bytes    int      // in pieces and batch
	buffers  net.Buffers
}

func newWriter(c net.Conn, patience time.Duration, written *atomic.Uint64) *writer {
	return &writer{conn: c, patience: patience, written: written, batch: make([]byte, 0, batchSize)}
}

// full reports whether what is collected must be written before another chunk is added.
func (w *writer) full() bool {
	return w.bytes >= mostAtOnce || len(w.pieces) > mostPieces-3 || cap(w.batch)-len(w.batch) < headerSize+small
}

// add collects a chunk whose payload, as it travels, is a and b. The writer is not full.
func (w *writer) add(h *header, a, b []byte) {
	h.sequence, h.sum = w.sequence, sumOf(a, b)
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
		n, err := w.buffers.WriteTo(w.conn)
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

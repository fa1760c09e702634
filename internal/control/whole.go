package control

import (
	"encoding/binary"
	"io"
	"net/http"
)

// whole is a transport that sends each message of a stream in one piece. A message is written as two: a prefix of 5 bytes,
// which says how long it is, and the rest; HTTP/2 would make two frames of them, with a system call for each, and wake
// the other side twice. Reports of supersteps are on the path that all workers wait for.
type whole struct{ http.RoundTripper }

func (t whole) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.ContentLength < 0 { // a stream
		r = r.Clone(r.Context())
		r.Body = &wholeBody{ReadCloser: r.Body}
	}
	return t.RoundTripper.RoundTrip(r)
}

// prefixSize is how long a message's prefix is: a byte of flags and the length, big-endian.
const prefixSize = 5

// wholeBody reads a prefix together with what follows it.
type wholeBody struct {
	io.ReadCloser
	prefix [prefixSize]byte
	have   int    // bytes of the prefix that came
	left   uint32 // of the message
}

func (b *wholeBody) Read(p []byte) (int, error) {
	if b.left > 0 || len(p) <= prefixSize {
		return b.pass(p)
	}
	n, err := io.ReadAtLeast(b.ReadCloser, p, prefixSize-b.have)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	b.note(p[:n])
	if err != nil || b.left == 0 || n == len(p) {
		return n, err
	}
	m, err := io.ReadAtLeast(b.ReadCloser, p[n:], min(int(b.left), len(p)-n))
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	b.note(p[n : n+m])
	return n + m, err
}

// pass reads what there is.
func (b *wholeBody) pass(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.note(p[:n])
	return n, err
}

// note follows the bytes of prefixes and messages.
func (b *wholeBody) note(p []byte) {
	for len(p) > 0 {
		if b.left > 0 {
			n := min(int(b.left), len(p))
			b.left -= uint32(n)
			p = p[n:]
			continue
		}
		n := copy(b.prefix[b.have:], p)
		b.have += n
		p = p[n:]
		if b.have == prefixSize {
			b.left, b.have = binary.BigEndian.Uint32(b.prefix[1:]), 0
		}
	}
}

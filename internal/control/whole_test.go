package control

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// message is one as it is written: a prefix and so many bytes.
func message(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(n))
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

// TestStreamsAreReadWhole reads messages that are written as two pieces each: one read returns all of one, if it fits.
func TestStreamsAreReadWhole(t *testing.T) {
	r, w := io.Pipe()
	body := &wholeBody{ReadCloser: r}
	sizes := []int{1, 0, 300, 0, 0, 5000}
	go func() {
		for _, n := range sizes {
			m := message(n)
			_, _ = w.Write(m[:prefixSize])
			if n > 0 {
				_, _ = w.Write(m[prefixSize:])
			}
		}
		_ = w.Close()
	}()
	p := make([]byte, 8<<10)
	for _, size := range sizes {
		n, err := body.Read(p)
		if err != nil || !bytes.Equal(p[:n], message(size)) {
			t.Fatalf("a message of %d bytes: read %d, %v", size, n, err)
		}
	}
	if n, err := body.Read(p); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// TestStreamsStayWhatTheyAre reads streams, cut off anywhere, through buffers of all sizes: the bytes are those written.
func TestStreamsStayWhatTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []byte
		for range rng.IntN(6) {
			all = append(all, message(rng.IntN(40))...)
		}
		all = all[:rng.IntN(len(all)+1)]
		var from io.Reader = bytes.NewReader(all)
		switch rng.IntN(3) {
		case 0:
			from = iotest.OneByteReader(from)
		case 1:
			from = iotest.DataErrReader(from)
		}
		body := &wholeBody{ReadCloser: io.NopCloser(from)}
		var got []byte
		p := make([]byte, 1+rng.IntN(60))
		for {
			n, err := body.Read(p)
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, all) {
			t.Fatalf("%d bytes became %d: %x, %x", len(all), len(got), all, got)
		}
	}
}

package graphio

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// codec is how a file is compressed.
type codec uint8

const (
	plain codec = iota
	gzipped
	zstandard
)

func (c codec) String() string { return [...]string{"plain", "gzip", "zstd"}[c] }

// suffix returns what the names of files so compressed end with.
func (c codec) suffix() string { return [...]string{"", ".gz", ".zst"}[c] }

// splitCodec cuts the ending that tells compression off a name.
func splitCodec(path string) (base string, c codec) {
	for _, c := range []codec{gzipped, zstandard} {
		if cut := len(path) - len(c.suffix()); cut > 0 && strings.EqualFold(path[cut:], c.suffix()) {
			return path[:cut], c
		}
	}
	return path, plain
}

// codecOf returns how a file that begins with head is compressed. A zstd file may begin with a skippable frame.
func codecOf(head []byte) codec {
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return gzipped
	case len(head) >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd,
		len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return zstandard
	}
	return plain
}

// maxWindow is the largest zstd window decoded: 128 MiB, as the zstd tool has it, so that a header of a few bytes
// cannot ask for more.
const maxWindow = 128 << 20

// expander decodes a compressed file, all members of it, up to a limit. Its errors stay.
type expander struct {
	path  string
	codec codec
	from  io.Reader
	close func()
	limit int64
	size  int64 // of the file, 0 when unknown
	n     int64 // bytes decoded
	err   error
}

// expand makes an expander of raw.
func expand(path string, c codec, raw io.Reader, size, limit int64) *expander {
	x := &expander{path: path, codec: c, size: size, limit: limit, close: func() {}}
	if x.limit <= 0 {
		x.limit = max(100*size, 1<<30)
	}
	switch c {
	case gzipped:
		z, err := gzip.NewReader(raw)
		if err != nil {
			x.err = x.corrupt(err)
			return x
		}
		x.from, x.close = z, func() { _ = z.Close() } // nothing but memory is held
	case zstandard:
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(max(x.limit, maxWindow))))
		if err != nil {
			x.err = x.corrupt(err)
			return x
		}
		x.from, x.close = z, z.Close
	}
	return x
}

func (x *expander) Read(p []byte) (int, error) {
	if x.err != nil {
		return 0, x.err
	}
	n, err := x.from.Read(p)
	x.n += int64(n)
	switch {
	case x.n > x.limit || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		x.err = x.bomb()
		return 0, x.err
	case err == io.EOF:
		x.err = io.EOF
	case err != nil:
		x.err = x.corrupt(err)
	}
	return n, x.err
}

func (x *expander) bomb() error {
	expected := "at most that: the limit on expansion"
	if x.size > 0 {
		expected += " for a file of " + counted(x.size, "byte", "bytes")
	}
	return &fault{x.path, 0, fmt.Sprintf("more than %s when expanded", counted(x.limit, "byte", "bytes")), expected}
}

// corrupt says what a decoder's error means. Errors that are not about the data pass as they are.
func (x *expander) corrupt(err error) error {
	var failed *readError
	switch {
	case errors.As(err, &failed):
		return failed
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return &fault{x.path, 0, fmt.Sprintf("the end of the file within %s data", x.codec), "the rest of it"}
	default:
		return &fault{x.path, 0, fmt.Sprintf("corrupt %s data (%v)", x.codec, err), "a whole file"}
	}
}

// compressor wraps w in an encoder for c; closing it ends the data but not w.
func compressor(w io.Writer, c codec, threads int) (io.WriteCloser, error) {
	switch c {
	case gzipped:
		return gzip.NewWriter(w), nil
	case zstandard:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(threads))
	default:
		return nopCloser{w}, nil
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

package graphio

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"
)

// codec is how a file is compressed.
type codec uint8

const (
	plain codec = iota
	gzipped
	zstandard
	bzipped // this and the next are read, not written
	xzipped
)

func (c codec) String() string { return [...]string{"plain", "gzip", "zstd", "bzip2", "xz"}[c] }

// suffix returns what the names of files so compressed end with.
func (c codec) suffix() string { return [...]string{"", ".gz", ".zst", ".bz2", ".xz"}[c] }

// splitCodec cuts the ending that tells compression off a name.
func splitCodec(path string) (base string, c codec) {
	for _, c := range []codec{gzipped, zstandard, bzipped, xzipped} {
		if cut := len(path) - len(c.suffix()); cut > 0 && strings.EqualFold(path[cut:], c.suffix()) {
			return path[:cut], c
		}
	}
	return path, plain
}

// What every member of a gzip file, and every stream of an xz file, begins with.
const (
	gzipMagic = "\x1f\x8b"
	xzMagic   = "\xfd7zXZ\x00"
)

// codecOf returns how a file that begins with head is compressed. A zstd file may begin with a skippable frame.
func codecOf(head []byte) codec {
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return gzipped
	case len(head) >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd,
		len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return zstandard
	case len(head) >= 4 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9':
		return bzipped
	case bytes.HasPrefix(head, []byte(xzMagic[:4])):
		return xzipped
	}
	return plain
}

// maxWindow is the largest window of zstd and dictionary of xz decoded: 128 MiB, as the zstd tool has it, so that a header of a few bytes
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

// expand makes an expander of what f holds.
func expand(f *file) *expander {
	x := &expander{path: f.path, codec: f.codec, size: f.size(), limit: f.limit, close: func() {}}
	if x.limit <= 0 {
		x.limit = max(100*x.size, 1<<30)
	}
	switch f.codec {
	case gzipped:
		from := bufio.NewReader(f.raw)
		z, err := gzip.NewReader(from)
		if err != nil {
			x.err = x.corrupt(err)
			return x
		}
		z.Multistream(false)
		x.from, x.close = &gzipMembers{z, from}, func() { _ = z.Close() } // nothing but memory is held
	case zstandard:
		z, err := zstd.NewReader(f.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(max(x.limit, maxWindow))))
		if err != nil {
			x.err = x.corrupt(err)
			return x
		}
		x.from, x.close = z, z.Close
	case bzipped:
		x.from = bzip2.NewReader(f.raw) // at most 4 MB, whatever the file says
	case xzipped:
		z, err := xz.NewReader(f.raw, maxWindow)
		if err != nil {
			x.err = x.corrupt(err)
			return x
		}
		z.Multistream(false)
		x.from = xzStreams{z}
	}
	return x
}

// strayError is that something follows the data that is none: so many bytes, or 0 if their number is not known.
type strayError int64

func (e strayError) Error() string { return "something else follows" }

// gzipMembers decodes members of a file one after the other.
type gzipMembers struct {
	*gzip.Reader
	from *bufio.Reader
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err != io.EOF || n > 0 {
		return n, notEnd(err)
	}
	head, err := g.from.Peek(2)
	switch {
	case len(head) == 0:
		return 0, err
	case string(head) == "\x1f\x8b":
		err = g.Reset(g.from)
		g.Multistream(false)
		return 0, err
	}
	stray, err := io.Copy(io.Discard, g.from)
	if err == nil {
		err = strayError(stray)
	}
	return 0, err
}

// notEnd leaves it to the next read to tell the end.
func notEnd(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// xzStreams decodes streams of a file one after the other.
type xzStreams struct{ *xz.Reader }

func (z xzStreams) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if err != io.EOF || n > 0 {
		return n, notEnd(err)
	}
	err = z.Reset(nil)
	z.Multistream(false)
	if err == xz.ErrFormat || err == xz.ErrBuf {
		err = strayError(0)
	}
	return 0, err
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
	return fileFault(x.path, fmt.Sprintf("more than %s when expanded", counted(x.limit, "byte", "bytes")), expected)
}

// afterData reports whether an error is that something follows the data that is none: a file of another kind is not taken for any of these.
func afterData(err error) bool {
	return err == strayError(0) || errors.Is(err, zstd.ErrMagicMismatch) ||
		err == error(bzip2.StructuralError("bad magic value in continuation file"))
}

// corrupt says what a decoder's error means. Errors that are not about the data pass as they are.
func (x *expander) corrupt(err error) error {
	var failed *readError
	var stray strayError
	end := fmt.Sprintf("the end of the file, or more %s data", x.codec)
	switch {
	case errors.As(err, &failed):
		return failed
	case afterData(err):
		return fileFault(x.path, fmt.Sprintf("something else after the %s data", x.codec), end)
	case errors.As(err, &stray):
		return fileFault(x.path, fmt.Sprintf("%s after the end of the %s data", counted(int64(stray), "byte", "bytes"), x.codec), end)
	case err == xz.ErrMemlimit:
		return fileFault(x.path, "an xz dictionary of more than 128 MiB", "one of at most 128 MiB (xz -9 makes one of 64)")
	case err == io.EOF || err == xz.ErrBuf || errors.Is(err, io.ErrUnexpectedEOF):
		return fileFault(x.path, fmt.Sprintf("the end of the file within %s data", x.codec), "the rest of it")
	default:
		return fileFault(x.path, fmt.Sprintf("corrupt %s data (%v)", x.codec, err), "a whole file")
	}
}

// compressor wraps w in an encoder for c; closing it ends the data but not w.
func compressor(w io.Writer, c codec, threads int) (io.WriteCloser, error) {
	switch c {
	case gzipped:
		return gzip.NewWriter(w), nil
	case zstandard:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(threads))
	case bzipped, xzipped:
		return nil, errUnwritten(c)
	default:
		return nopCloser{w}, nil
	}
}

func errUnwritten(c codec) error {
	return fmt.Errorf("%s is read, but not written: give a name that ends in .gz or .zst", c)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

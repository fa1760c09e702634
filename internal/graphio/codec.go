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

// codec is a compression format.
type codec uint8

const (
	plain codec = iota
	gzipped
	zstandard
	bzipped // bzipped and xzipped can be read, not written
	xzipped
)

func (c codec) String() string { return [...]string{"plain", "gzip", "zstd", "bzip2", "xz"}[c] }

// suffix returns the suffix of the names of files with this compression.
func (c codec) suffix() string { return [...]string{"", ".gz", ".zst", ".bz2", ".xz"}[c] }

// splitCodec cuts the suffix of a compression off a name.
func splitCodec(path string) (base string, c codec) {
	for _, c := range []codec{gzipped, zstandard, bzipped, xzipped} {
		if cut := len(path) - len(c.suffix()); cut > 0 &&
			strings.EqualFold(path[cut:], c.suffix()) {
			return path[:cut], c
		}
	}
	return path, plain
}

// The first bytes of every member of a gzip file, and of every stream of an xz file.
const (
	gzipMagic = "\x1f\x8b"
	xzMagic   = "\xfd7zXZ\x00"
)

// codecOf returns the compression of a file that begins with head. A zstd file may begin with a
// skippable frame.
func codecOf(head []byte) codec {
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return gzipped
	case len(head) >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd,
		len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a &&
			head[2] == 0x4d && head[3] == 0x18:
		return zstandard
	case len(head) >= 4 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9':
		return bzipped
	case bytes.HasPrefix(head, []byte(xzMagic[:4])):
		return xzipped
	}
	return plain
}

// maxWindow is the largest zstd window and xz dictionary that is decoded: 128 MiB, as in the zstd
// tool. A short header cannot request more.
const maxWindow = 128 << 20

// expander decodes a compressed file with all its members, up to a limit. After an error every Read
// returns the same error.
type expander struct {
	f     *file
	from  io.Reader // nil if decoding failed at once
	close func()
	limit int64
	n     int64 // bytes decoded
	err   error
}

// expand returns an expander of the content of f.
func expand(f *file) *expander {
	x := &expander{f: f, limit: f.limit, close: func() {}}
	if x.limit <= 0 {
		x.limit = max(100*f.size(), 1<<30)
	}
	var err error
	switch f.codec {
	case gzipped:
		z := &gzipMembers{raw: f.raw}
		x.from, err = z, z.next()
	case zstandard:
		var z *zstd.Decoder
		z, err = zstd.NewReader(f.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(uint64(max(x.limit, maxWindow))))
		if err == nil {
			x.from, x.close = z, z.Close
		}
	case bzipped:
		x.from = bzip2.NewReader(f.raw) // takes at most 4 MB, whatever the file claims
	case xzipped:
		x.from, err = xz.NewReader(f.raw, maxWindow)
	}
	if err != nil {
		x.from = nil
		x.err = x.corrupt(err)
	}
	return x
}

// gzipMembers decodes the members of a gzip file one after the other.
type gzipMembers struct {
	gzip.Reader
	raw *bufio.Reader
}

func (m *gzipMembers) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil { // a member may be empty
		if n, err = m.Reader.Read(p); err == io.EOF {
			err = m.next()
		}
	}
	return n, err
}

// next begins the next member. If a few bytes remain that cannot begin a member, they are not
// reported as a truncated one.
func (m *gzipMembers) next() error {
	head, _ := m.raw.Peek(len(gzipMagic))
	if !strings.HasPrefix(gzipMagic, string(head)) {
		return gzip.ErrHeader
	}
	err := m.Reset(m.raw) // io.EOF after the last member
	m.Multistream(false)
	return err
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
	if size := x.f.size(); size > 0 {
		expected += " for a file of " + Counted(size, "byte")
	}
	return x.f.fault("more than "+Counted(x.limit, "byte")+" when expanded", expected)
}

// corrupt translates an error of a decoder. It returns errors that are not about the data
// unchanged.
func (x *expander) corrupt(err error) error {
	var failed *readError
	data := x.f.codec.String() + " data"
	switch {
	case errors.As(err, &failed):
		return failed
	// a file in another format is not reported as corrupt data of this one
	case x.from != nil && (errors.Is(err, zstd.ErrMagicMismatch) || err == gzip.ErrHeader ||
		err == xz.ErrFormat ||
		err == error(bzip2.StructuralError("bad magic value in continuation file"))):
		return x.f.fault("something else after the "+data, "the end of the file, or more "+data)
	case err == xz.ErrMemlimit:
		return x.f.fault("an xz dictionary of more than 128 MiB",
			"one of at most 128 MiB (xz -9 makes one of 64)")
	case err == io.EOF || err == xz.ErrBuf || errors.Is(err, io.ErrUnexpectedEOF):
		return x.f.fault("the end of the file within "+data, "the rest of it")
	default:
		return x.f.fault(fmt.Sprintf("corrupt %s (%v)", data, err), "a whole file")
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

package graphio

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzMagic begins every stream of an xz file.
const xzMagic = "\xfd7zXZ\x00"

// xzReader decodes the streams of an xz file (The .xz File Format 1.2.1). The blocks are decoded by package lzma; what is around them is read here,
// because it says how much memory a block takes: a header of a few bytes cannot ask for more than maxWindow.
//
//	stream: | magic, flags, CRC-32 | block ... | index | footer |   zeros may follow, a multiple of 4, and more streams
//	block:  | header with the size of the dictionary | LZMA2 data | zeros to a multiple of 4 | check |
type xzReader struct {
	r     *bufio.Reader
	flags [2]byte
	block io.Reader // being decoded, or nil
	in    counter   // its data
	out   uint64    // its size decoded
	head  int       // the size of its header
	sizes [2]uint64 // as its header says; all ones if it does not
	check hash.Hash
	sums  [3]uint64 // blocks of the stream, and their sizes as the index has them
	ended bool      // no stream is open
}

const notSaid = 1<<64 - 1

var errXZ = errors.New("what is no xz data")

// counter counts the bytes that are read through it.
type counter struct {
	r *bufio.Reader
	n uint64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += uint64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// newXZReader begins to decode r.
func newXZReader(r *bufio.Reader) (*xzReader, error) {
	x := &xzReader{r: r, ended: true}
	return x, x.stream()
}

// stream reads the header of a stream.
func (x *xzReader) stream() error {
	var h [12]byte
	if err := x.full(h[:]); err != nil {
		return err
	}
	if string(h[:6]) != xzMagic || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) || h[6] != 0 {
		return errXZ
	}
	switch h[7] {
	case 0:
		x.check = nil
	case 1:
		x.check = crc32.NewIEEE()
	case 4:
		x.check = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.check = sha256.New()
	default:
		return fmt.Errorf("an unknown check, %d", h[7])
	}
	x.flags, x.sums, x.ended = [2]byte(h[6:8]), [3]uint64{}, false
	return nil
}

// full reads all of p.
func (x *xzReader) full(p []byte) error {
	_, err := io.ReadFull(x.r, p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.ended {
			if err := x.another(); err != nil {
				return 0, err
			}
		}
		if x.block == nil {
			if err := x.begin(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := x.block.Read(p)
		x.out += uint64(n)
		if x.check != nil {
			x.check.Write(p[:n]) // which does not fail
		}
		if x.out > x.sizes[1] || x.in.n > x.sizes[0] {
			return 0, errXZ
		}
		if err == io.EOF {
			err = x.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// errAfterXZ is that something follows a stream that is none.
var errAfterXZ = errors.New("something else after the data")

// another goes on to the next stream, or returns io.EOF.
func (x *xzReader) another() error {
	for {
		next, err := x.r.Peek(4)
		switch {
		case len(next) == 0:
			return err
		case bytes.Equal(next, []byte{0, 0, 0, 0}):
			if _, err := x.r.Discard(4); err != nil {
				return err
			}
		case !bytes.HasPrefix([]byte(xzMagic), next):
			return errAfterXZ
		default:
			return x.stream()
		}
	}
}

// begin reads the header of a block, or the end of the stream.
func (x *xzReader) begin() error {
	size, err := x.r.ReadByte()
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	if size == 0 {
		return x.index()
	}
	h := make([]byte, (int(size)+1)*4)
	h[0] = size
	if err := x.full(h[1:]); err != nil {
		return err
	}
	body, sum := h[:len(h)-4], h[len(h)-4:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return errXZ
	}
	flags, rest := body[1], body[2:]
	if flags&0x3c != 0 {
		return errXZ
	}
	if flags&3 != 0 {
		return errors.New("a filter beside LZMA2")
	}
	x.sizes = [2]uint64{notSaid, notSaid}
	for i, bit := range []byte{0x40, 0x80} {
		if flags&bit != 0 {
			var n int
			if x.sizes[i], n = binary.Uvarint(rest); n <= 0 {
				return errXZ
			}
			rest = rest[n:]
		}
	}
	if len(rest) < 3 || rest[1] != 1 {
		return errXZ
	}
	if rest[0] != 0x21 {
		return fmt.Errorf("filter %#x, which is not LZMA2", rest[0])
	}
	bits := rest[2]
	if bits > 40 || len(bytes.Trim(rest[3:], "\x00")) > 0 {
		return errXZ
	}
	dictionary := uint64(2|bits&1) << (bits/2 + 11)
	if dictionary > maxWindow {
		return fmt.Errorf("a dictionary of %d MiB: at most %d MiB are read", dictionary>>20, maxWindow>>20)
	}
	x.in, x.out, x.head = counter{r: x.r}, 0, len(h)
	if x.check != nil {
		x.check.Reset()
	}
	x.block, err = lzma.Reader2Config{DictCap: int(max(dictionary, lzma.MinDictCap))}.NewReader2(&x.in)
	return err
}

// end checks what follows the data of a block.
func (x *xzReader) end() error {
	if x.sizes[0] != notSaid && x.sizes[0] != x.in.n || x.sizes[1] != notSaid && x.sizes[1] != x.out {
		return errXZ
	}
	var padding [3]byte
	if pad := padding[:-x.in.n&3]; x.full(pad) != nil || len(bytes.Trim(pad, "\x00")) > 0 {
		return errXZ
	}
	unpadded := uint64(x.head) + x.in.n
	if x.check != nil {
		sum := make([]byte, x.check.Size())
		if err := x.full(sum); err != nil {
			return err
		}
		unpadded += uint64(len(sum))
		want := x.check.Sum(nil)
		if len(want) < 32 { // CRCs are little-endian in the file
			for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
				want[i], want[j] = want[j], want[i]
			}
		}
		if !bytes.Equal(sum, want) {
			return errors.New("a check that does not match")
		}
	}
	x.sums[0], x.sums[1], x.sums[2] = x.sums[0]+1, x.sums[1]+unpadded, x.sums[2]+x.out
	x.block = nil
	return nil
}

// index reads the index and the footer, and compares them with the blocks.
func (x *xzReader) index() error {
	in, sum := counter{r: x.r, n: 1}, crc32.NewIEEE()
	sum.Write([]byte{0})
	tee := byteTee{&in, sum}
	n, err := binary.ReadUvarint(tee)
	if err != nil || n != x.sums[0] {
		return errXZ
	}
	var unpadded, size uint64
	for range n {
		a, err := binary.ReadUvarint(tee)
		b, failed := binary.ReadUvarint(tee)
		if err != nil || failed != nil {
			return errXZ
		}
		unpadded, size = unpadded+a, size+b
	}
	for in.n%4 != 0 {
		if b, err := tee.ReadByte(); err != nil || b != 0 {
			return errXZ
		}
	}
	var tail [16]byte
	if err := x.full(tail[:]); err != nil {
		return err
	}
	footer := tail[4:]
	if unpadded != x.sums[1] || size != x.sums[2] || sum.Sum32() != binary.LittleEndian.Uint32(tail[:]) ||
		crc32.ChecksumIEEE(footer[4:10]) != binary.LittleEndian.Uint32(footer) || string(footer[10:]) != "YZ" || [2]byte(footer[8:10]) != x.flags ||
		(uint64(binary.LittleEndian.Uint32(footer[4:]))+1)*4 != in.n+4 {
		return errXZ
	}
	x.ended = true
	return nil
}

// byteTee sums up the bytes that are read through it.
type byteTee struct {
	io.ByteReader
	sum hash.Hash32
}

func (t byteTee) ReadByte() (byte, error) {
	b, err := t.ByteReader.ReadByte()
	if err == nil {
		t.sum.Write([]byte{b})
	}
	return b, err
}

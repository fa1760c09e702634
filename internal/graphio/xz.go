package graphio

import (
	"errors"
	"io"

	"github.com/therootcompany/xz"
)

// xzMagic begins every stream of an xz file.
const xzMagic = "\xfd7zXZ\x00"

// errAfterXZ is that something follows a stream that is none.
var errAfterXZ = errors.New("something else after the data")

// xzStreams decodes the streams of an xz file one after another, to tell a damaged one from what
// follows the last. The library takes no more memory than it is allowed, whatever a header says.
type xzStreams struct{ z *xz.Reader }

func newXZReader(r io.Reader) (*xzStreams, error) {
	z, err := xz.NewReader(r, maxWindow)
	return &xzStreams{z}, err
}

func (x *xzStreams) Read(p []byte) (int, error) {
	for {
		x.z.Multistream(false)
		n, err := x.z.Read(p)
		if n > 0 && err == io.EOF {
			err = nil // it says so again
		}
		if errors.Is(err, xz.ErrBuf) {
			err = io.ErrUnexpectedEOF
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		switch err := x.z.Reset(nil); {
		case errors.Is(err, xz.ErrFormat) || errors.Is(err, xz.ErrBuf):
			return 0, errAfterXZ
		case err != nil:
			return 0, err
		}
	}
}

package master

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// partChunks is how many chunks may wait for the disk; who has one more waits too.
const partChunks = 8

// part is a file that a worker's share of a result goes into. A goroutine of its own writes it, so that who gives up does
// not wait for a disk that hangs.
type part struct {
	name     string
	chunks   chan []byte
	ended    chan struct{} // closed: there are no more chunks
	unwanted chan struct{} // closed: whatever was written is not wanted
	done     chan struct{} // closed: the file is closed, and err is why it is no good
	err      error

	bytes atomic.Uint64 // taken
	whole atomic.Bool   // the last chunk was
}

// errUnwanted is why nothing more is written of a result that was given up.
var errUnwanted = errors.New("the result is not wanted any more")

// write takes a chunk. It waits while the disk is busy with those before.
func (p *part) write(data []byte, last bool) error {
	select {
	case p.chunks <- data:
		p.bytes.Add(uint64(len(data)))
		if last {
			p.whole.Store(true)
		}
		return nil
	case <-p.done:
		if p.err != nil {
			return p.err
		}
	case <-p.ended:
	case <-p.unwanted:
	}
	return errUnwanted
}

// finish waits until all chunks are in the file, or ctx ends.
func (p *part) finish(ctx context.Context) error {
	close(p.ended)
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes the file.
func (p *part) run(r *results) (err error) {
	var file io.WriteCloser
	if file, err = r.root.Create(p.name); err != nil {
		return err
	}
	if r.wrap != nil {
		file = r.wrap(file)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for {
		select {
		case data := <-p.chunks:
			if _, err := file.Write(data); err != nil {
				return err
			}
		case <-p.unwanted:
			return errUnwanted
		case <-p.ended:
			for len(p.chunks) > 0 { // nobody adds to them
				if _, err := file.Write(<-p.chunks); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

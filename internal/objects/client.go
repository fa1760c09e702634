package objects

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// Scheme is the prefix of places on a master's disk: master:/NAME.
const Scheme = "master:/"

// Is reports whether a place is on the disk of the master.
func Is(place string) bool { return strings.HasPrefix(place, Scheme) }

// A call may take callTimeout, and longer if it transfers more than a piece or a list: at slowest
// bytes per second.
const (
	callTimeout = 30 * time.Second
	slowest     = 64 << 10
)

// remote is a worker's client of the store at the master.
type remote struct {
	to   func() *control.Connection
	name string // of the place, with a trailing slash unless it is empty
}

// Open returns the store of a place at the master. to returns the current connection to the master,
// or nil. It changes when the master restarts.
func Open(place string, to func() *control.Connection) (store.Store, error) {
	name := strings.Trim(strings.TrimPrefix(place, Scheme), "/")
	s := &remote{to: to}
	if name != "" {
		if err := store.Named(s, name); err != nil {
			return nil, err
		}
		s.name = name + "/"
	}
	return s, nil
}

func (s *remote) String() string { return strings.TrimSuffix(Scheme+s.name, "/") }

// call calls the master, and converts errors to those of a store. size is the number of bytes that
// it transfers.
func call[Q, A any](
	ctx context.Context, s *remote, what, name string, size int64,
	f func(control.WorkersClient, context.Context, *Q) (*A, error), q *Q,
) (*A, error) {
	// a prefix need not be a valid name
	if err := store.Named(s, name); err != nil && what != "list" {
		return nil, err
	}
	failed := func(e error) error { return fmt.Errorf("%s %s%s: %w", what, Scheme, s.name+name, e) }
	if ctx.Err() != nil {
		return nil, failed(context.Cause(ctx))
	}
	c := s.to()
	if c == nil {
		return nil, failed(errors.New("there is no session with the master"))
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout+time.Duration(size/slowest)*time.Second)
	defer cancel()
	answer, err := f(c.Workers, bounded, q)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() != nil {
		return nil, failed(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		for _, c := range codes {
			if c.code == e.Code() {
				return nil, failed(control.Worded(e.Message(), c.err))
			}
		}
		return nil, failed(errors.New(e.Message()))
	}
	return nil, failed(c.Explain(control.Closed(c.Address(), err)))
}

// Put implements Store.Put.
func (s *remote) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	return s.put(ctx, name, data, &control.PutObjectRequest{Size: size})
}

// PutIfAbsent implements Store.PutIfAbsent.
func (s *remote) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if len(data) > piece {
		return fmt.Errorf("write %s%s: found %d bytes to be stored at once, expected at most %d",
			Scheme, s.name+name, len(data), piece)
	}
	return s.put(ctx, name, bytes.NewReader(data),
		&control.PutObjectRequest{Size: int64(len(data)), Absent: true})
}

// put sends an object, which q describes.
func (s *remote) put(
	ctx context.Context, name string, data io.ReaderAt, q *control.PutObjectRequest,
) error {
	q.Name = s.name + name
	var unread error // the error of data
	_, err := call(ctx, s, "write", name, q.Size, func(
		c control.WorkersClient, ctx context.Context, q *control.PutObjectRequest,
	) (*control.PutObjectResponse, error) {
		stream, err := c.PutObject(ctx)
		if err != nil {
			return nil, err
		}
		buffer, size := make([]byte, min(q.Size, piece)), q.Size
		for off := int64(0); ; {
			q.Data = buffer[:min(size-off, piece)]
			if n, err := data.ReadAt(q.Data, off); n < len(q.Data) {
				unread = fmt.Errorf("write %s%s: found %d bytes, expected %d: %w", Scheme, s.name+
					name, off+int64(n), size, err)
				return nil, err // the stream ends with ctx
			}
			err := stream.Send(q)
			if off += int64(len(q.Data)); err != nil || off == size {
				return stream.CloseAndReceive() // it has the master's error
			}
			q = &control.PutObjectRequest{}
		}
	}, q)
	return cmp.Or(unread, err)
}

// GetRange implements Store.GetRange.
func (s *remote) GetRange(ctx context.Context, o store.Object, off int64, p []byte) error {
	for first := true; first || len(p) > 0; first = false {
		n := min(len(p), piece)
		q := &control.GetObjectRequest{
			Name: s.name + o.Name, Version: o.Version, Offset: off, Length: uint32(n),
		}
		a, err := call(ctx, s, "read", o.Name, 0, control.WorkersClient.GetObject, q)
		if err != nil {
			return err
		}
		if len(a.Data) != n {
			return fmt.Errorf("read %s%s: found %d bytes, expected %d", Scheme, s.name+
				o.Name, len(a.Data), n)
		}
		copy(p, a.Data)
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// List implements Store.List.
func (s *remote) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		q := &control.ListObjectsRequest{Prefix: s.name + prefix}
		for {
			a, err := call(ctx, s, "list", prefix, 0, control.WorkersClient.ListObjects, q)
			if err != nil {
				yield(store.Object{}, err)
				return
			}
			for _, o := range a.Objects {
				name, ok := strings.CutPrefix(o.Name, s.name)
				if !ok || o.Name <= q.After && q.After != "" {
					yield(store.Object{}, fmt.Errorf("list %s%s: found %q after %q", Scheme, s.name+
						prefix, o.Name, q.After))
					return
				}
				q.After = o.Name
				if !yield(store.Object{Name: name, Size: o.Size, Version: o.Version}, nil) {
					return
				}
			}
			if !a.More || len(a.Objects) == 0 {
				return
			}
		}
	}
}

// Delete implements Store.Delete.
func (s *remote) Delete(ctx context.Context, name string) error {
	_, err := call(ctx, s, "delete", name, 0, control.WorkersClient.DeleteObject,
		&control.DeleteObjectRequest{Name: s.name + name})
	return err
}

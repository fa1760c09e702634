// Package objects is a store of objects on the master's disk, which workers access by calls. It is
// for clusters without a place that all machines reach. Read server.go first.
package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/store"
)

// Bounds of the resources that callers can use.
const (
	piece      = 2 << 20 // bytes of an object in a message
	mostListed = 4096    // objects in a message
	most       = 256     // objects of several messages being received
	// Bytes of the disk to leave free, or a tenth of a smaller disk, because the master's state is
	// also there.
	reserve = 1 << 30
)

// Server handles the calls for the objects of a directory. The zero value has no directory and
// rejects all calls.
type Server struct {
	dir  *store.Dir
	room func() (free, total int64) // of the disk; a total of 0 means unknown

	uploads atomic.Int64   // objects of several messages being received
	work    sync.WaitGroup // calls that receive objects
	mu      sync.Mutex
	coming  int64 // bytes of objects being received that have not arrived
}

// NewServer makes a server for the objects of a directory. The caller must close it.
func NewServer(dir *store.Dir) *Server {
	room := func() (free, total int64) { return mem.DiskRoom(dir.String()) }
	return &Server{dir: dir, room: room}
}

var errNone = connect.NewError(connect.CodeFailedPrecondition,
	errors.New("this master keeps no objects: it was started without --data"))

// Close waits for objects being received, and closes the directory. It is called when their streams
// have ended.
func (s *Server) Close() {
	if s != nil && s.dir != nil {
		s.work.Wait()
		store.Close(s.dir)
	}
}

// answered returns answer after do has completed it, and converts errors for the caller.
func answered[T any](s *Server, answer *T, do func() error) (*T, error) {
	if s.dir == nil {
		return nil, errNone
	}
	return answer, coded(do())
}

// PutObject implements the method of control.Workers.
func (s *Server) PutObject(
	ctx context.Context, stream *connect.ClientStream[control.PutObjectRequest],
) (*control.PutObjectResponse, error) {
	return answered(s, &control.PutObjectResponse{}, func() error {
		if !stream.Receive() {
			return cmp.Or(stream.Err(), io.ErrUnexpectedEOF)
		}
		m := stream.Msg()
		several := int64(0) // 1 if more messages follow
		if m.Size > int64(len(m.Data)) {
			several = 1
		}
		if err := s.expect(m, several); err != nil {
			return err
		}
		s.work.Add(1)
		defer s.work.Done()
		left := m.Size // bytes that have not arrived
		arrived := func(n int64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			left, s.coming = left-n, s.coming-n
		}
		defer func() {
			arrived(left)
			s.uploads.Add(-several)
		}()
		from := NewReader(stream, func(p *control.PutObjectRequest) (data []byte, last bool) {
			arrived(min(int64(len(p.Data)), left))
			return p.Data, left == 0
		})
		if m.Absent {
			return s.dir.PutIfAbsent(ctx, m.Name, m.Data)
		}
		return s.dir.Copy(ctx, m.Name, from, m.Size)
	})
}

// expect makes room for an object that is being received. several is what it adds to uploads.
func (s *Server) expect(m *control.PutObjectRequest, several int64) error {
	if n := int64(len(m.Data)); n > m.Size || m.Absent && n != m.Size {
		return invalid("%d bytes of an object of %d", n, m.Size)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.uploads.Load()+several > most:
		return connect.NewError(connect.CodeUnavailable,
			fmt.Errorf("%d objects are being uploaded already", most))
	case !s.fits(m.Size):
		return connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("%s: the disk has no room for %d bytes", m.Name, m.Size))
	}
	s.coming += m.Size
	s.uploads.Add(several)
	return nil
}

// fits reports whether an object leaves the reserve free, in addition to objects being received.
// The caller holds the lock.
func (s *Server) fits(size int64) bool {
	free, total := s.room()
	return total == 0 || size <= free-s.coming-min(reserve, total/10)
}

// GetObject implements the method of control.Workers.
func (s *Server) GetObject(
	ctx context.Context, m *control.GetObjectRequest,
) (*control.GetObjectResponse, error) {
	answer := &control.GetObjectResponse{}
	return answered(s, answer, func() error {
		if m.Length > piece || m.Offset < 0 {
			return invalid("%d bytes from %d on, expected at most %d", m.Length, m.Offset, piece)
		}
		answer.Data = make([]byte, m.Length)
		return s.dir.GetRange(ctx, store.Object{Name: m.Name, Version: m.Version},
			m.Offset, answer.Data)
	})
}

// ListObjects implements the method of control.Workers.
func (s *Server) ListObjects(
	ctx context.Context, r *control.ListObjectsRequest,
) (*control.ListObjectsResponse, error) {
	answer, bytes := &control.ListObjectsResponse{}, 0
	return answered(s, answer, func() error {
		for o, err := range s.dir.List(ctx, r.Prefix) {
			if err != nil {
				return err
			}
			if o.Name <= r.After {
				continue
			}
			bytes += len(o.Name) + len(o.Version) + 32
			if answer.More = len(answer.Objects) == mostListed || bytes > piece; answer.More {
				break
			}
			e := &control.ListObjectsResponse_Object{Name: o.Name, Size: o.Size, Version: o.Version}
			answer.Objects = append(answer.Objects, e)
		}
		return nil
	})
}

// DeleteObject implements the method of control.Workers.
func (s *Server) DeleteObject(
	ctx context.Context, r *control.DeleteObjectRequest,
) (*control.DeleteObjectResponse, error) {
	return answered(s, &control.DeleteObjectResponse{},
		func() error { return s.dir.Delete(ctx, r.Name) })
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// codes are the status codes for errors of a store.
var codes = []struct {
	err  error
	code connect.Code
}{
	{fs.ErrNotExist, connect.CodeNotFound},
	{fs.ErrExist, connect.CodeAlreadyExists},
	{fs.ErrInvalid, connect.CodeInvalidArgument},
	{store.ErrChanged, connect.CodeDataLoss},
	{io.ErrUnexpectedEOF, connect.CodeOutOfRange},
	{context.Canceled, connect.CodeCanceled},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
}

// coded converts an error of a store to one of a call.
func coded(err error) error {
	if err == nil || errors.As(err, new(*connect.Error)) {
		return err
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return connect.NewError(c.code, err)
		}
	}
	return connect.NewError(connect.CodeInternal, err)
}

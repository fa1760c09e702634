// Package objects is a store of objects on the master's disk, which workers access by calls. It is
// for clusters without a place that all machines reach. Read server.go first.
package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/store"
)

// Bounds of the resources that callers can use.
const (
	piece      = 2 << 20     // bytes of an object in a message
	mostListed = 4096        // objects in a message
	most       = 256         // uploads in progress
	idle       = time.Minute // maximum time between two pieces of an upload
	// Bytes of the disk to leave free, or a tenth of a smaller disk, because the master's state is
	// also there.
	reserve = 1 << 30
)

// Server handles the calls for the objects of a directory. The zero value has no directory and
// rejects all calls.
type Server struct {
	dir  *store.Dir
	room func() (free, total int64) // of the disk; a total of 0 means unknown

	mu      sync.Mutex
	uploads map[string]*upload
	coming  int64 // total size of objects being received in one piece
	closed  bool
	work    sync.WaitGroup
}

// upload is an object that is received in pieces.
type upload struct {
	mu   sync.Mutex // held while a piece is handled
	name string
	size int64
	have atomic.Int64
	to   *io.PipeWriter
	stop context.CancelCauseFunc
	idle *time.Timer
	done chan struct{}
	err  error // valid after done is closed
}

// NewServer makes a server for the objects of a directory. The caller must close it.
func NewServer(dir *store.Dir) *Server {
	room := func() (free, total int64) { return mem.DiskRoom(dir.String()) }
	return &Server{dir: dir, room: room, uploads: map[string]*upload{}}
}

var errNone = connect.NewError(connect.CodeFailedPrecondition,
	errors.New("this master keeps no objects: it was started without --data"))

// Close drops incomplete uploads.
func (s *Server) Close() {
	if s == nil || s.dir == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	for _, u := range s.uploads {
		u.end(errors.New("the master is closing"))
	}
	s.mu.Unlock()
	s.work.Wait()
	store.Close(s.dir)
}

// PutObject implements the method of control.Workers.
func (s *Server) PutObject(
	ctx context.Context, m *control.PutObjectRequest,
) (*control.PutObjectResponse, error) {
	return answered(s, &control.PutObjectResponse{}, func() error { return s.put(ctx, m) })
}

// answered returns answer after do has completed it, and converts errors for the caller.
func answered[T any](s *Server, answer *T, do func() error) (*T, error) {
	if s.dir == nil {
		return nil, errNone
	}
	return answer, coded(do())
}

func (s *Server) put(ctx context.Context, m *control.PutObjectRequest) error {
	n := int64(len(m.Data))
	switch {
	case m.Offset < 0 || m.Size < 0 || m.Offset > m.Size || n > m.Size-m.Offset:
		return invalid("bytes %d to %d of an object of %d", m.Offset, m.Offset+n, m.Size)
	case m.Absent && n != m.Size:
		return invalid("%d bytes of an object of %d that is to be stored at once", n, m.Size)
	case n == m.Size:
		return s.atOnce(ctx, m)
	case n == 0 || m.Upload == "" || len(m.Upload) > 64:
		return invalid("a piece of %d bytes of the upload %.64q", n, m.Upload)
	}
	u, err := s.upload(m)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.name != m.Name || u.size != m.Size || u.have.Load() != m.Offset {
		return invalid("bytes from %d on of %s, after %d of %s", m.Offset, m.Name,
			u.have.Load(), u.name)
	}
	u.idle.Reset(idle)
	if _, err := u.to.Write(m.Data); err != nil {
		<-u.done
		return errors.Join(u.err, err)
	}
	if u.have.Add(n) < u.size {
		return nil
	}
	_ = u.to.Close()
	select {
	case <-u.done:
		return u.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// atOnce stores an object received in one piece.
func (s *Server) atOnce(ctx context.Context, m *control.PutObjectRequest) error {
	s.mu.Lock()
	fits := s.fits(m.Size)
	if fits {
		s.coming += m.Size
	}
	s.mu.Unlock()
	if !fits {
		return noRoom(m)
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.coming -= m.Size
	}()
	if m.Absent {
		return s.dir.PutIfAbsent(ctx, m.Name, m.Data)
	}
	return s.dir.Put(ctx, m.Name, bytes.NewReader(m.Data), m.Size)
}

func noRoom(m *control.PutObjectRequest) error {
	return connect.NewError(connect.CodeResourceExhausted,
		fmt.Errorf("%s: the disk has no room for %d bytes", m.Name, m.Size))
}

// fits reports whether an object leaves the reserve free, in addition to objects being received.
// The caller holds the lock.
func (s *Server) fits(size int64) bool {
	free, total := s.room()
	free -= s.coming
	for _, u := range s.uploads {
		free -= u.size - u.have.Load()
	}
	return total == 0 || size <= free-min(reserve, total/10)
}

// upload returns the upload of a piece. It makes a new one for the first piece.
func (s *Server) upload(m *control.PutObjectRequest) (*upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[m.Upload]
	switch {
	case s.closed:
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the master is closing"))
	case u != nil:
		return u, nil
	case m.Offset != 0:
		return nil, connect.NewError(connect.CodeAborted,
			errors.New("the upload is lost: the master was restarted, or waited for too long"))
	case len(s.uploads) >= most:
		return nil, connect.NewError(connect.CodeUnavailable,
			fmt.Errorf("%d objects are being uploaded already", most))
	case !s.fits(m.Size):
		return nil, noRoom(m)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	from, to := io.Pipe()
	u = &upload{name: m.Name, size: m.Size, to: to, stop: stop, done: make(chan struct{})}
	u.idle = time.AfterFunc(idle, func() { u.end(fmt.Errorf("no data came for %v", idle)) })
	s.uploads[m.Upload] = u
	s.work.Go(func() {
		u.err = s.dir.Copy(ctx, u.name, from, u.size)
		_ = from.CloseWithError(u.err) // ends the Write of a further piece
		u.idle.Stop()
		stop(nil)
		s.mu.Lock()
		delete(s.uploads, m.Upload)
		s.mu.Unlock()
		close(u.done)
	})
	return u, nil
}

// end drops an upload.
func (u *upload) end(why error) {
	u.stop(why)
	_ = u.to.CloseWithError(why)
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

package objects

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/control"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// master handles the calls of workers.
type master struct {
	*Server
	unimplemented
}

type unimplemented struct {
	control.UnimplementedWorkersHandler
}

// serve serves objects as a master does. It returns a worker's connection.
func serve(t *testing.T, s *Server) *control.Connection {
	t.Helper()
	_, h := control.NewWorkersHandler(master{Server: s}, control.HandlerOptions()...)
	server := httptest.NewUnstartedServer(nil)
	server.Config = control.NewHTTPServer(h, context.WithoutCancel(t.Context()))
	server.Start()
	c, err := control.Connect(server.Listener.Addr().String(), control.Credentials{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Close()
		s.Close()
	})
	return c
}

func server(t *testing.T) (*Server, *store.Dir) {
	t.Helper()
	dir, err := store.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(dir), dir
}

func TestStore(t *testing.T) {
	for _, place := range []string{Scheme, Scheme + "pagerank-1/"} {
		storetest.Run(t, func(t *testing.T) store.Store {
			s, _ := server(t)
			c := serve(t, s)
			at, err := Open(place, func() *control.Connection { return c })
			if err != nil {
				t.Fatal(err)
			}
			return at
		})
	}
}

// TestPlacesStayApart has two places with a common prefix, and names that try to leave their place.
func TestPlacesStayApart(t *testing.T) {
	s, dir := server(t)
	c := serve(t, s)
	to := func() *control.Connection { return c }
	one, _ := Open(Scheme+"job", to)
	two, _ := Open(Scheme+"job-2", to)
	for i, at := range []store.Store{one, two} {
		if err := at.Put(t.Context(), "part", strings.NewReader("01"[i:]), 1); err != nil {
			t.Fatal(err)
		}
	}
	for o, err := range one.List(t.Context(), "") {
		if err != nil || o.Name != "part" {
			t.Errorf("found %v, %v", o, err)
		}
	}
	if data, err := store.Get(t.Context(), dir, "job-2/part", 10); string(data) != "1" {
		t.Errorf("found %q, %v", data, err)
	}
	for _, place := range []string{Scheme + "../x", Scheme + "a/../../x", Scheme + "a//b"} {
		if _, err := Open(place, to); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: error %v", place, err)
		}
	}
}

// TestNoMaster has no session, a master without a data directory, and a lost master.
func TestNoMaster(t *testing.T) {
	none, _ := Open(Scheme, func() *control.Connection { return nil })
	if err := none.Delete(t.Context(), "x"); err == nil ||
		!strings.Contains(err.Error(), "delete master:/x: there is no session with the master") {
		t.Errorf("error %v", err)
	}
	c := serve(t, &Server{})
	without, _ := Open(Scheme, func() *control.Connection { return c })
	if err := without.PutIfAbsent(t.Context(), "x", nil); err == nil ||
		!strings.Contains(err.Error(), "this master keeps no objects") {
		t.Errorf("error %v", err)
	}
	gone, _ := control.Connect("127.0.0.1:1", control.Credentials{}, nil)
	defer gone.Close()
	away, _ := Open(Scheme, func() *control.Connection { return gone })
	if err := away.GetRange(t.Context(), store.Object{Name: "x"}, 0, make([]byte, 1)); err == nil ||
		!strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("error %v", err)
	}
}

// upload sends an object in pieces. It returns the error of the answer.
func upload(t *testing.T, c *control.Connection, pieces ...*control.PutObjectRequest) error {
	t.Helper()
	stream, err := c.Workers.PutObject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		_ = stream.Send(p) // the answer has the error
	}
	_, err = stream.CloseAndReceive()
	return err
}

// TestUploads ends uploads in every wrong way. Nothing of them remains.
func TestUploads(t *testing.T) {
	s, dir := server(t)
	c := serve(t, s)
	of := func(size int64, n int) *control.PutObjectRequest {
		return &control.PutObjectRequest{Name: "x", Size: size, Data: bytes.Repeat([]byte("x"), n)}
	}
	absent := of(10, 4)
	absent.Absent = true
	for want, pieces := range map[string][]*control.PutObjectRequest{
		"EOF":                               nil,
		"unexpected EOF":                    {of(10, 4), of(0, 5)},
		"found 11 bytes to write, expected": {of(10, 4), of(0, 7)},
		"4 bytes of an object of 3":         {of(3, 4)},
		"4 bytes of an object of -1":        {of(-1, 4)},
		"0 bytes of an object of -1":        {of(-1, 0)},
		"4 bytes of an object of 10":        {absent, of(0, 6)},
	} {
		if err := upload(t, c, pieces...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	for o := range dir.List(t.Context(), "") {
		t.Errorf("found %v", o)
	}
	if s.uploads.Load() != 0 || s.coming != 0 {
		t.Errorf("%d uploads of %d bytes are left", s.uploads.Load(), s.coming)
	}
	unread := errors.New("it cannot be read")
	at, _ := Open(Scheme, func() *control.Connection { return c })
	if err := at.Put(t.Context(), "x", failing{unread}, 5*piece); !errors.Is(err, unread) {
		t.Errorf("found %v", err)
	}
}

// failing has one piece of data.
type failing struct{ err error }

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		return len(p), nil
	}
	return 0, f.err
}

// TestDiskKeepsAReserve: objects of workers leave 1 GiB of the master's disk free, or a tenth of a
// smaller disk, even if several are uploaded at the same time.
func TestDiskKeepsAReserve(t *testing.T) {
	for _, c := range []struct{ free, total, size int64 }{
		{10 << 30, 100 << 30, 9 << 30},
		{2 << 30, 10 << 30, 1 << 30},
		{100 << 20, 500 << 20, 50 << 20},
		{1 << 40, 1 << 40, 1<<40 - 1<<30},
	} {
		s := &Server{room: func() (int64, int64) { return c.free, c.total }}
		if !s.fits(c.size) || s.fits(c.size+1) {
			t.Errorf("%d bytes of %d free of %d: found %v, and %v for one more", c.size, c.free,
				c.total, s.fits(c.size), s.fits(c.size+1))
		}
		s.coming = 100
		if s.fits(c.size) || !s.fits(c.size-100) {
			t.Errorf("%d bytes of %d free of %d beside others", c.size, c.free, c.total)
		}
	}
	dir, err := store.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(dir)
	s.room = func() (int64, int64) {
		if s.mu.TryLock() { // otherwise another upload could take the same room
			s.mu.Unlock()
			t.Error("it looks for room, and takes it later")
		}
		return 200, 1000
	}
	c := serve(t, s)
	for _, q := range []*control.PutObjectRequest{
		{Name: "a", Size: 101, Data: make([]byte, 101)},
		{Name: "b", Size: 101, Data: make([]byte, 101), Absent: true},
		{Name: "c", Size: 1 << 50, Data: []byte("x")},
	} {
		if err := upload(t, c, q); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("%s: found %v", q.Name, err)
		}
	}
	for range 2 { // stored objects no longer count separately
		if err := upload(t, c, &control.PutObjectRequest{
			Name: "d", Size: 100, Data: make([]byte, 100),
		}); err != nil {
			t.Error(err)
		}
	}
	one, err := c.Workers.PutObject(t.Context())
	if err == nil {
		err = one.Send(&control.PutObjectRequest{Name: "e", Size: 61, Data: []byte("x")})
	}
	if err != nil {
		t.Fatal(err)
	}
	for left := int64(0); left != 60; { // until the first byte has arrived
		runtime.Gosched()
		s.mu.Lock()
		left = s.coming
		s.mu.Unlock()
	}
	if err := upload(t, c,
		&control.PutObjectRequest{Name: "f", Size: 41}); connect.CodeOf(err) !=
		connect.CodeResourceExhausted {
		t.Errorf("two uploads take the same room: %v", err)
	}
	if err := upload(t, c, &control.PutObjectRequest{
		Name: "f", Size: 40, Data: make([]byte, 40),
	}); err != nil {
		t.Error(err)
	}
}

package objects

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http/httptest"
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

// TestUploads ends uploads in every wrong way. Nothing of them remains.
func TestUploads(t *testing.T) {
	s, dir := server(t)
	put := func(upload string, size, off int64, n int) error {
		_, err := s.PutObject(t.Context(), &control.PutObjectRequest{
			Name: "x", Upload: upload, Size: size, Offset: off, Data: bytes.Repeat([]byte("x"), n),
		})
		return err
	}
	for _, p := range []struct {
		upload    string
		size, off int64
		n         int
		want      string
	}{
		{"a", 10, 0, 4, ""},
		{"a", 10, 5, 1, "bytes from 5 on of x, after 4 of x"},
		{"a", 11, 4, 1, "bytes from 4 on"},
		{"b", 10, 4, 1, "the upload is lost"},
		{"", 10, 0, 4, "a piece of 4 bytes"},
		{"c", 10, 0, 0, "a piece of 0 bytes"},
		{"d", 10, 8, 4, "bytes 8 to 12 of an object of 10"},
		{"d", -1, 0, 4, "bytes 0 to 4 of an object of -1"},
		{"d", 10, 1 << 62, 4, "of an object of 10"},
		{strings.Repeat("d", 65), 10, 0, 4, "a piece of 4 bytes"},
	} {
		if err := put(p.upload, p.size, p.off, p.n); p.want == "" && err != nil || p.want != "" &&
			(err == nil || !strings.Contains(err.Error(), p.want)) {
			t.Errorf("%d bytes at %d of %d: error %v, expected %q", p.n, p.off, p.size, err, p.want)
		}
	}
	s.mu.Lock()
	u := s.uploads["a"]
	s.mu.Unlock()
	u.idle.Reset(0) // as if a minute had passed
	<-u.done
	if err := put("a", 10, 4, 1); err == nil {
		t.Error("a dropped upload continues")
	}
	if err := put("e", 10, 0, 4); err != nil {
		t.Fatal(err)
	}
	for o := range dir.List(t.Context(), "") {
		t.Errorf("found %v", o)
	}
	s.Close()
	if err := put("f", 10, 0, 4); err == nil || !strings.Contains(err.Error(), "closing") {
		t.Errorf("error %v", err)
	}
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
		s.uploads = map[string]*upload{"u": {size: 100}}
		if s.fits(c.size) || !s.fits(c.size-100) {
			t.Errorf("%d bytes of %d free of %d beside others", c.size, c.free, c.total)
		}
	}
	dir, err := store.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(dir)
	defer s.Close()
	s.room = func() (int64, int64) {
		if s.mu.TryLock() { // otherwise another upload could take the same room
			s.mu.Unlock()
			t.Error("it looks for room, and takes it later")
		}
		return 200, 1000
	}
	for _, q := range []*control.PutObjectRequest{
		{Name: "a", Size: 101, Data: make([]byte, 101)},
		{Name: "b", Size: 101, Data: make([]byte, 101), Absent: true},
		{Name: "c", Size: 1 << 50, Data: []byte("x"), Upload: "u"},
	} {
		if _, err := s.PutObject(t.Context(),
			q); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("%s: found %v", q.Name, err)
		}
	}
	for range 2 { // stored objects no longer count separately
		if _, err := s.PutObject(t.Context(),
			&control.PutObjectRequest{Name: "d", Size: 100, Data: make([]byte,
				100)}); err != nil {
			t.Error(err)
		}
	}
	upload := func(name string, size int64) connect.Code {
		_, err := s.PutObject(t.Context(),
			&control.PutObjectRequest{Name: name, Size: size, Data: []byte("x"), Upload: name})
		return connect.CodeOf(err)
	}
	if upload("e", 61) == connect.CodeResourceExhausted ||
		upload("f", 41) != connect.CodeResourceExhausted ||
		upload("f", 40) == connect.CodeResourceExhausted {
		t.Error("two uploads take the same room")
	}
}

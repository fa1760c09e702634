package mesh

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/transport"
)

// secureAll makes all tests of connections use TLS: SUPERSTEP_MESH_TLS=1 go test.
var secureAll = os.Getenv("SUPERSTEP_MESH_TLS") != ""

// plainly skips a test that inspects the bytes on the wire if all connections use TLS.
func plainly(t *testing.T) {
	t.Helper()
	if secureAll {
		t.Skip("there is TLS")
	}
}

// authority is a CA in a directory.
type authority struct {
	t   testing.TB
	dir string
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	dir := t.TempDir()
	if _, err := certs.Init(dir, 10); err != nil {
		t.Fatal(err)
	}
	return &authority{t, dir}
}

// files issues a certificate for a number of days. It returns the certificate's files with the CA
// of trusted.
func (a *authority) files(
	name string, roles certs.Role, days int, trusted *authority,
) *certs.Files {
	a.t.Helper()
	hosts := []string{"127.0.0.1"}
	p, err := certs.Issue(a.dir, a.dir,
		certs.Request{Name: name, Roles: roles, Hosts: hosts, Days: days})
	if err != nil {
		a.t.Fatal(err)
	}
	f, err := certs.Load(certs.Names{Cert: p.Cert, Key: p.Key, CA: filepath.Join(trusted.dir,
		"ca.pem")}, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return f
}

func (a *authority) worker() *certs.Files { return a.files("w", certs.Worker, 5, a) }

// shared returns the certificate of all workers if all tests use TLS.
var shared = sync.OnceValue(func() *certs.Files {
	dir, err := os.MkdirTemp("", "superstep-mesh-")
	if err == nil {
		defer os.RemoveAll(dir)
		_, err = certs.Init(dir, 10)
	}
	if err != nil {
		panic(err)
	}
	p, err := certs.Issue(dir, dir, certs.Request{Name: "w", Roles: certs.Worker, Days: 5})
	if err != nil {
		panic(err)
	}
	f, err := certs.Load(certs.Names{Cert: p.Cert, Key: p.Key, CA: filepath.Join(dir, "ca.pem")},
		nil)
	if err != nil {
		panic(err)
	}
	return f
})

// TestWhoIsLetIn: with TLS, a worker accepts connections only from certified workers, and connects
// only to certified workers. Both ends report the reason of a refusal, and it is counted.
func TestWhoIsLetIn(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	worker := ours.worker()
	bare := func() *certs.Files {
		f, err := certs.Load(certs.Names{CA: filepath.Join(ours.dir, "ca.pem")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	mixed := func() *certs.Files { return others.files("mixed", certs.Worker, 5, ours) }
	for _, c := range []struct {
		name     string
		dialler  *certs.Files
		listener *certs.Files
		token    string // the dialler's token, if it differs
		want     string // in the dialler's error; empty if it is accepted
		count    func(*Stats) uint64
	}{
		{"a worker", worker, worker, "", "", nil},
		{"with another token", worker, worker, "another token of some length", ErrToken.Error(), func(s *Stats) uint64 { return s.WrongToken }},
		{"no certificate", bare(), worker, "", "no certificate was shown", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"another CA's", mixed(), worker, "", "the certificate of mixed is of another CA", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"an expired one", ours.files("old", certs.Worker, -1, ours), worker, "", "the certificate of old has expired", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"a client's", ours.files("alice", certs.Client, 5, ours), worker, "", "the certificate of alice has the role client: expected worker", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"a reader's", ours.files("eve", certs.Reader, 5, ours), worker, "", "has the role reader: expected worker", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"a master's", ours.files("m", certs.Master, 5, ours), worker, "", "is not for this", func(s *Stats) uint64 { return s.WrongCertificate }},
		{"no TLS", nil, worker, "", "", func(s *Stats) uint64 { return s.Garbage }},
		{"TLS where there is none", worker, nil, "", "TLS: ", func(s *Stats) uint64 { return s.Garbage }},
		{"a listener that is a client", worker, ours.files("bob", certs.Client, 5, ours), "", "certificate of bob", func(s *Stats) uint64 { return s.Garbage }},
		{"a listener of another CA", worker, others.files("w9", certs.Worker, 5, others), "", "is of another CA", func(s *Stats) uint64 { return s.Garbage }},
		{"an expired listener", worker, ours.files("older", certs.Worker, -1, ours), "", "has expired", func(s *Stats) uint64 { return s.Garbage }},
	} {
		t.Run(c.name, func(t *testing.T) {
			meshes, peers := cluster(t, 2, func(i int, o *Options) {
				o.TCP, o.TLS = true, c.dialler
				if i == 1 {
					o.TLS = c.listener
				} else if c.token != "" {
					o.Token = c.token
				}
			})
			err := meshes[0].Connect(t.Context(), peers)
			if c.count == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected %q", err, c.want)
			}
			if err := meshes[0].Probe(t.Context(), peers[1]); err == nil {
				t.Error("a probe gets through")
			}
			end := time.Now().Add(time.Minute)
			for s := meshes[1].Stats(); c.count(&s) < 2; s = meshes[1].Stats() {
				if time.Now().After(end) {
					t.Fatalf("counted %+v", s)
				}
				runtime.Gosched()
			}
			if s := meshes[1].Stats(); s.FramesIn > 0 {
				t.Error("a frame came through")
			}
		})
	}
}

// TestNobodyJoins: many connections of diallers without a valid certificate are all refused.
func TestNobodyJoins(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	meshes, peers := cluster(t, 1, func(_ int, o *Options) { o.TLS = ours.worker() })
	configs := []*tls.Config{
		{InsecureSkipVerify: true, NextProtos: []string{protocol}},
		others.files("x", certs.Worker, 5, ours).Client("", certs.Worker, protocol),
		ours.files("c", certs.Client, 5, ours).Client("", certs.Worker, protocol),
		ours.files("x", certs.Worker, -1, ours).Client("", certs.Worker, protocol),
	}
	tries := 600
	if testing.Short() {
		tries = 60
	}
	if text := os.Getenv("SUPERSTEP_TRIES"); text != "" { // use 10000 for a long test
		var err error
		if tries, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range tries {
		raw, err := net.Dial("tcp", peers[0].Addr)
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, configs[i%len(configs)])
		self := newGreeting("w7", 9)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if err = c.Handshake(); err == nil {
			_, err = dialHello(c, token, self, peers[0], true)
		}
		if !errors.Is(err, ErrCertificate) {
			t.Fatalf("try %d: %v", i, err)
		}
		raw.Close()
	}
	// the dialler may get the refusal before it is counted
	for end := time.Now().Add(time.Minute); meshes[0].Stats().WrongCertificate != uint64(tries); runtime.Gosched() {
		if s := meshes[0].Stats(); time.Now().After(end) {
			t.Fatalf("%d were refused, expected %d", s.WrongCertificate, tries)
		}
	}
}

// TestSecureFrames sends frames of many sizes with TLS and checks them.
func TestSecureFrames(t *testing.T) {
	files := newAuthority(t).worker()
	for _, unix := range []bool{false, true} {
		_, from, to := pair(t, func(_ int, o *Options) { o.TLS, o.TCP = files, !unix })
		superstep := 0
		for n := 1; n <= 8<<20; n = n*3 + 1 {
			raw := bytes.Repeat([]byte{byte(n), byte(n >> 8), 7}, n/3+1)
			if err := from.Send(&transport.Frame{From: 0, To: 1, Superstep: superstep, Raw: raw}); err != nil {
				t.Fatal(err)
			}
			f, err := to.Receive(t.Context(), transport.Expand)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Raw, raw) {
				t.Fatalf("a frame of %d bytes came as %d others", len(raw), len(f.Raw))
			}
			for _, p := range []*Port{from, to} {
				if _, err := p.End(t.Context(), superstep); err != nil {
					t.Fatal(err)
				}
			}
			superstep++
		}
	}
}

// TestRecordsTakeTheirTime: a write may take longer than patience, as long as the other side
// accepts some bytes. TLS remains usable.
func TestRecordsTakeTheirTime(t *testing.T) {
	files := newAuthority(t).worker()
	a, b := net.Pipe()
	o := &Options{TLS: files, Silence: 10 * time.Second}
	done := make(chan error, 1)
	raw := bytes.Repeat([]byte("ten bytes "), 100<<10)
	go func() {
		c, err := o.secure(&dripping{Conn: a})
		if err == nil {
			_, err = c.(*secured).writeAll(net.Buffers{raw[:10], raw[10:]})
		}
		done <- err
	}()
	at, untrusted, err := o.accept(b)
	if err != nil || untrusted != nil {
		t.Fatal(err, untrusted)
	}
	got := make([]byte, len(raw))
	if _, err := io.ReadFull(at, got); err != nil || !bytes.Equal(got, raw) {
		t.Fatal("what came is not what was sent:", err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
	c := newRecords(a, time.Millisecond)
	if _, err := c.Write(raw); err == nil {
		t.Error("a write succeeds without a reader")
	}
}

// dripping ends long writes early with a deadline error, as on a slow link.
type dripping struct{ net.Conn }

func (d *dripping) Write(p []byte) (int, error) {
	if len(p) <= 64<<10 {
		return d.Conn.Write(p)
	}
	n, err := d.Conn.Write(p[:64<<10])
	return n, errors.Join(err, os.ErrDeadlineExceeded)
}

// TestMuchSentWantsOtherKeys: after very many bytes, the next session opens a new connection with
// TLS.
func TestMuchSentWantsOtherKeys(t *testing.T) {
	for _, files := range []*certs.Files{nil, newAuthority(t).worker()} {
		meshes, _, _ := pair(t, func(_ int, o *Options) { o.TLS = files })
		out := meshes[0].outs["w1"]
		if out.doubtful() {
			t.Error("a new connection is in doubt")
		}
		out.mu.Lock()
		out.sent = mostSecure + 1
		out.mu.Unlock()
		if out.doubtful() != (files != nil || secureAll) {
			t.Errorf("TLS %t: the connection stays as it is", files != nil)
		}
	}
}

// TestChangedRecordIsNotDelivered: with TLS, chunks have no checksum of their own. TLS ends the
// connection if a bit changes.
func TestChangedRecordIsNotDelivered(t *testing.T) {
	files := newAuthority(t).worker()
	for _, size := range []int{1, 1000, 1 << 20} {
		var c *held
		hold := holding(&c)
		meshes, a, b := pair(t, func(i int, o *Options) {
			o.TLS, o.TCP = files, true
			hold(i, o)
		})
		first := &transport.Frame{From: 0, To: 1, Raw: make([]byte, size)}
		if err := a.Send(first); err != nil {
			t.Fatal(err)
		}
		f, err := b.Receive(t.Context(), transport.Expand)
		if err != nil || len(f.Raw) != size {
			t.Fatalf("%+v, %v", f, err)
		}
		b.Release(f)
		c.mu.Lock()
		c.spoil = true
		c.mu.Unlock()
		if err := a.Send(first); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Receive(t.Context(), transport.Expand); !errors.As(err, new(*BrokenError)) ||
			!strings.Contains(err.Error(), "bad record MAC") {
			t.Errorf("%d bytes: %+v, %v", size, f, err)
		}
		if n := meshes[1].Stats().FramesIn; n != 1 {
			t.Errorf("%d bytes: %d frames were taken, expected 1", size, n)
		}
	}
}

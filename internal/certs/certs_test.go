package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made creates a CA in a new directory and issues certificates.
func made(t testing.TB, requests ...Request) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := Init(dir, 10); err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if _, err := Issue(dir, dir, r); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func namesIn(dir, name string) Names {
	p := pathsIn(dir, name)
	return Names{p.Cert, p.Key, filepath.Join(dir, "ca.pem")}
}

func load(t testing.TB, n Names) *Files {
	t.Helper()
	f, err := Load(n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shake runs a TLS handshake. It returns the client's identity as the server sees it, and both
// errors.
func shake(
	t testing.TB, server *Files, client *tls.Config,
) (who Identity, serverErr, clientErr error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	at, from := tls.Server(a, server.Server("x")), tls.Client(b, client)
	done := make(chan error, 1)
	go func() {
		err := from.HandshakeContext(t.Context())
		if err == nil {
			_, err = from.Write([]byte("."))
		}
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if serverErr = at.HandshakeContext(ctx); serverErr == nil {
		_, _ = io.ReadFull(at, make([]byte, 1))
		s := at.ConnectionState()
		who, serverErr = server.Identify(&s, nil)
	}
	_ = a.Close()
	return who, serverErr, <-done
}

// TestWhoIsWho: a server identifies a client only by a valid certificate. A client accepts only
// servers with the right role, CA and host.
func TestWhoIsWho(t *testing.T) {
	dir := made(
		t, Request{"m", Master, []string{"127.0.0.1", "localhost"}, 5},
		Request{"w", Worker, nil, 5}, Request{"alice", Client, nil, 5},
		Request{"eve", Reader, nil, 5},
		Request{"all", Master | Worker | Client, []string{"127.0.0.1"}, 5},
	)
	other := made(t, Request{"m", Master, []string{"127.0.0.1"}, 5}, Request{"w", Worker, nil, 5})
	of := func(dir, name string) *Files { return load(t, namesIn(dir, name)) }
	mixed := load(t, Names{filepath.Join(other, "w.pem"), filepath.Join(other,
		"w-key.pem"), filepath.Join(dir, "ca.pem")})
	bare := load(t, Names{CA: filepath.Join(dir, "ca.pem")})
	for _, c := range []struct {
		name               string
		server             *Files
		client             *tls.Config
		who                string // as the server sees it: name and roles
		atServer, atClient string
	}{
		{"worker", of(dir, "m"), of(dir, "w").Client("127.0.0.1", Master, "x"), "w worker", "", ""},
		{"client", of(dir, "m"), of(dir, "alice").Client("localhost", Master,
			"x"), "alice client", "", ""},
		{"several roles", of(dir, "all"), of(dir, "all").Client("127.0.0.1", Master,
			"x"), "all worker,client,master", "", ""},
		{"no certificate", of(dir, "m"), bare.Client("127.0.0.1", Master,
			"x"), "", ErrNone.Error(), ""},
		{"another CA's client", of(dir, "m"), mixed.Client("127.0.0.1", Master,
			"x"), "", "of another CA", ""},
		{"another CA's master", of(other, "m"), of(dir, "w").Client("127.0.0.1", Master,
			"x"), "", "remote error", "of another CA"},
		{"a client as a master", of(dir, "alice"), of(dir, "w").Client("127.0.0.1", Master,
			"x"), "", "remote error", "has the role client, which is not for this"},
		{"a worker as a master", of(dir, "w"), of(dir, "alice").Client("", Master,
			"x"), "", "remote error", "has the role worker: expected master"},
		{"another host's", of(dir, "m"), of(dir, "w").Client("10.1.1.1", Master,
			"x"), "", "remote error", "not 10.1.1.1"},
		{"a worker for a worker", of(dir, "w"), of(dir, "w").Client("", Worker,
			"x"), "w worker", "", ""},
		{"a master for a worker", of(dir, "m"), of(dir, "w").Client("", Worker,
			"x"), "", "remote error", "has the role master: expected worker"},
		{"a master as a client", of(dir, "m"), of(dir, "m").Client("127.0.0.1", Master,
			"x"), "", "is not for this", ""},
		{
			"old TLS", of(dir,
				"m"), &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}, "",
			"unsupported versions", "protocol version not supported",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			who, serverErr, clientErr := shake(t, c.server, c.client)
			if c.who != "" && (who.Name+" "+who.Roles.String() != c.who) {
				t.Errorf("found %v, expected %s", who, c.who)
			}
			for _, e := range []struct {
				err  error
				want string
			}{{serverErr, c.atServer}, {clientErr, c.atClient}} {
				if (e.err == nil) != (e.want == "") || e.err != nil &&
					!strings.Contains(e.err.Error(), e.want) {
					t.Errorf("found %v, expected %q", e.err, e.want)
				}
			}
		})
	}
}

// TestTime: an expired certificate is refused, even on an existing connection.
func TestTime(t *testing.T) {
	dir := made(t, Request{"m", Master, []string{"h"}, 5}, Request{"w", Worker, nil, 2})
	f := load(t, namesIn(dir, "m"))
	w := load(t, namesIn(dir, "w"))
	chain, err := ReadFile(w.Cert)
	if err != nil {
		t.Fatal(err)
	}
	s, known := &tls.ConnectionState{PeerCertificates: chain}, new(Checked)
	now := time.Now()
	f.now = func() time.Time { return now }
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, ""}, {47 * time.Hour, ""}, {49 * time.Hour, "the certificate of w has expired, on 2"}, {-time.Hour, "the certificate of w is not valid before 2"}} {
		now = time.Now().Add(c.after)
		if _, err := f.Identify(s, known); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("after %v: %v, expected %q", c.after, err, c.want)
		}
		known = new(Checked)
	}
	now = chain[0].NotAfter.Add(-time.Second)
	if _, err := f.Identify(s, known); err != nil {
		t.Fatal(err)
	}
	if now = now.Add(2 * time.Second); true {
		if _, err := f.Identify(s, known); err == nil {
			t.Error("an open connection outlives its certificate")
		}
	}
}

// TestReload: changed files are used from the next check, including the CA. Invalid or incomplete
// files are ignored.
func TestReload(t *testing.T) {
	dir := made(t, Request{"m", Master, []string{"h"}, 5})
	next := made(t, Request{"m", Master, []string{"h"}, 5}, Request{"w", Worker, nil, 5})
	var said []string
	f, err := Load(namesIn(dir, "m"), func(line string) { said = append(said, line) })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	f.now = func() time.Time { return now }
	first := f.current()
	put := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err == nil {
			err = os.Chtimes(to, now, now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(next, "m.pem"), f.Cert)
	if f.current() != first {
		t.Error("files are looked at more often than they should")
	}
	for range 3 {
		if now = now.Add(2 * time.Second); f.current() != first {
			t.Error("a certificate without its key was taken")
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "are not used") {
		t.Errorf("output %q", said)
	}
	put(filepath.Join(next, "m-key.pem"), f.Key)
	put(filepath.Join(next, "ca.pem"), f.CA)
	now = now.Add(2 * time.Second)
	if f.current() == first || len(said) != 2 {
		t.Errorf("the new files are not used: %q", said)
	}
	chain, err := ReadFile(filepath.Join(next, "w.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if who, err := f.Identify(&tls.ConnectionState{PeerCertificates: chain}, nil); err != nil ||
		who.Name != "w" {
		t.Error(who, err)
	}
	if err := os.Remove(f.CA); err != nil {
		t.Fatal(err)
	}
	if now = now.Add(2 * time.Second); f.current() == nil || len(said) != 3 {
		t.Errorf("a file that is gone: %q", said)
	}
}

// TestReplacedCA: after the CA is replaced, certificates of the old CA are refused, even on a
// connection whose certificate was just checked. They are valid again when the old CA is restored.
func TestReplacedCA(t *testing.T) {
	dir := made(t, Request{"m", Master, []string{"h"}, 5}, Request{"w", Worker, nil, 5})
	next := made(t, Request{"m", Master, []string{"h"}, 5})
	f := load(t, namesIn(dir, "m"))
	chain, err := ReadFile(filepath.Join(dir, "w.pem"))
	if err != nil {
		t.Fatal(err)
	}
	s, known := &tls.ConnectionState{PeerCertificates: chain}, new(Checked)
	now := time.Now()
	f.now = func() time.Time { return now }
	first, err := os.ReadFile(f.CA)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(next, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	f.Cert, f.Key = "", "" // keep the process's own certificate
	for i, ca := range [][]byte{first, second, first, second} {
		now = now.Add(2 * time.Second)
		if err := errors.Join(os.WriteFile(f.CA, ca, 0o600),
			os.Chtimes(f.CA, now, now)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Identify(s, known); (err == nil) != (i%2 == 0) {
			t.Errorf("CA %d: found %v", i%2, err)
		}
	}
}

// TestLoadRefuses: errors describe the defects of files.
func TestLoadRefuses(t *testing.T) {
	dir := made(t, Request{"m", Master, []string{"h"}, 5}, Request{"w", Worker, nil, 5})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		n    Names
		want string
	}{
		{Names{Cert: in("m.pem"), Key: in("m-key.pem")}, "--tls-ca"},
		{Names{CA: in("ca.pem"), Cert: in("m.pem")}, "--tls-key"},
		{Names{CA: in("ca.pem"), Key: in("m-key.pem")}, "--tls-cert"},
		{Names{CA: in("m.pem")}, "which is no CA"},
		{Names{CA: in("none")}, "no such file"},
		{Names{CA: in("ca-key.pem")}, "expected CERTIFICATE"},
		{Names{CA: in("ca.pem"), Cert: in("m.pem"), Key: in("w-key.pem")}, "is not the key of"},
		{Names{CA: "/dev/zero"}, ""},
	} {
		if _, err := Load(c.n, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: found %v, expected %q", c.n, err, c.want)
		}
	}
}

// FuzzRoles: only names in our own form give roles to a certificate.
func FuzzRoles(f *testing.F) {
	f.Add("superstep:role:worker")
	f.Add("superstep:role:worker,client")
	f.Add("superstep://role/worker")
	f.Fuzz(func(t *testing.T, name string) {
		u, err := url.Parse(name)
		if err != nil {
			return
		}
		got := RolesOf(&x509.Certificate{URIs: []*url.URL{u}})
		if got == 0 {
			return
		}
		if role, err := ParseRole(got.String()); err != nil || role != got ||
			u.String() != rolePrefix+got.String() {
			t.Errorf("%q has the roles %v", name, got)
		}
	})
}

func TestRoleErrors(t *testing.T) {
	var e *RoleError
	if err := (Identity{"x", Reader}).Need(Client | Worker); !errors.As(err, &e) ||
		err.Error() != "the certificate of x has the role reader: expected worker,client" {
		t.Error(err)
	}
	if err := (Identity{"x", Reader | Client}).Need(Client); err != nil {
		t.Error(err)
	}
}

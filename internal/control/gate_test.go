package control

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
)

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

func (a *authority) files(
	name string, roles certs.Role, days int, trusted *authority,
) *certs.Files {
	a.t.Helper()
	p, err := certs.Issue(a.dir, a.dir,
		certs.Request{Name: name, Roles: roles, Hosts: []string{"127.0.0.1"}, Days: days})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.load(certs.Names{Cert: p.Cert, Key: p.Key, CA: filepath.Join(trusted.dir, "ca.pem")})
}

func (a *authority) load(n certs.Names) *certs.Files {
	a.t.Helper()
	f, err := certs.Load(n, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return f
}

// gated serves Workers, Cluster, sessions and pages behind a gate. It records each refused caller
// and the reason.
type gated struct {
	address string
	mu      sync.Mutex
	refused []string
}

func (g *gated) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := strings.Join(g.refused, "\n")
	g.refused = nil
	return all
}

func serveGated(t *testing.T, gate *Gate) *gated {
	t.Helper()
	s := &gated{}
	gate.Refused = func(_ string, why error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused = append(s.refused, why.Error())
	}
	mux := http.NewServeMux()
	path, h := NewWorkersHandler(UnimplementedWorkersHandler{}, HandlerOptions()...)
	mux.Handle(path, gate.Service(h))
	path, h = NewClusterHandler(UnimplementedClusterHandler{}, HandlerOptions()...)
	mux.Handle(path, gate.Service(h))
	mux.Handle("GET "+SessionPath,
		Sessions(gate, func(_ context.Context, l *Lane) { l.End(errors.New("enough")) }))
	mux.Handle("GET "+ChallengePath, Challenge(gate))
	page := http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	mux.Handle("GET /status", gate.Page(page, Reading, false))
	mux.Handle("GET /metrics", gate.Page(page, Reading, true))
	new(Health).Handle(mux)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	server := NewHTTPServer(mux, t.Context())
	done := make(chan error, 1)
	go func() { done <- gate.Serve(server, l, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return s
}

// outcomeOf returns the outcome of a call in a word: in, nobody, role, or no connection.
func outcomeOf(err error) string {
	switch code := connect.CodeOf(err); {
	case err == nil || code == connect.CodeUnimplemented && connect.IsWireError(err):
		return "in"
	case code == connect.CodeUnauthenticated:
		return "nobody"
	case code == connect.CodePermissionDenied:
		return "role"
	}
	return "none"
}

// TestWhoMayWhat tests the table in docs/operating.md.
func TestWhoMayWhat(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	token, metrics := Token{text: "the-token-of-a-cluster"}, Token{text: "one-for-prometheus-only"}
	master := ours.files("m", certs.Master, 5, ours)
	bare := ours.load(certs.Names{CA: filepath.Join(ours.dir, "ca.pem")})
	gate := &Gate{Credentials: Credentials{Token: token, TLS: master}, Metrics: metrics}
	s := serveGated(t, gate)
	secret := &Gate{Credentials: Credentials{TLS: master}}
	without := serveGated(t, secret) // no token, only certificates
	for _, c := range []struct {
		name                                            string
		at                                              *gated
		who                                             Credentials
		register, session, look, change, status, scrape string
		why                                             string
	}{
		{"nothing", s, Credentials{TLS: bare}, "nobody", "nobody", "nobody", "nobody", "nobody", "nobody", "a certificate is needed, or the token"},
		{"the token", s, Credentials{TLS: bare, Token: token}, "role", "role", "in", "in", "in", "in", "a worker needs a certificate"},
		{"a wrong token", s, Credentials{TLS: bare, Token: Token{text: "a-wrong-token-of-some"}}, "nobody", "nobody", "nobody", "nobody", "nobody", "nobody", "a token is missing or wrong"},
		{"the token of metrics", s, Credentials{TLS: bare, Token: metrics}, "nobody", "nobody", "nobody", "nobody", "nobody", "in", "a token is missing or wrong"},
		{
			"a worker", s,
			Credentials{TLS: ours.files("w", certs.Worker, 5,
				ours)},
			"in", "in", "role", "role", "role", "role",
			"the certificate of w has the role worker: expected client",
		},
		{
			"a client", s,
			Credentials{TLS: ours.files("alice", certs.Client, 5,
				ours)},
			"role", "role", "in", "in", "in", "in",
			"the certificate of alice has the role client: expected worker",
		},
		{
			"an operator", s,
			Credentials{TLS: ours.files("olga", certs.Operator, 5,
				ours)},
			"role", "role", "in", "in", "in", "in",
			"the certificate of olga has the role operator: expected worker",
		},
		{
			"a reader", s,
			Credentials{TLS: ours.files("eve", certs.Reader, 5,
				ours)},
			"role", "role", "in", "role", "in", "in",
			"the certificate of eve has the role reader: expected client",
		},
		{"a reader with the token", s, Credentials{TLS: ours.files("eve2", certs.Reader, 5,
			ours), Token: token}, "role", "role", "in", "in", "in", "in", "expected worker"},
		{"a master", s, Credentials{TLS: ours.files("m2", certs.Master, 5,
			ours)}, "nobody", "nobody", "nobody", "nobody", "nobody", "nobody", "is not for this"},
		{
			"nobody's certificate", s,
			Credentials{TLS: ours.files("x", certs.Master|certs.Worker, 5,
				ours)},
			"in", "in", "role", "role", "role", "role",
			"has the role worker,master: expected client",
		},
		{
			"an expired one", s,
			Credentials{TLS: ours.files("old", certs.Client, -1,
				ours)},
			"nobody", "nobody", "nobody", "nobody", "nobody", "nobody",
			"the certificate of old has expired",
		},
		{"an expired one with the token", s, Credentials{TLS: ours.files("old2", certs.Client, -1,
			ours), Token: token}, "role", "role", "in", "in", "in", "in", "a worker needs"},
		{
			"another CA's", s,
			Credentials{TLS: others.files("w", certs.Worker|certs.Client, 5,
				ours)},
			"nobody", "nobody", "nobody", "nobody", "nobody", "nobody",
			"the certificate of w is of another CA",
		},
		{
			"who trusts another CA", s,
			Credentials{TLS: others.files("v", certs.Worker, 5,
				others)},
			"none", "none", "none", "none", "none", "none",
			"it does not trust the certificate",
		},
		{"no TLS", s, Credentials{Token: token}, "none", "none", "none", "none", "none", "none", ""},
		{"certificates alone: a token", without, Credentials{TLS: bare, Token: token}, "nobody", "nobody", "nobody", "nobody", "nobody", "nobody", "a certificate is needed"},
		{"certificates alone: a client", without, Credentials{TLS: ours.files("bob", certs.Client,
			5, ours)}, "role", "role", "in", "in", "in", "in", "of bob"},
		{"certificates alone: a worker", without, Credentials{TLS: ours.files("w5", certs.Worker, 5,
			ours)}, "in", "in", "role", "role", "role", "role", "of w5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.at.take()
			conn, err := Connect(c.at.address, c.who, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			check := func(what, want string, err error) {
				t.Helper()
				if got := outcomeOf(err); got != want {
					t.Errorf("%s: found %s (%v), expected %s", what, got, err, want)
				}
			}
			_, err = conn.Workers.Register(t.Context(), &RegisterRequest{})
			check("register", c.register, err)
			_, err = conn.Workers.ReportExit(t.Context(), &ReportExitRequest{})
			check("report an exit", c.register, err)
			lane, err := conn.Session(t.Context())
			check("session", c.session, err)
			if err == nil {
				lane.Close()
			}
			check("status", c.look,
				second(conn.Cluster.Status(t.Context(), &StatusRequest{})))
			check("list jobs", c.look,
				second(conn.Cluster.ListJobs(t.Context(), &ListJobsRequest{})))
			check("get a job", c.look,
				second(conn.Cluster.GetJob(t.Context(), &GetJobRequest{})))
			check("list graphs", c.look, second(conn.Cluster.ListGraphs(t.Context(),
				&ListGraphsRequest{})))
			check("inspect a graph", c.look, second(conn.Cluster.InspectGraph(t.Context(),
				&InspectGraphRequest{})))
			check("list workers", c.look, second(conn.Cluster.ListWorkers(t.Context(),
				&ListWorkersRequest{})))
			stream, err := conn.Cluster.WatchJob(t.Context(),
				&WatchJobRequest{})
			check("watch", c.look, streamed(stream, err))
			check("submit", c.change, second(conn.Cluster.SubmitJob(t.Context(),
				&SubmitJobRequest{})))
			check("confirm", c.change, second(conn.Cluster.ConfirmJob(t.Context(),
				&ConfirmJobRequest{})))
			check("cancel", c.change, second(conn.Cluster.CancelJob(t.Context(),
				&CancelJobRequest{})))
			check("send a column", c.change, second(conn.Cluster.SendColumn(t.Context(),
				&SendColumnRequest{})))
			check("load", c.change, second(conn.Cluster.LoadGraph(t.Context(),
				&LoadGraphRequest{})))
			check("drop", c.change, second(conn.Cluster.DropGraph(t.Context(),
				&DropGraphRequest{})))
			check("vertices", c.change, second(conn.Cluster.ListVertices(t.Context(),
				&ListVerticesRequest{})))
			chunks, err := conn.Cluster.GetResult(t.Context(),
				&GetResultRequest{})
			check("result", c.change, streamed(chunks, err))
			archive, err := conn.Cluster.Backup(t.Context(), &BackupRequest{})
			check("drain", operating(c.who.TLS, c.change),
				second(conn.Cluster.DrainWorker(t.Context(),
					&DrainWorkerRequest{})))
			check("backup", operating(c.who.TLS, c.change), streamed(archive, err))
			check("the page of status", c.status, fetchPage(t, conn, "/status"))
			check("metrics", c.scrape, fetchPage(t, conn, "/metrics"))
			if c.register != "none" {
				check("health", "in", fetchPage(t, conn, "/healthz"))
			}
			end := time.Now().Add(time.Minute)
			for all := c.at.take(); !strings.Contains(all, c.why); all += c.at.take() {
				if time.Now().After(end) {
					t.Fatalf("refused for %q, expected %q", all, c.why)
				}
			}
		})
	}
	if conn, err := Connect(s.address, Credentials{Token: token}, nil); err != nil {
		t.Error(err)
	} else if err := conn.Probe(t.Context()); err == nil || !strings.Contains(err.Error(),
		"wants TLS: give --tls-ca") {
		t.Errorf("without TLS: %v", err)
	}
	if conn, err := Connect(s.address,
		Credentials{TLS: others.files("v2", certs.Worker, 5, others)}, nil); err != nil {
		t.Error(err)
	} else if err := conn.Probe(t.Context()); err == nil || !strings.Contains(err.Error(),
		"is not trusted: the certificate of m is of another CA") {
		t.Errorf("with another CA: %v", err)
	}
	plain := serveGated(t, &Gate{Credentials: Credentials{Token: token}})
	conn, err := Connect(plain.address, Credentials{TLS: bare, Token: token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Cluster.Status(t.Context(), &StatusRequest{})
	if !Foreign(err) || !strings.Contains(Explain(plain.address, err).Error(), "has no TLS") {
		t.Errorf("TLS to a server without TLS: %v", err)
	}
}

// operating returns the outcome of a call that only operators may make. change is the outcome of
// other changes for this caller.
func operating(files *certs.Files, change string) string {
	if change == "in" && !strings.Contains(files.Cert, "olga") {
		return "role"
	}
	return change
}

func second[T any](_ T, err error) error { return err }

// streamed returns the error at the beginning of a stream.
func streamed[T any](s *connect.ServerStreamForClient[T], err error) error {
	if err != nil {
		return err
	}
	s.Receive()
	return errors.Join(s.Err(), s.Close())
}

// fetchPage requests a page through a connection.
func fetchPage(t *testing.T, c *Connection, path string) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.sign(r.Header)
	answer, err := c.base.RoundTrip(r)
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return connect.NewError(connect.CodeUnauthenticated, errToken)
	case http.StatusForbidden:
		return connect.NewError(connect.CodePermissionDenied, errToken)
	}
	return nil
}

// TestHandshakesAreBounded: an unfinished handshake is closed after the time limit of a request's
// header. Meanwhile others are answered.
func TestHandshakesAreBounded(t *testing.T) {
	ours := newAuthority(t)
	gate := &Gate{Credentials: Credentials{TLS: ours.files("m", certs.Master, 5, ours)}}
	mux := http.NewServeMux()
	new(Health).Handle(mux)
	bounds := usual
	bounds.header, bounds.perHost = 300*time.Millisecond, 64
	server := newHTTPServer(gate.Page(mux, Reading, false), t.Context(), bounds)
	server.ErrorLog = gate.errorLog(slog.New(slog.DiscardHandler))
	server.TLSConfig = gate.TLS.Server(http2, http1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit := newLimiter(l, bounds, func(string) {})
	done := make(chan error, 1)
	go func() { done <- server.ServeTLS(limit, "", "") }()
	defer func() {
		_ = server.Close()
		<-done
	}()
	hello := clientHello(t)
	var slow []net.Conn
	for i := range 200 {
		c := dialled(t, l.Addr().String())
		_, _ = c.Write(hello[:i*len(hello)/200]) // fails if the server has closed the connection
		slow = append(slow, c)
	}
	conn, err := Connect(l.Addr().String(),
		Credentials{TLS: ours.files("alice", certs.Client, 5, ours)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fetchPage(t, conn, "/healthz"); err != nil {
		t.Error(err)
	}
	conn.Close()
	for _, c := range slow {
		if _, err := io.Copy(io.Discard, c); errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	limit.mu.Lock()
	defer limit.mu.Unlock()
	if len(limit.open) > 1 {
		t.Errorf("%d connections are left", len(limit.open))
	}
}

// clientHello returns the first message of a handshake.
func clientHello(t *testing.T) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	go func() { _ = tls.Client(b, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()) }()
	buffer := make([]byte, 4<<10)
	n, err := a.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return buffer[:n]
}

// TestReservedNamesAreNobodys: a certificate with a name reserved for callers without one is
// refused, whoever issued it. It does not own their jobs.
func TestReservedNamesAreNobodys(t *testing.T) {
	a := newAuthority(t)
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.dir, "ca.pem"),
		filepath.Join(a.dir, "ca-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	role := &url.URL{Scheme: "superstep", Opaque: "role:client"}
	gate := &Gate{Credentials: Credentials{TLS: a.files("m", certs.Master, 5, a)}}
	for name, want := range map[string]bool{"alice": true, "token": false, "browser": false, "anyone": false} {
		if _, err := certs.Issue(a.dir, t.TempDir(),
			certs.Request{Name: name, Roles: certs.Client, Days: 5}); (err == nil) != want {
			t.Errorf("issue %s: %v", name, err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name},
			URIs:      []*url.URL{role},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey,
			pair.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		caller, err := gate.Caller(r)
		if (err == nil) != want || want != (caller.Owner() == name) {
			t.Errorf("%s: found %v, %v", name, caller, err)
		}
	}
}

package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

func TestEveryAnswerIsHardened(t *testing.T) {
	s := New(source(t), Options{Gate: gate(t)})
	for _, path := range []string{"/", "/app.js", "/nothing", "/api/v1/jobs", "/api/v1/nothing"} {
		h := ask(s, "GET", path, nil).Header()
		if p := h.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'self';") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: policy %q", path, p)
		}
		for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"} {
			if h.Get(name) == "" {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	}
}

func TestWhoIsLetIn(t *testing.T) {
	open, locked := New(source(t), Options{}), New(source(t), Options{Gate: gate(t), Metrics: http.NotFoundHandler()})
	bearer := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+text) }
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name   string
		site   *Site
		path   string
		edit   func(*http.Request)
		status int
	}{
		{"no token is needed", open, "/api/v1/jobs", nil, 200},
		{"by name", open, "/api/v1/jobs", host("localhost:9"), 200},
		{"by IPv6", open, "/api/v1/jobs", host("[::1]:9"), 200},
		{"without a port", open, "/api/v1/jobs", host("127.0.0.1"), 200},
		{"another's name for this machine", open, "/api/v1/jobs", host("evil.example:8080"), 403},
		{"and of the page", open, "/", host("evil.example"), 403},
		{"a name that looks like it", open, "/api/v1/jobs", host("127.0.0.1.evil.example"), 403},
		{"with a token names are free", locked, "/api/v1/jobs", func(r *http.Request) { r.Host = "run.example"; bearer(secret)(r) }, 200},
		{"own origin", open, "/api/v1/jobs", header("Origin", "http://127.0.0.1:8080"), 200},
		{"other origin", open, "/api/v1/jobs", header("Origin", "http://evil.example"), 403},
		{"other port", open, "/api/v1/jobs", header("Origin", "http://127.0.0.1:9999"), 403},
		{"no origin", open, "/api/v1/jobs", header("Origin", "null"), 403},
		{"another site's page", open, "/api/v1/jobs", header("Sec-Fetch-Site", "cross-site"), 403},
		{"events of another site's page", open, "/api/v1/events", header("Sec-Fetch-Site", "cross-site"), 403},
		{"this site's page", open, "/api/v1/jobs", header("Sec-Fetch-Site", "same-origin"), 200},
		{"a link from another site", open, "/", header("Sec-Fetch-Site", "cross-site"), 200},
		{"no token", locked, "/api/v1/jobs", nil, 401},
		{"no token for events", locked, "/api/v1/events", nil, 401},
		{"no token for metrics", locked, "/metrics", nil, 401},
		{"metrics", locked, "/metrics", bearer(secret), 404},
		{"a wrong token", locked, "/api/v1/jobs", bearer(secret + "x"), 401},
		{"half a token", locked, "/api/v1/jobs", bearer(secret[:9]), 401},
		{"the token", locked, "/api/v1/jobs", bearer(secret), 200},
		{"the token in the address", locked, "/api/v1/jobs?token=" + secret, nil, 401},
		{"a made-up session", locked, "/api/v1/jobs", header("Cookie", cookieName+"=0000"), 401},
		{"an empty session", locked, "/api/v1/jobs", header("Cookie", cookieName+"="), 401},
		{"the page needs no token", locked, "/", nil, 200},
	} {
		if w := ask(c.site, "GET", c.path, c.edit); w.Code != c.status {
			t.Errorf("%s: status %d, expected %d: %s", c.name, w.Code, c.status, w.Body)
		} else if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer tells the token", c.name)
		}
	}
}

func TestSession(t *testing.T) {
	refused := 0
	guard := gate(t)
	guard.Refused = func(string, error) { refused++ }
	s := New(source(t), Options{Gate: guard})
	enter := func(body, kind string) (status int, cookie *http.Cookie) {
		w := ask(s, "POST", "/api/v1/session", func(r *http.Request) {
			r.Header.Set("Content-Type", kind)
			r.Body = io.NopCloser(strings.NewReader(body))
		})
		if cookies := w.Result().Cookies(); len(cookies) > 0 {
			cookie = cookies[0]
		}
		if strings.Contains(fmt.Sprint(w.Body, w.Header()), secret) {
			t.Error("the answer tells the token")
		}
		return w.Code, cookie
	}
	for _, c := range []struct {
		body, kind string
		status     int
	}{
		{`{"token":"` + secret + `"}`, "text/plain", 415}, // what a form of another site can send
		{`{"token":"wrong-wrong-wrong-wrong"}`, "application/json", 401},
		{`{}`, "application/json", 401},
		{`token=` + secret, "application/json", 400},
		{`{"token":"` + strings.Repeat("x", maxBody) + `"}`, "application/json", 413},
	} {
		if status, cookie := enter(c.body, c.kind); status != c.status || cookie != nil {
			t.Errorf("%.40s as %s: status %d, cookie %v", c.body, c.kind, status, cookie)
		}
	}
	if refused != 2 {
		t.Errorf("%d refused", refused)
	}
	status, cookie := enter(`{"token":"`+secret+`"}`, "application/json; charset=utf-8")
	if status != 200 || cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Fatalf("status %d, cookie %v", status, cookie)
	}
	with := func(r *http.Request) { r.AddCookie(cookie) }
	if w := ask(s, "GET", "/api/v1/jobs", with); w.Code != 200 {
		t.Errorf("with the cookie: status %d", w.Code)
	}
	if w := ask(s, "DELETE", "/api/v1/session", with); w.Code != 200 {
		t.Errorf("leaving: status %d", w.Code)
	}
	if w := ask(s, "GET", "/api/v1/jobs", with); w.Code != 401 {
		t.Errorf("after leaving: status %d", w.Code)
	}
	for range maxSessions + 1 {
		s.sessions.add()
	}
	if n := len(s.sessions.open); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
}

func TestAnAddressThatOthersReachWantsAToken(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80"} {
		if s, err := Start(address, control.Token{}, source(t), nil); err == nil || !strings.Contains(err.Error(), "--token-file") {
			s.Close()
			t.Errorf("%s: error %v", address, err)
		}
	}
	file := filepath.Join(t.TempDir(), "token")
	check(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	tok, err := control.ReadToken(file)
	check(t, err)
	s, err := Start("0.0.0.0:0", tok, source(t), nil)
	check(t, err)
	defer s.Close()
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Errorf("the page is at %s", s.URL)
	}
}

// TestSlowClientsDoNotKeepOthersOut opens a thousand connections that send their requests byte by byte, or not at all.
func TestSlowClientsDoNotKeepOthersOut(t *testing.T) {
	s, err := Start("127.0.0.1:0", control.Token{}, source(t), nil)
	check(t, err)
	defer s.Close()
	address := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/")
	var slow []net.Conn
	defer func() {
		for _, c := range slow {
			c.Close()
		}
	}()
	for i := range 1000 {
		c, err := net.DialTimeout("tcp", address, time.Minute)
		check(t, err)
		if slow = append(slow, c); i%2 == 0 {
			_, _ = c.Write([]byte("GET / HT")) // fails where the server closed it already
		}
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	began := time.Now()
	for range 5 {
		answer, err := client.Get(s.URL + "api/v1/jobs")
		check(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Errorf("status %d", answer.StatusCode)
		}
	}
	t.Logf("five answers took %v", time.Since(began))
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("five answers took %v", took)
	}
}

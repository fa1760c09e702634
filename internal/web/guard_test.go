package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

func TestEveryAnswerIsHardened(t *testing.T) {
	s := New(source(t), Options{Gate: gate(t)})
	for _, path := range []string{"/", "/app.js", "/nothing", "/api/v1/jobs", "/api/v1/nothing"} {
		h := ask(s, "GET", path, nil).Header()
		if p := h.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'self';") ||
			strings.Contains(p, "unsafe") {
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
	site := New(source(t), Options{Gate: gate(t), Metrics: http.NotFoundHandler()})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { bearer(r); r.Header.Set(name, value) }
	}
	token := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+text) }
	}
	cookie := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Cookie", cookieName(r)+"="+value) }
	}
	for _, c := range []struct {
		name   string
		path   string
		edit   func(*http.Request)
		status int
	}{
		{"own origin", "/api/v1/jobs", header("Origin", "http://127.0.0.1:8080"), 200},
		{"other origin", "/api/v1/jobs", header("Origin", "http://evil.example"), 403},
		{"other port", "/api/v1/jobs", header("Origin", "http://127.0.0.1:9999"), 403},
		{"no origin", "/api/v1/jobs", header("Origin", "null"), 403},
		{"another site's page", "/api/v1/jobs", header("Sec-Fetch-Site", "cross-site"), 403},
		{"events of another site's page", "/api/v1/events", header("Sec-Fetch-Site",
			"cross-site"), 403},
		{"this site's page", "/api/v1/jobs", header("Sec-Fetch-Site", "same-origin"), 200},
		{"a link from another site", "/", header("Sec-Fetch-Site", "cross-site"), 200},
		{"no token", "/api/v1/jobs", nil, 401},
		{"no token for events", "/api/v1/events", nil, 401},
		{"no token for metrics", "/metrics", nil, 401},
		{"metrics", "/metrics", bearer, 404},
		{"a wrong token", "/api/v1/jobs", token(secret + "x"), 401},
		{"half a token", "/api/v1/jobs", token(secret[:9]), 401},
		{"the token", "/api/v1/jobs", bearer, 200},
		{"the token in the address of the API", "/api/v1/jobs?token=" + secret, nil, 401},
		{"a wrong token in the link", "/?token=" + secret + "x", nil, 401},
		{"no token in the link", "/?token=", nil, 401},
		{"a made-up session", "/api/v1/jobs", cookie("0000"), 401},
		{"an empty session", "/api/v1/jobs", cookie(""), 401},
		{"the page needs no token", "/", nil, 200},
	} {
		if w := ask(site, "GET", c.path, c.edit); w.Code != c.status {
			t.Errorf("%s: status %d, expected %d: %s", c.name, w.Code, c.status, w.Body)
		} else if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer contains the token", c.name)
		}
	}
}

// TestOtherNamesAreRefused: without a given token, only names of this machine lead to the page.
func TestOtherNamesAreRefused(t *testing.T) {
	for _, c := range []struct {
		token control.Token
		host  string
		want  int
	}{
		{control.Token{}, "localhost:9", 200},
		{control.Token{}, "[::1]:9", 200},
		{control.Token{}, "127.0.0.1", 200},
		{control.Token{}, "evil.example:8080", 403},
		{control.Token{}, "127.0.0.1.evil.example", 403},
		{token(t), "run.example", 200},
	} {
		s, err := Start("127.0.0.1:0", c.token, source(t), nil)
		check(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		check(t, err)
		r.Host = c.host
		answer, err := http.DefaultClient.Do(r)
		check(t, err)
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s with %v: status %d, expected %d", c.host, c.token, answer.StatusCode,
				c.want)
		}
		s.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestTheLinkOpensThePage: a run without a token creates one and puts it into the link. It becomes
// a cookie for this port that scripts cannot read, and the address is cleaned. Without the link
// nobody sees the run. A given token is not shown.
func TestTheLinkOpensThePage(t *testing.T) {
	s, err := Start("127.0.0.1:0", control.Token{}, source(t), http.NotFoundHandler())
	check(t, err)
	defer s.Close()
	code, ok := strings.CutPrefix(s.Link, s.URL+"?token=")
	if !ok || len(code) != 64 {
		t.Fatalf("the link is %s", s.Link)
	}
	jar, err := cookiejar.New(nil)
	check(t, err)
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	get := func(url string) (*http.Response, string) {
		t.Helper()
		answer, err := browser.Get(url)
		check(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		check(t, err)
		return answer, string(text)
	}
	for _, path := range []string{"api/v1/jobs", "api/v1/events", "metrics", "?token=" + strings.Repeat("0", 64)} {
		if answer, text := get(s.URL + path); answer.StatusCode != 401 ||
			!strings.Contains(text, "open the link that superstep printed") {
			t.Errorf("/%s: status %d %s", path, answer.StatusCode, text)
		}
	}
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, _ := get(s.Link)
	_, port, _ := net.SplitHostPort(answer.Request.Host)
	if cookies := answer.Cookies(); answer.StatusCode != http.StatusSeeOther ||
		answer.Header.Get("Location") != "/" || len(cookies) != 1 ||
		!cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode ||
		cookies[0].Name != "superstep-session-"+port ||
		cookies[0].Value == code || answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v", answer.StatusCode, answer.Header)
	}
	if answer, text := get(s.URL + "api/v1/jobs"); answer.StatusCode != 200 {
		t.Errorf("with the cookie: status %d %s", answer.StatusCode, text)
	}
	given, err := Start("127.0.0.1:0", token(t), source(t), nil)
	check(t, err)
	defer given.Close()
	if given.Link != given.URL {
		t.Errorf("the link is %s", given.Link)
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
			t.Error("the answer contains the token")
		}
		return w.Code, cookie
	}
	for _, c := range []struct {
		body, kind string
		status     int
	}{
		// a form of another site can send this type
		{`{"token":"` + secret + `"}`, "text/plain", 415},
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
	if status != 200 || cookie == nil || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteStrictMode {
		t.Fatalf("status %d, cookie %v", status, cookie)
	}
	with := func(r *http.Request) { r.AddCookie(cookie) }
	if w := ask(s, "GET", "/api/v1/jobs", with); w.Code != 200 {
		t.Errorf("with the cookie: status %d", w.Code)
	}
	w := ask(s, "DELETE", "/api/v1/session", with)
	if left := w.Result().Cookies(); w.Code != 200 || len(left) != 1 || left[0].MaxAge >= 0 ||
		left[0].Name != cookie.Name || left[0].Value != "" {
		t.Errorf("leaving: status %d, cookies %v", w.Code, left)
	}
}

// TestAPageOutlivesItsMaster: a session is valid at the next master with the same token until it
// expires. It is invalid with another token or expiry.
func TestAPageOutlivesItsMaster(t *testing.T) {
	first, next := New(source(t), Options{Gate: gate(t)}), New(source(t), Options{Gate: gate(t)})
	other, err := control.NewToken(secret+"x", "test")
	check(t, err)
	changed := New(source(t),
		Options{Gate: &control.Gate{Credentials: control.Credentials{Token: other}}})
	given := ask(first, "GET", "/?token="+secret, nil).Result().Cookies()
	if len(given) != 1 || strings.Contains(given[0].Value, secret) {
		t.Fatalf("cookies %v", given)
	}
	end, mac, _ := strings.Cut(given[0].Value, "-")
	seconds, err := strconv.ParseInt(end, 10, 64)
	check(t, err)
	if left := time.Until(time.Unix(seconds, 0)); left > sessionTime ||
		left < sessionTime-time.Minute {
		t.Errorf("it holds for %v", left)
	}
	for _, c := range []struct {
		name   string
		site   *Site
		value  string
		status int
	}{
		{"the next master", next, given[0].Value, 200},
		{"another token", changed, given[0].Value, 401},
		{"no token", New(source(t), Options{Gate: new(control.Gate)}), given[0].Value, 401},
		{"a later end", next, fmt.Sprintf("%d-%s", seconds+1, mac), 401},
		{"the same end in other words", next, "+" + given[0].Value, 401},
		{"a part of it", next, given[0].Value[:len(given[0].Value)-2], 401},
		{"no proof", next, end, 401},
		{"one that has ended", next, next.pass(time.Now().Add(-time.Second)), 401},
	} {
		w := ask(c.site, "GET", "/api/v1/jobs", func(r *http.Request) {
			r.Header.Set("Cookie", cookieName(r)+"="+c.value)
		})
		if w.Code != c.status {
			t.Errorf("%s: status %d, expected %d", c.name, w.Code, c.status)
		}
	}
}

func TestAnAddressThatOthersReachWantsAToken(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80"} {
		if s, err := Start(address, control.Token{}, source(t), nil); err == nil ||
			!strings.Contains(err.Error(), "--token-file") {
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

// TestSlowClientsDoNotKeepOthersOut opens a thousand connections that send requests byte by byte or
// not at all.
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
			_, _ = c.Write([]byte("GET / HT")) // fails if the server has closed the connection
		}
	}
	jar, err := cookiejar.New(nil)
	check(t, err)
	client := &http.Client{Timeout: time.Minute, Jar: jar}
	defer client.CloseIdleConnections()
	page, err := client.Get(s.Link)
	check(t, err)
	page.Body.Close()
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

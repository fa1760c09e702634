package control

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealth(t *testing.T) {
	var h Health
	mux := http.NewServeMux()
	h.Handle(mux)
	ask := func(path string, status int, text string) {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status || w.Body.String() != text+"\n" {
			t.Errorf("%s: found %d %q, expected %d %q", path, w.Code, w.Body, status, text)
		}
	}
	ask("/healthz", 200, "ok")
	ask("/readyz", 503, "starting")
	h.Ready()
	ask("/readyz", 200, "ok")
	h.NotReady("leaving")
	ask("/readyz", 503, "leaving")
	ask("/healthz", 200, "ok")
	h.Stuck("job j: superstep 3 does not stop")
	ask("/healthz", 503, "job j: superstep 3 does not stop")
	h.Stuck("")
	ask("/healthz", 200, "ok")
}

func TestGuard(t *testing.T) {
	one, err := NewToken("0123456789abcdef", "one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewToken("fedcba9876543210", "two")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tokens []Token
		header string
		want   int
	}{
		{nil, "", 401}, // without secrets everybody is refused
		{[]Token{{}, {}}, "", 401},
		{[]Token{{}, {}}, "Bearer ", 401},
		{[]Token{one, {}}, "", 401},
		{[]Token{one, {}}, "Bearer 0123456789abcdef", 200},
		{[]Token{one, {}}, "Bearer fedcba9876543210", 401},
		{[]Token{one, two}, "Bearer fedcba9876543210", 200},
		{[]Token{one, two}, "Bearer ", 401},
		{[]Token{{}, two}, "", 401}, // an empty token admits nobody
		{[]Token{{}, two}, "Bearer fedcba9876543210", 200},
	} {
		refused := 0
		g := &Gate{Refused: func(string, error) { refused++ }}
		if len(c.tokens) > 0 {
			g.Token, g.Metrics = c.tokens[0], c.tokens[1]
		}
		h := g.Page(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), Reading, true)
		r := httptest.NewRequest("GET", "/", nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || (refused > 0) != (c.want == 401) {
			t.Errorf("%v with %q: found %d, %d refused, expected %d", c.tokens, c.header, w.Code,
				refused, c.want)
		}
	}
}

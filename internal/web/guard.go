package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// policy lets the page load from here alone: no script or style inside a document, nothing of
// others.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

const (
	apiPrefix   = "/api/"
	sessionPath = "/api/v1/session"
	metricsPath = "/metrics"
	tokenKey    = "token"
	maxBody     = 4 << 10
)

var (
	errToken  = &refusal{http.StatusUnauthorized, control.NoToken}
	errOrigin = &refusal{http.StatusForbidden, "the request is another site's"}
)

// check returns the request with who makes it, or why it is refused. Files are no secret, and need
// no token: the page must be there to ask for it. Of names of others that lead here (DNS rebinding)
// the gate's AtHome takes care.
func (s *Site) check(r *http.Request) (*http.Request, error) {
	if !strings.HasPrefix(r.URL.Path, apiPrefix) && r.URL.Path != metricsPath {
		return r, nil
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return nil, s.refused(r, errOrigin)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return nil, s.refused(r, errOrigin)
		}
	}
	if r.URL.Path == sessionPath {
		return r, nil
	}
	if s.entered(r) {
		return r.WithContext(control.As(r.Context(), s.gate.Browser(r))), nil
	}
	caller, err := s.gate.Allow(r, s.rolesFor(r))
	if err != nil {
		return nil, &refusal{control.StatusOf(err), control.PageText(err)}
	}
	return r.WithContext(control.As(r.Context(), caller)), nil
}

// rolesFor are those who may make a request of the API: who only reads is not for what changes
// something, nor for results.
func (s *Site) rolesFor(r *http.Request) certs.Role {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || ofResult(r.URL.Path) {
		return control.Using
	}
	return control.Reading
}

// ofResult reports whether a path is of what a job has computed.
func ofResult(path string) bool {
	return slices.ContainsFunc([]string{"/result", "/values", "/value"}, func(end string) bool { return strings.HasSuffix(path, end) })
}

// refused counts a request that is turned away.
func (s *Site) refused(r *http.Request, why error) error {
	if s.gate.Refused != nil {
		s.gate.Refused(r.RemoteAddr, why)
	}
	return why
}

// A browser that gave the token keeps a pass in its place, in a cookie that no script reads and no
// other site sends. A pass is when it ends, in seconds since 1970, and an HMAC of that with the
// token: a master that has started anew, or a standby that leads, knows it without any memory, and
// another token ends it.
const (
	cookiePrefix = "superstep-session"
	sessionTime  = 12 * time.Hour
)

// pass is a browser's for as long as until.
func (s *Site) pass(until time.Time) string {
	m := hmac.New(sha256.New, []byte(s.gate.Token.Secret()))
	fmt.Fprintf(m, "superstep page %d", until.Unix())
	return fmt.Sprintf("%d-%x", until.Unix(), m.Sum(nil))
}

// entered reports whether a request is of a browser with a pass. How long it takes does not depend
// on how much of a wrong one is right.
func (s *Site) entered(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	if err != nil || !s.gate.Token.Given() {
		return false
	}
	text, _, _ := strings.Cut(c.Value, "-")
	seconds, err := strconv.ParseInt(text, 10, 64)
	end := time.Unix(seconds, 0)
	return err == nil && time.Now().Before(end) && hmac.Equal([]byte(c.Value), []byte(s.pass(end)))
}

// enter gives a session for the token.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Token string `json:"token"`
	}
	if err := body(w, r, maxBody, &given, `{"token": "..."}`); failed(w, err) {
		return
	}
	if s.begin(w, r, given.Token) {
		reply(w, r, http.StatusOK, struct{}{})
	}
}

// begin gives a session if a text is the token; else it answers that it is not.
func (s *Site) begin(w http.ResponseWriter, r *http.Request, text string) bool {
	if !s.gate.Token.Allows(http.Header{"Authorization": {"Bearer " + text}}) {
		fail(w, s.refused(r, errToken))
		return false
	}
	setCookie(w, r, s.pass(time.Now().Add(sessionTime)), int(sessionTime.Seconds()))
	return true
}

// cookieName has the port of the address that the browser has: a host's ports share their cookies.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookiePrefix + "-" + port
	}
	return cookiePrefix
}

// open gives a session for the token in the printed link, and leads to the page, so that the
// browser's history has no token.
func (s *Site) open(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if s.begin(w, r, r.URL.Query().Get(tokenKey)) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// leave takes the session from the browser.
func (s *Site) leave(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -1)
	reply(w, r, http.StatusOK, struct{}{})
}

// setCookie sets a session's cookie, which no script reads and no other site sends.
func setCookie(w http.ResponseWriter, r *http.Request, pass string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: pass, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

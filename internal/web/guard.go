package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// policy is the content security policy: the page loads nothing from other hosts, and has no inline
// scripts or styles.
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

// origins rejects requests of other sites.
var origins http.CrossOriginProtection

// check authorizes a request, and returns it with its caller. Files are public: the page itself
// asks for the token. The gate's AtHome rejects DNS rebinding.
func (s *Site) check(r *http.Request) (*http.Request, error) {
	if !strings.HasPrefix(r.URL.Path, apiPrefix) && r.URL.Path != metricsPath {
		return r, nil
	}
	// A request that changes nothing is checked as well.
	if origins.Check(&http.Request{Method: http.MethodPost, Header: r.Header, Host: r.Host}) != nil {
		s.gate.Refuse(r.RemoteAddr, errOrigin)
		return nil, errOrigin
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

// rolesFor returns the roles that may make a request of the API. A role that only reads may neither
// change anything nor read results.
func (s *Site) rolesFor(r *http.Request) certs.Role {
	if r.Method != http.MethodGet && r.Method != http.MethodHead ||
		slices.Contains([]string{"result", "values", "value"}, path.Base(r.URL.Path)) {
		return control.Using
	}
	return control.Reading
}

// A session is a cookie that a browser gets in exchange for the token. Scripts cannot read the
// cookie, and other sites cannot send it. Its value, the pass, is the session's end in seconds
// since 1970 and an HMAC of the end with the token. So a restarted master or a new leader can check
// it without stored state, and a new token invalidates it.
const (
	cookiePrefix = "superstep-session"
	sessionTime  = 12 * time.Hour
)

// pass returns the value of the cookie for a session until a time.
func (s *Site) pass(until time.Time) string {
	m := hmac.New(sha256.New, []byte(s.gate.Token.Secret()))
	fmt.Fprintf(m, "superstep page %d", until.Unix())
	return fmt.Sprintf("%d-%x", until.Unix(), m.Sum(nil))
}

// entered reports whether a request has a valid pass. The comparison takes constant time.
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

// enter starts a session, given the token.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Token string `json:"token"`
	}
	if err := body(w, r, maxBody, &given, `{"token": "..."}`); failed(w, err) {
		return
	}
	if s.begin(w, r, given.Token) {
		reply(w, http.StatusOK, struct{}{})
	}
}

// begin starts a session if text is the token, else it answers with an error.
func (s *Site) begin(w http.ResponseWriter, r *http.Request, text string) bool {
	if !s.gate.Token.Allows(http.Header{"Authorization": {"Bearer " + text}}) {
		s.gate.Refuse(r.RemoteAddr, errToken)
		fail(w, errToken)
		return false
	}
	setCookie(w, r, s.pass(time.Now().Add(sessionTime)), int(sessionTime.Seconds()))
	return true
}

// cookieName returns the name of the cookie. It has the port that the browser uses, because a
// host's ports share their cookies.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookiePrefix + "-" + port
	}
	return cookiePrefix
}

// leave deletes the browser's cookie. A copy of its pass would stay valid until the session's end.
func (s *Site) leave(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -1)
	reply(w, http.StatusOK, struct{}{})
}

// setCookie sets the session's cookie.
func setCookie(w http.ResponseWriter, r *http.Request, pass string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: pass, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

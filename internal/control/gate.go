package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
)

// Gate is the access control of an HTTP port, by certificates, a token, or both. docs/operating.md
// has the table of roles. The zero value admits nobody.
type Gate struct {
	Credentials
	// Metrics is a token that gives access to metrics only.
	Metrics Token
	// Refused, if not nil, is called with the address of each refused caller and the reason.
	Refused func(from string, why error)
}

// LoadTLS loads the certificates named by n, unless they are loaded already or n is empty. log
// receives later changes of the files, and may be nil.
func LoadTLS(done *certs.Files, n certs.Names, log *slog.Logger) (*certs.Files, error) {
	if done != nil || !n.Given() {
		return done, nil
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return certs.Load(n, func(line string) { log.Warn(line) })
}

// Caller is the authenticated caller of a request.
type Caller struct {
	Name  string // of the certificate, or one of the names below
	Roles certs.Role
	From  string     // network address
	shown certs.Role // roles of the certificate only
}

// Names of callers without a certificate.
const (
	callerOfToken   = "token"
	callerOfBrowser = "browser" // a browser with the token
	callerAnyone    = "anyone"  // an owner in the state of earlier versions
)

// Owner returns the owner of what the caller creates: the name of the certificate, or a common name
// for all callers without one.
func (c Caller) Owner() string {
	if c.Name == callerOfBrowser {
		return callerOfToken
	}
	return c.Name
}

// Named reports whether an owner is the name of a certificate.
func Named(who string) bool { return who != "" && who != callerOfToken && who != callerAnyone }

// Reading are the roles that may view, Using are those that may do everything that users can.
const (
	Using   = certs.Client
	Reading = certs.Client | certs.Reader
)

// errToken and errNobody are all that an unknown caller learns.
var (
	errToken = errors.New("a token is missing or wrong: give --token-file the file that the " +
		"master was started with; without one its own user, with the same HOME and " +
		"XDG_STATE_HOME, needs none")
	errNobody = errors.New(
		"a certificate is needed, or the token: give --tls-cert and --tls-key, or --token-file")
	errWorker = errors.New(
		"a worker needs a certificate with the role worker: give --tls-cert and --tls-key")
)

// Caller returns the caller of a request. The error is the reason if the caller is unknown; it then
// has no roles.
func (g *Gate) Caller(r *http.Request) (Caller, error) {
	caller := Caller{From: r.RemoteAddr}
	err := errToken
	if g.TLS != nil {
		if err = errNobody; r.TLS != nil {
			who, wrong := g.TLS.Identify(r.TLS, checked(r.Context()))
			if wrong == nil && certs.Reserved(who.Name) {
				wrong = fmt.Errorf("the name of the certificate, %s, is reserved for callers "+
					"without a certificate", who.Name)
			}
			if wrong == nil {
				err = nil
				caller.Name, caller.Roles, caller.shown = who.Name, who.Roles, who.Roles
				if who.Roles.Has(certs.Operator) {
					caller.Roles |= Reading
				}
			} else if !errors.Is(wrong, certs.ErrNone) {
				err = wrong
			}
		}
	}
	switch {
	case !g.Token.Given():
	case g.Token.Allows(r.Header):
		if err = nil; caller.Name == "" {
			caller.Name = callerOfToken
		}
		if caller.Roles |= g.ofToken(); g.TLS == nil {
			caller.Roles |= certs.Worker
		}
	case err != nil && r.Header.Get("Authorization") != "":
		err = errToken
	}
	if err == nil {
		known(r.Context())
	}
	return caller, err
}

// ofToken returns the roles of a caller with the token. Without TLS there are no certificates, so
// they include the operator's.
func (g *Gate) ofToken() certs.Role {
	if g.TLS == nil {
		return Reading | certs.Operator
	}
	return Reading
}

// Browser returns the caller for a browser that has given the token.
func (g *Gate) Browser(r *http.Request) Caller {
	known(r.Context())
	return Caller{Name: callerOfBrowser, Roles: g.ofToken(), From: r.RemoteAddr}
}

// Allow returns the caller of a request if it has one of the roles. Otherwise it returns a
// *connect.Error and counts a refusal.
func (g *Gate) Allow(r *http.Request, roles certs.Role) (Caller, error) {
	caller, err := g.Caller(r)
	code := connect.CodeUnauthenticated
	if err == nil {
		if caller.Roles.Has(roles) {
			return caller, nil
		}
		code, err = connect.CodePermissionDenied,
			certs.Identity{Name: caller.Name, Roles: caller.shown}.Need(roles)
		if caller.Name == callerOfToken && roles == certs.Worker {
			err = errWorker
		}
	}
	g.Refuse(r.RemoteAddr, err)
	return Caller{}, connect.NewError(code, err)
}

// Refuse tells of a refused caller.
func (g *Gate) Refuse(from string, why error) {
	if g.Refused != nil {
		g.Refused(from, why)
	}
}

// callerKey is the context key of the caller.
type callerKey struct{}

// CallerOf returns the caller that Service stored in a context.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// As returns a context with a caller.
func As(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// Service passes requests to h if the caller may call the procedure. Of other requests it reads
// only the head.
func (g *Gate) Service(h http.Handler) http.Handler {
	answer := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := g.Allow(r, rolesFor(r.URL.Path))
		if err == nil {
			h.ServeHTTP(w, r.WithContext(As(r.Context(), caller)))
			return
		}
		// Without this, HTTP/1.1 would wait for the body before the answer, and HTTP/2 would keep
		// the connection with its certificate.
		w.Header().Set("Connection", "close")
		_ = answer.Write(w, r, err) // the caller may have gone
	})
}

// looks are the procedures that change nothing and return no results.
var looks = map[string]bool{
	ClusterListJobsProcedure: true, ClusterGetJobProcedure: true, ClusterWatchJobProcedure: true,
	ClusterListGraphsProcedure: true, ClusterInspectGraphProcedure: true,
	ClusterListWorkersProcedure: true, ClusterStatusProcedure: true,
}

// rolesFor returns the roles that may call a procedure.
func rolesFor(procedure string) certs.Role {
	switch {
	case strings.HasPrefix(procedure, "/"+WorkersName+"/"):
		return certs.Worker
	case looks[procedure]:
		return Reading
	case procedure == ClusterBackupProcedure, procedure == ClusterDrainWorkerProcedure:
		return certs.Operator
	}
	return Using
}

// Page passes requests to h if the caller has one of the roles or, if metrics is true, the metrics
// token.
func (g *Gate) Page(h http.Handler, roles certs.Role, metrics bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !metrics || !g.Metrics.Allows(r.Header) {
			if _, err := g.Allow(r, roles); err != nil {
				http.Error(w, PageText(err), StatusOf(err))
				return
			}
		}
		known(r.Context())
		h.ServeHTTP(w, r)
	})
}

var errHost = errors.New("the Host must be a name of this machine, such as 127.0.0.1 or " +
	"localhost (--token-file allows others)")

// AtHome rejects DNS rebinding: requests to names other than this machine's, if the token is
// superstep's own. Calls of workers and clients, which have no Origin header, and health checks
// pass.
func (g *Gate) AtHome(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		call := strings.HasPrefix(r.URL.Path, "/superstep.control.v1.") &&
			r.Header.Get("Origin") == ""
		if !call && !health && g.Token.Own() && !Local(r.Host) {
			g.Refuse(r.RemoteAddr, errHost)
			Deny(w, http.StatusForbidden, errHost.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// StatusOf returns the HTTP status of a refusal.
func StatusOf(err error) int {
	if connect.CodeOf(err) == connect.CodePermissionDenied {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// refusedHeader marks an answer whose text tells a worker why it was refused.
const refusedHeader = "Superstep-Refused"

// NoToken explains to users of a browser or curl how to get access.
const NoToken = `a token is missing or wrong: open the link that superstep printed, ` +
	`or curl -H "Authorization: Bearer $(cat FILE)"`

// PageText explains a refusal to users of curl.
func PageText(err error) string {
	var e *connect.Error
	switch {
	case errors.Is(err, errToken):
		return NoToken
	case errors.Is(err, errNobody):
		return `a certificate is needed, or the token: curl --cert FILE --key FILE, ` +
			`or -H "Authorization: Bearer $(cat FILE)"`
	case errors.As(err, &e):
		return e.Message()
	}
	return err.Error()
}

// errTooMany is the reason for a connection closed for lack of room.
var errTooMany = errors.New("there are too many connections")

// errorLog returns the log for a server's errors. Failed TLS handshakes count as refusals, except
// if the client just disconnected. Other errors go to the log at level debug.
func (g *Gate) errorLog(to *slog.Logger) *log.Logger {
	rest := slog.NewLogLogger(to.Handler(), slog.LevelDebug)
	return log.New(writerFunc(func(line string) {
		if text, ok := strings.CutPrefix(line, "http: TLS handshake error from "); ok {
			from, why, _ := strings.Cut(text, ": ")
			if why = strings.TrimSpace(why); why != "EOF" &&
				!strings.HasSuffix(why, "connection reset by peer") {
				g.Refuse(from, fmt.Errorf("handshake: %s", handshakeText(why)))
				return
			}
		}
		rest.Print(line)
	}), "", 0)
}

// handshakeText adds an explanation to unclear errors of crypto/tls.
func handshakeText(why string) string {
	switch why {
	case "remote error: tls: bad certificate":
		return why + " (it does not trust the certificate shown here)"
	case "client sent an HTTP request to an HTTPS server":
		return why + " (it has no TLS)"
	}
	return Text(why, MaxText)
}

type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

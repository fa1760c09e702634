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

// Gate decides who may what at a port that speaks HTTP: by certificates, a token, or both.
// docs/operating.md has the table. The zero value lets nobody in.
type Gate struct {
	Credentials
	// Metrics is a token that opens what is for metrics alone.
	Metrics Token
	// Refused, if not nil, is told of everyone who is turned away, and whence.
	Refused func(from string, why error)
}

// LoadTLS loads the certificates that files name, unless that was done, or none are named. log gets
// it when they change, or is nil.
func LoadTLS(done *certs.Files, n certs.Names, log *slog.Logger) (*certs.Files, error) {
	if done != nil || !n.Given() {
		return done, nil
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return certs.Load(n, func(line string) { log.Warn(line) })
}

// Caller is who makes a request.
type Caller struct {
	Name  string // of the certificate, or what stands for one
	Roles certs.Role
	From  string     // the other end's address
	shown certs.Role // by the certificate alone
}

// Names of callers without a certificate.
const (
	callerOfToken   = "token"
	callerOfBrowser = "browser" // that gave the token
	callerAnyone    = "anyone"  // of earlier versions
)

// Owner is by whom what the caller makes is owned: a certificate's name, or for all without one the
// same.
func (c Caller) Owner() string {
	if c.Name == callerOfBrowser {
		return callerOfToken
	}
	return c.Name
}

// Named reports whether an owner is one of several.
func Named(who string) bool { return who != "" && who != callerOfToken && who != callerAnyone }

// Reading is what may look, and Using what may do all that users can.
const (
	Using   = certs.Client
	Reading = certs.Client | certs.Reader
)

// errToken and errNobody are all that someone learns who is not known.
var (
	errToken  = errors.New("a token is missing or wrong: give --token-file the file that the master was started with; without one its own user, with the same HOME and XDG_STATE_HOME, needs none")
	errNobody = errors.New("a certificate is needed, or the token: give --tls-cert and --tls-key, or --token-file")
	errWorker = errors.New("a worker needs a certificate with the role worker: give --tls-cert and --tls-key")
)

// Caller returns who makes a request. The error says why it is nobody that is known; then there are
// no roles.
func (g *Gate) Caller(r *http.Request) (Caller, error) {
	caller := Caller{From: r.RemoteAddr}
	err := errToken
	if g.TLS != nil {
		if err = errNobody; r.TLS != nil {
			who, wrong := g.TLS.Identify(r.TLS, checked(r.Context()))
			if wrong == nil && certs.Reserved(who.Name) {
				wrong = fmt.Errorf("the name of the certificate, %s, stands for callers that have none", who.Name)
			}
			if wrong == nil {
				if caller.Name, caller.Roles, caller.shown, err = who.Name, who.Roles, who.Roles, nil; who.Roles.Has(certs.Operator) {
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

// ofToken is what the token allows to users: all without TLS, when there are no others.
func (g *Gate) ofToken() certs.Role {
	if g.TLS == nil {
		return Reading | certs.Operator
	}
	return Reading
}

// Browser is who makes a request of a browser that gave the token.
func (g *Gate) Browser(r *http.Request) Caller {
	known(r.Context())
	return Caller{Name: callerOfBrowser, Roles: g.ofToken(), From: r.RemoteAddr}
}

// Allow returns who makes a request, if that is someone with one of the roles; else a
// *connect.Error, and the request counts as refused.
func (g *Gate) Allow(r *http.Request, roles certs.Role) (Caller, error) {
	caller, err := g.Caller(r)
	code := connect.CodeUnauthenticated
	if err == nil {
		if caller.Roles.Has(roles) {
			return caller, nil
		}
		code, err = connect.CodePermissionDenied, certs.Identity{Name: caller.Name, Roles: caller.shown}.Need(roles)
		if caller.Name == callerOfToken && roles == certs.Worker {
			err = errWorker
		}
	}
	g.refuse(r.RemoteAddr, err)
	return Caller{}, connect.NewError(code, err)
}

func (g *Gate) refuse(from string, why error) {
	if g.Refused != nil {
		g.Refused(from, why)
	}
}

// callerKey is where a context has who calls.
type callerKey struct{}

// CallerOf returns who made the request of a context, by what let it through.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// As returns a context of a request of someone.
func As(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// Service lets those through to h, a service, who may call the procedure. Of others nothing but the
// head is read.
func (g *Gate) Service(h http.Handler) http.Handler {
	answer := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := g.Allow(r, rolesFor(r.URL.Path))
		if err == nil {
			h.ServeHTTP(w, r.WithContext(As(r.Context(), caller)))
			return
		}
		// Else HTTP/1.1 would wait for the body before it answers, and HTTP/2 would stay with the
		// same certificate.
		w.Header().Set("Connection", "close")
		_ = answer.Write(w, r, err) // the caller may be gone
	})
}

// looks are the procedures that change nothing, and tell nothing of what was computed.
var looks = map[string]bool{
	ClusterListJobsProcedure: true, ClusterGetJobProcedure: true, ClusterWatchJobProcedure: true,
	ClusterListGraphsProcedure: true, ClusterInspectGraphProcedure: true,
	ClusterListWorkersProcedure: true, ClusterStatusProcedure: true,
}

// rolesFor are those who may call a procedure.
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

// Page lets those through to h who have one of the roles; with metrics also those with the token of
// metrics.
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

var errHost = errors.New("only names of this machine are answered to, such as 127.0.0.1 or " +
	"localhost (--token-file allows others)")

// AtHome refuses what a browser may have been led into, where the token was not given: requests to
// names that are not this machine's, which another site's name can be made to lead here by (DNS
// rebinding). Calls of workers and clients have no origin, and health is no secret.
func (g *Gate) AtHome(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		call := strings.HasPrefix(r.URL.Path, "/superstep.control.v1.") && r.Header.Get("Origin") == ""
		if !call && !health && g.Token.Own() && !Local(r.Host) {
			g.refuse(r.RemoteAddr, errHost)
			Deny(w, http.StatusForbidden, errHost.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// StatusOf is HTTP's status for who was not allowed.
func StatusOf(err error) int {
	if connect.CodeOf(err) == connect.CodePermissionDenied {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// refusedHeader marks an answer whose text says to a worker why it is refused.
const refusedHeader = "Superstep-Refused"

// NoToken tells who asks with a browser, or curl, how to get in.
const NoToken = `a token is missing or wrong: open the link that superstep printed, ` +
	`or curl -H "Authorization: Bearer $(cat FILE)"`

// PageText words for who asks with curl why a request was refused.
func PageText(err error) string {
	var e *connect.Error
	switch {
	case errors.Is(err, errToken):
		return NoToken
	case errors.Is(err, errNobody):
		return `a certificate is needed, or the token: curl --cert FILE --key FILE, or -H "Authorization: Bearer $(cat FILE)"`
	case errors.As(err, &e):
		return e.Message()
	}
	return err.Error()
}

// tooMany begins the line of a server that closed a connection for want of room, before whose it is.
const tooMany = "too many connections: closed one from "

// ErrorLog takes what a server says of its clients: connections that were too many are refusals, and
// handshakes of TLS that failed, but for those of callers who just went away; all else goes to log,
// for debugging.
func (g *Gate) ErrorLog(to *slog.Logger) *log.Logger {
	rest := slog.NewLogLogger(to.Handler(), slog.LevelDebug)
	return log.New(writerFunc(func(line string) {
		if text, ok := strings.CutPrefix(line, "http: TLS handshake error from "); ok {
			from, why, _ := strings.Cut(text, ": ")
			if why = strings.TrimSpace(why); why != "EOF" && !strings.HasSuffix(why, "connection reset by peer") {
				g.refuse(from, fmt.Errorf("handshake: %s", handshakeText(why)))
				return
			}
		}
		if from, ok := strings.CutPrefix(line, tooMany); ok {
			g.refuse(strings.TrimSpace(from), errors.New("there are too many connections"))
			return
		}
		rest.Print(line)
	}), "", 0)
}

// handshakeText says what stands behind the words of crypto/tls that do not.
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

package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/store"
)

// standbyName is the directory of the shared state in the place of checkpoints.
const standbyName = "master"

// leadLease is a leader's lease, in leases of workers. When it has passed, its workers have given
// the master up.
const leadLease = 2

// Errors of a master that does not lead, and of one that may have lost the lead during a call.
var (
	errStandby   = errors.New("this master stands by, and another one leads, or none does yet")
	errUncertain = errors.New("this master may no longer lead: what was asked may be done, or not")
)

// takeTurns alternates between standing by and leading, until ctx ends.
func (o Config) takeTurns(ctx context.Context) error {
	l, ok := o.Listener.(daemon.Listener)
	if !ok {
		return fmt.Errorf("master: a listener of type %T cannot stay while others lead", o.Listener)
	}
	place := store.Later(strings.TrimSuffix(o.Checkpoints, "/")+"/"+standbyName, o.Stores)
	defer store.Close(place)
	for {
		shared, err := o.lead(ctx, place, l)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		term := o
		term.shared, term.Listener = shared, daemon.Reuse(l)
		err = term.serve(ctx)
		if !errors.Is(err, standby.ErrLost) {
			return err
		}
		o.Log.Warn("no longer the master: stands by", "reason", err)
	}
}

// lead stands by until this master leads.
func (o *Config) lead(
	ctx context.Context, place store.Store, l daemon.Listener,
) (*standby.Log, error) {
	var id [16]byte
	if _, err := io.ReadFull(o.Random, id[:]); err != nil {
		return nil, fmt.Errorf("a name for the master: %w", err)
	}
	shared := standby.Open(standby.Options{
		Store: place, Lease: leadLease * o.Lease, Writer: fmt.Sprintf("%x", id),
		Address: l.Addr().String(), Now: o.Now,
		Warn: func(err error) {
			if err != nil {
				o.Log.Warn("the shared state cannot be reached: nothing is done until it can",
					"error", err)
			} else {
				o.Log.Info("the shared state is reached again")
			}
		},
	})
	server := control.NewHTTPServer(http.HandlerFunc(standsBy), ctx)
	gate, quiet := &control.Gate{Credentials: o.who()}, slog.New(slog.DiscardHandler)
	served := make(chan error, 1)
	go func() { served <- gate.Serve(server, daemon.Reuse(l), quiet) }()
	err := shared.Lead(ctx,
		func(leader string) { o.Log.Info("stands by", "master", leader, "state", place) })
	_ = server.Close()
	<-served
	if err != nil {
		shared.Close()
	}
	return shared, err
}

// standsBy rejects all requests but health checks.
func standsBy(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		var health control.Health
		health.NotReady(errStandby.Error())
		mux := http.NewServeMux()
		health.Handle(mux)
		mux.ServeHTTP(w, r)
		return
	}
	errors := connect.NewErrorWriter()
	if errors.IsSupported(r) {
		// The client may have disconnected.
		_ = errors.Write(w, r, connect.NewError(connect.CodeUnavailable, errStandby))
		return
	}
	control.Deny(w, http.StatusServiceUnavailable, errStandby.Error())
}

// notAlone rejects a directory that contains the state of a master without standby.
func notAlone(dir string) error {
	_, err := os.Stat(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("data: %s has the state of a master without --standby: give another", dir)
	}
	return err
}

// durable reports whether the master's state is stored.
func (s *server) durable() bool { return s.state != nil }

// held reports whether this master leads.
func (s *server) held() bool { return s.shared == nil || s.shared.Held() }

// lost reports whether this master stopped because another one may lead.
func (s *server) lost() bool {
	return s.shared != nil && errors.Is(context.Cause(s.ctx), standby.ErrLost)
}

// writeRecords appends changes to the state. If the state is shared, nothing may be done after an
// error.
func (s *server) writeRecords(records map[string][]byte) error {
	if len(records) == 0 && s.held() {
		return nil
	}
	return s.state.Append(context.Background(), records)
}

// renewals returns a ticker for renew.
func (s *server) renewals() (<-chan time.Time, func()) {
	if s.shared == nil {
		return nil, func() {}
	}
	t := time.NewTicker(s.shared.Renew() / 4)
	return t.C, t.Stop
}

// renew extends the lease of the lead, if due.
func (s *server) renew() {
	if !s.shared.Due() {
		return
	}
	if err := s.shared.Append(context.Background(), nil); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lose(nil, err)
	}
}

// lose stops the server because another master may lead. The effects of the given batches are
// dropped. The caller holds the lock.
func (s *server) lose(all []*batch, err error) {
	if s.ctx.Err() == nil {
		s.log.Error("another master may lead: this one ends what it does", "error", err)
	}
	s.end(err)
	for _, b := range all {
		b.err = connect.NewError(connect.CodeUnavailable, errUncertain)
		close(b.done)
	}
}

// release ends the lease, so that another master can lead at once.
func (s *server) release() {
	if s.shared == nil || s.lost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	if err := s.shared.Release(ctx); err != nil {
		s.log.Warn("another master has to wait for this one's lease to end", "error", err)
	}
}

// leads rejects requests while this master may not lead.
func (s *server) leads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.held() {
			standsBy(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// certainty is an interceptor that delays an answer until the changes that it reports are on disk,
// and rejects it if this master no longer leads.
type certainty struct {
	connect.UnaryInterceptorFunc // for handlers only
	s                            *server
}

// WrapUnary implements connect.Interceptor.
func (c certainty) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	if c.s.shared == nil {
		return next
	}
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, r)
		if uncertain := c.s.certain(ctx); uncertain != nil {
			return nil, uncertain
		}
		return answer, err
	}
}

// WrapStreamingHandler implements connect.Interceptor. Streams only report changes that are on
// disk. Their contexts end with the server's.
func (c certainty) WrapStreamingHandler(
	next connect.StreamingHandlerFunc,
) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		if errors.Is(err, context.Canceled) && c.s.ctx.Err() != nil {
			return connect.NewError(connect.CodeUnavailable, errClosing)
		}
		return err
	}
}

// certain waits until all changes so far are on disk.
func (s *server) certain(ctx context.Context) error {
	s.mu.Lock()
	last := s.commits.last
	s.mu.Unlock()
	if last != nil {
		select {
		case <-last.done:
		case <-s.ctx.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if s.ctx.Err() != nil || !s.held() {
		return connect.NewError(connect.CodeUnavailable, errUncertain)
	}
	return nil
}

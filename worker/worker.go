// Package worker is a worker of a cluster: it registers with the master, keeps the session with it, holds its partitions of
// graphs and jobs, does the master's commands with them, and leaves.
//
//	start -> register --ok--> session --goodbye--> end
//	           ^  |  \           |  \
//	           |  |   refused    |   fenced --> end, with an error
//	           +--+-- lapsed: forget everything
//	           +----- broken: again, with the same incarnation
package worker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Options say who a worker is and whom it works for.
type Options struct {
	// Name is what the cluster calls the worker, and Site a label for where it is, such as a rack.
	Name, Site string
	// Master is where the master is, HOST:PORT; Token is what all processes of the cluster know.
	Master string
	Token  control.Token
	// Programs are those of this binary, and Build is what it was built from: all processes of a cluster agree in both.
	Programs engine.Registry
	Build    string
	// Version is shown to users.
	Version string
	// Threads is how many a job or a load gets, default 1.
	Threads int
	// Listener is where other workers reach this one, by Address if that is not the listener's own. Run closes it.
	Listener Listener
	Address  string
	// Silence is how long another worker may give no sign of life, and connecting to it may take; default 5 s.
	Silence time.Duration
	// Compress says whether messages to other workers are compressed: auto, where that is faster than the link, on or off; default
	// auto.
	Compress string
	// HTTPAddress is where metrics and health are, or empty.
	HTTPAddress string
	// Hold is how long to look for a master that does not answer, and to keep graphs for it; default control.Hold.
	Hold time.Duration
	// Grace is how long to wait for the master's leave to go, default 27 s.
	Grace time.Duration
	// StopTimeout is how long a command may take to return when it was told to stop, default 10 s: then Run returns an error.
	StopTimeout time.Duration
	// Group is joined where the master says, and asked where the master is; or nil.
	Group membership.Group
	// Dial makes connections; default TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Observe is told what the worker does, or is nil.
	Observe Observer
	// Log gets what happens, or is nil. Now and Random are the clock and random source; default the system's.
	Log    *slog.Logger
	Now    func() time.Time
	Random io.Reader
}

// Backoff between tries to register.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
	callTimeout = 3 * time.Second
)

// Listener is a TCP listener: what accepts, and can be told to stop for a while.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Worker is a worker with its options, which do not change.
type Worker struct {
	Options
	executor    *executor
	memory      uint64 // that was free at the start
	instance    string
	incarnation uint64
	master      string // the run of the master that is registered with
	lease       time.Duration
	heartbeat   time.Duration
	silent      time.Duration // for how long the master was when the last session ended
	commands    sync.WaitGroup
	late        atomic.Int32 // commands that were told to stop a while ago
	stuck       chan error   // why the worker cannot go on: a command does not stop
}

// New makes a worker that has not begun to work.
func New(o Options) *Worker {
	w := &Worker{Options: o, memory: uint64(max(mem.Available(), 0))}
	w.defaults()
	w.executor = newExecutor(w.Options)
	return w
}

// Stats returns what was sent to other workers and received from them.
func (w *Worker) Stats() mesh.Stats { return w.executor.stats() }

// Holds returns of how many jobs and graphs the worker holds partitions.
func (w *Worker) Holds() (jobs, graphs int) { return w.executor.holds() }

// Run works until ctx ends, and then leaves: no new work, what runs may end, goodbye. It returns an error when the master
// refuses or fences the worker, or is not to be found; then everything it started has ended. It also returns an error when a
// command does not stop that was told to: then that still runs, and the process should end.
func (w *Worker) Run(ctx context.Context) error {
	defer w.executor.close()
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-w.stuck:
		return err
	}
}

func (w *Worker) run(ctx context.Context) error {
	if err := w.rename(); err != nil {
		return err
	}
	defer w.commands.Wait()
	last := w.Now() // when the master was heard of
	for wait := firstWait; ; {
		address := w.address(w.Now().Sub(last) > longestWait)
		registered, err := w.try(ctx, address)
		switch {
		case err == nil: // goodbye
			return nil
		case ctx.Err() != nil && !registered:
			return nil // it was nobody's
		case control.Final(err) && (address == w.Master || connect.CodeOf(err) != connect.CodeUnauthenticated): // who knows no token says nothing for good
			return fmt.Errorf("the master at %s refuses this worker: %w", address, control.Explain(address, err))
		}
		held := min(control.WaitOf(err), w.Hold) // whatever a master says
		if held > 0 {
			w.Log.Info("waiting for the name", "master", address, "reason", control.Explain(address, err))
		} else {
			w.Log.Warn("no session", "master", address, "error", control.Explain(address, err))
		}
		if control.RefusalOf(err) == control.Refusal_KIND_LAPSED {
			if err := w.begin(); err != nil {
				return err
			}
		}
		switch now := w.Now(); {
		case registered || control.RefusalOf(err) != control.Refusal_KIND_UNSPECIFIED:
			last = now
			if errors.Is(err, errSilent) {
				last = now.Add(-w.silent)
			}
			wait = firstWait
		case now.Sub(last) > w.Hold:
			return fmt.Errorf("no master for %v: %w", w.Hold, control.Explain(address, err))
		}
		if held > 0 && !sleep(ctx, held) || !w.pause(ctx, wait) {
			return nil
		}
		wait = min(2*wait, longestWait)
	}
}

func (w *Worker) defaults() {
	if w.Hold == 0 {
		w.Hold = control.Hold
	}
	if w.Grace == 0 {
		w.Grace = 27 * time.Second
	}
	if w.StopTimeout == 0 {
		w.StopTimeout = 10 * time.Second
	}
	w.stuck = make(chan error, 1)
	if w.Now == nil {
		w.Now = time.Now
	}
	if w.Random == nil {
		w.Random = rand.Reader
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	w.Threads = max(w.Threads, 1)
	if w.Address == "" && w.Listener != nil {
		w.Address = w.Listener.Addr().String()
	}
	if w.Observe == nil {
		w.Observe = unobserved{}
	}
}

// rename makes this process a new one in the master's eyes.
func (w *Worker) rename() error {
	var id [8]byte
	if _, err := io.ReadFull(w.Random, id[:]); err != nil {
		return fmt.Errorf("a name for the process: %w", err)
	}
	w.instance, w.incarnation, w.master = hex.EncodeToString(id[:]), 0, ""
	return nil
}

// begin forgets everything and begins anew.
func (w *Worker) begin() error {
	w.commands.Wait()
	w.executor.reset()
	return w.rename()
}

// address is where to look for the master: where it was said to be or, when it is not there, where gossip has one.
func (w *Worker) address(elsewhere bool) string {
	if w.Master == "" || elsewhere {
		if found := membership.FindMaster(w.Group); found != "" {
			return found
		}
	}
	return w.Master
}

// pause waits, more or less, so that not all workers come at once; it reports false when ctx ended.
func (w *Worker) pause(ctx context.Context, d time.Duration) bool {
	var random [2]byte
	_, _ = io.ReadFull(w.Random, random[:])
	return sleep(ctx, d/2+d*time.Duration(binary.LittleEndian.Uint16(random[:]))>>16)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try registers and keeps a session until it ends; nil is goodbye. It reports whether it got as far as a session.
func (w *Worker) try(ctx context.Context, address string) (bool, error) {
	if address == "" {
		return false, errors.New("no master is known yet")
	}
	c, err := control.ConnectWorker(address, w.Token, w.Dial)
	if err != nil {
		return false, err
	}
	defer c.Close()
	request := &control.RegisterRequest{
		Name: w.Name, Instance: w.instance, Incarnation: w.incarnation, Protocol: control.Protocol, Version: w.Version, Site: w.Site,
		Cores: uint32(w.Threads), Memory: w.memory, DataAddress: w.Address, HttpAddress: w.HTTPAddress,
		Programs: jobspec.Programs(w.Build, w.Programs),
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.Prove(bounded); err != nil {
		return false, err
	}
	response, err := c.Workers.Register(bounded, connect.NewRequest(request))
	if err != nil {
		return false, err
	}
	r := response.Msg
	w.incarnation, w.master = r.Incarnation, r.Master
	w.lease = time.Duration(r.LeaseMilliseconds) * time.Millisecond
	w.heartbeat = time.Duration(r.HeartbeatMilliseconds) * time.Millisecond
	if w.lease <= 0 || w.heartbeat <= 0 {
		return false, errors.New("the master gave a lease of no time")
	}
	if w.Group != nil && r.GossipAddress != "" {
		w.commands.Go(func() { w.Group.Join(r.GossipAddress) })
	}
	if err := w.executor.registered(w.incarnation); err != nil {
		return false, err
	}
	w.Observe.Registered(address, w.incarnation)
	w.Log.Info("registered", "master", address, "incarnation", w.incarnation)
	lane, err := c.Session(ctx)
	if err != nil {
		return false, err
	}
	s := newSession(w, lane, c.Session)
	s.address = address
	s.register = func(ctx context.Context) error {
		again := proto.CloneOf(request)
		again.Incarnation = w.incarnation
		if err := c.Prove(ctx); err != nil {
			return err
		}
		_, err := c.Workers.Register(ctx, connect.NewRequest(again))
		return err
	}
	return true, s.serve(ctx)
}

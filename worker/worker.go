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
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
)

// Options say who a worker is and whom it works for.
type Options struct {
	// Master is where it is, HOST:PORT; Token is what it wants to hear.
	Master string
	Token  control.Token
	// About is what the worker tells of itself; the name is needed.
	About *control.RegisterRequest
	// Executor does the work; nil answers every command that there is nobody to do it.
	Executor Executor
	// Hold is how long to look for a master that does not answer, and to keep graphs for it; default control.Hold.
	Hold time.Duration
	// Grace is how long to wait for the master's leave to go, default 27 s.
	Grace time.Duration
	// StopTimeout is how long a command may take to return when it was told to stop, default 10 s: then Run returns an error.
	StopTimeout time.Duration
	// Group is joined where the master says, and asked where the master is; or nil.
	Group membership.Group
	// Dial makes connections; default TCP.
	Dial control.Dialer
	// Observe is told what the worker does, or is nil.
	Observe Observer
	// Log gets what happens, or is nil. Now and Random are the clock and chance; default the system's.
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

type worker struct {
	Options
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

// Run works until ctx ends, and then leaves: no new work, what runs may end, goodbye. It returns an error when the master
// refuses or fences the worker, or is not to be found; then everything it started has ended. It also returns an error when a
// command does not stop that was told to: then that still runs, and the process should end.
func Run(ctx context.Context, o Options) error {
	w := &worker{Options: o}
	w.defaults()
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-w.stuck:
		return err
	}
}

func (w *worker) run(ctx context.Context) error {
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

func (w *worker) defaults() {
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
	if w.Executor == nil {
		w.Executor = nobody{}
	}
	if w.Observe == nil {
		w.Observe = unobserved{}
	}
}

// rename makes this process a new one in the master's eyes.
func (w *worker) rename() error {
	var id [8]byte
	if _, err := io.ReadFull(w.Random, id[:]); err != nil {
		return fmt.Errorf("a name for the process: %w", err)
	}
	w.instance, w.incarnation, w.master = hex.EncodeToString(id[:]), 0, ""
	return nil
}

// begin forgets everything and begins anew.
func (w *worker) begin() error {
	w.commands.Wait()
	w.Executor.Reset()
	return w.rename()
}

// address is where to look for the master: where it was said to be or, when it is not there, where gossip has one.
func (w *worker) address(elsewhere bool) string {
	if w.Master == "" || elsewhere {
		if found := membership.FindMaster(w.Group); found != "" {
			return found
		}
	}
	return w.Master
}

// pause waits, more or less, so that not all workers come at once; it reports false when ctx ended.
func (w *worker) pause(ctx context.Context, d time.Duration) bool {
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
func (w *worker) try(ctx context.Context, address string) (bool, error) {
	if address == "" {
		return false, errors.New("no master is known yet")
	}
	c, err := control.ConnectWorker(address, w.Token, w.Dial)
	if err != nil {
		return false, err
	}
	defer c.Close()
	request := &control.RegisterRequest{
		Name: w.About.Name, Instance: w.instance, Incarnation: w.incarnation, Protocol: w.About.Protocol, Version: w.About.Version,
		Cores: w.About.Cores, Memory: w.About.Memory, DataAddress: w.About.DataAddress, HttpAddress: w.About.HttpAddress, Site: w.About.Site, Programs: w.About.Programs,
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
	if err := w.Executor.Registered(w.incarnation); err != nil {
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
	return true, s.keep(ctx)
}

// nobody executes nothing.
type nobody struct{}

var errNobody = errors.New("this worker has nobody to do the work")

func (nobody) Registered(uint64) error { return nil }

func (nobody) Offers() []*control.Offer { return nil }

func (nobody) Keep(_, _ []string) func() { return func() {} }

func (nobody) Meet(context.Context, Task, *control.Meet) error { return errNobody }

func (nobody) Load(context.Context, Task, *control.Load) (*control.LoadReport, error) {
	return nil, errNobody
}

func (nobody) Prepare(context.Context, Task, *control.Prepare) (*control.PrepareReport, error) {
	return nil, errNobody
}

func (nobody) Superstep(context.Context, Task, *control.Superstep) (*control.SuperstepReport, error) {
	return nil, errNobody
}

func (nobody) Locate(context.Context, Task, *control.Locate) (*control.Located, error) {
	return nil, errNobody
}

func (nobody) Benchmark(context.Context, Task, *control.BenchmarkStep) (*control.BenchmarkReport, error) {
	return nil, errNobody
}

func (nobody) Measure(context.Context, Task, *control.Measure, func([]byte) error) error {
	return errNobody
}

func (nobody) Values(context.Context, Task, *control.Values, func([]byte) error) error {
	return errNobody
}

func (nobody) Probe(context.Context, Task, *control.Probe) (*control.ProbeReport, error) {
	return nil, errNobody
}

func (nobody) Cancel(Task, string)                      {}
func (nobody) Drop(context.Context, Task, string) error { return nil }
func (nobody) Reset()                                   {}

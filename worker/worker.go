// Package worker implements a worker of a cluster. A worker registers with the master, keeps a
// session with it, holds partitions of graphs and jobs, and executes the master's commands.
//
//	start -> register --ok--> session --goodbye--> end
//	           ^  |  \           |  \
//	           |  |   refused    |   fenced --> end, with an error
//	           +--+-- lapsed: free everything, register as a new process
//	           +----- broken: again, with the same incarnation
//
// Commands arrive over the session, with a queue for each job: load a graph, make a job, run it,
// deliver its results. Workers exchange the messages between partitions directly
// (internal/transport/mesh), not through the master.
//
// [Run] implements the command superstep worker; [Options] are its flags. Read worker.go first,
// then session.go and executor.go. The example starts a worker beside a master.
package worker

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/parallel"
	files "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Delays between attempts to register, and the timeout of a call.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
	callTimeout = 3 * time.Second
)

// worker is a worker with its options, which do not change.
type worker struct {
	Config
	executor *executor
	memory   uint64 // free memory at the start
	instance string
	known    registration  // the latest; commands of earlier sessions may still run
	silent   time.Duration // how long the master had been silent when the last session ended
	commands sync.WaitGroup
	latest   atomic.Pointer[session]
	stalls   stalls       // of the current session
	late     atomic.Int32 // cancelled commands that have not returned for some time
	waited   waited
	ready    sync.Once
	stuck    chan error // a command does not stop, so the worker has to end
}

// registration is the master's answer to a registration.
type registration struct {
	incarnation uint64
	master      string // id of the master's run
	lease       time.Duration
	heartbeat   time.Duration
}

// New makes a worker. Run starts it.
func New(o Config) (*worker, error) {
	w := &worker{Config: o, memory: uint64(max(mem.Available(), 0)), stuck: make(chan error, 1)}
	if err := w.complete(); err != nil {
		return nil, err
	}
	// Objects on the master's disk are accessed by calls to the master.
	open := w.Stores
	w.Stores = func(place string) (files.Store, error) {
		if objects.Is(place) {
			return objects.Open(place, w.connection)
		}
		return open(place)
	}
	w.master = w.connection
	w.executor = newExecutor(&w.Config)
	return w, nil
}

// connection returns the connection to the master for calls; nil before the first session.
func (w *worker) connection() *control.Connection {
	if s := w.latest.Load(); s != nil {
		return s.conn
	}
	return nil
}

// Stats returns the counters of data sent to and received from other workers.
func (w *worker) Stats() mesh.Stats { return w.executor.stats() }

// Holds returns the numbers of jobs and graphs with partitions on this worker.
func (w *worker) Holds() (jobs, graphs int) {
	x := w.executor
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.attempts), len(x.graphs)
}

// Run works until ctx ends, and then leaves: it takes no new work, lets current work end, and says
// goodbye. It returns an error when the master refuses or fences the worker, or cannot be found.
// All its goroutines have ended by then. It also returns an error when a cancelled command does not
// stop. That command is still running, so the process should end.
func (w *worker) Run(ctx context.Context) error {
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

func (w *worker) run(ctx context.Context) error {
	if err := w.rename(); err != nil {
		return err
	}
	defer func() {
		w.executor.abandon(errOver)
		w.commands.Wait()
	}()
	last := w.Now() // when the master was last heard from
	given, tries := control.Addresses(w.Master), 0
	for wait := firstWait; ; {
		address := w.address(given, tries, w.Now().Sub(last) > longestWait)
		registered, err := w.try(ctx, address)
		switch {
		case err == nil: // goodbye
			return nil
		case ctx.Err() != nil && !registered:
			return nil // was not registered
		case control.Final(err) && (slices.Contains(given, address) ||
			connect.CodeOf(err) != connect.CodeUnauthenticated):
			// An address from gossip that rejects the token may not be this cluster's master.
			return fmt.Errorf("the master at %s refuses this worker: %w", address,
				control.Explain(address, err))
		}
		if errors.Is(err, errSilent) || !registered &&
			control.RefusalOf(err) == control.Refusal_KIND_UNSPECIFIED {
			tries++
		}
		held := min(control.WaitOf(err), w.Hold) // bounds the wait that a master asks for
		if held > 0 {
			w.Log.Info("waiting for the name", "master", address, "reason",
				control.Explain(address, err))
		} else {
			w.Log.Warn("no session", "master", address, "error", control.Explain(address, err))
		}
		if control.RefusalOf(err) == control.Refusal_KIND_LAPSED {
			// It frees everything and takes a new identity.
			w.executor.abandon(errOver)
			w.commands.Wait()
			w.executor.reset()
			if err := w.rename(); err != nil {
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
		if parallel.Sleep(ctx, held) != nil || !w.pause(ctx, wait) {
			return nil
		}
		wait = min(2*wait, longestWait)
	}
}

// errOver ends runs when the worker has left the cluster or was declared lost.
var errOver = errors.New("the worker left the cluster, or was declared lost")

// rename gives the process a new identity for the master.
func (w *worker) rename() error {
	var id [8]byte
	if _, err := io.ReadFull(w.Random, id[:]); err != nil {
		return fmt.Errorf("a name for the process: %w", err)
	}
	w.instance, w.known = hex.EncodeToString(id[:]), registration{}
	return nil
}

// address returns where to look for the master: at the given addresses in turn. If elsewhere, or if
// no address is given, it uses an address from gossip instead of a single given one, or in turn
// with several.
func (w *worker) address(given []string, tries int, elsewhere bool) string {
	if w.Master == "" || elsewhere {
		if found := membership.FindMaster(w.Group); found != "" {
			if len(given) == 1 {
				return found
			}
			given = append(slices.Clone(given), found)
		}
	}
	return given[tries%len(given)]
}

// pause waits for a random time around d, so that not all workers register at once. It returns
// false if ctx ended.
func (w *worker) pause(ctx context.Context, d time.Duration) bool {
	var random [2]byte
	_, _ = io.ReadFull(w.Random, random[:])
	d = d/2 + d*time.Duration(binary.LittleEndian.Uint16(random[:]))>>16
	return parallel.Sleep(ctx, d) == nil
}

// unmet explains why registering failed. Before the first registration, the server may be no
// master, or one that requires TLS.
func (w *worker) unmet(ctx context.Context, c *control.Connection, err error) error {
	if ctx.Err() != nil {
		return err
	}
	var foreign *control.ForeignError
	first := w.known.incarnation == 0 && !connect.IsWireError(err)
	if first && errors.As(c.Probe(ctx), &foreign) && !foreign.Silent() {
		return foreign
	}
	return control.Closed(c.Address(), err)
}

// try registers and keeps a session until it ends. It returns nil after goodbye, and reports
// whether a session began.
func (w *worker) try(ctx context.Context, address string) (bool, error) {
	if address == "" {
		return false, errors.New("no master is known yet")
	}
	c, err := control.Connect(address, w.who(), w.Dial)
	if err != nil {
		return false, err
	}
	defer c.Close()
	request := &control.RegisterRequest{
		Name: w.Name, Instance: w.instance, Incarnation: w.known.incarnation,
		Protocol: control.Protocol, Version: w.Version, Site: w.Site,
		Cores: uint32(w.Threads), Memory: w.memory, DataAddress: w.Address,
		HttpAddress: w.HTTPAddress,
		Programs:    resolve.Programs(w.Build, w.Registry), Budget: budgetOf(mem.Process()),
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.Workers.Register(bounded, request)
	if err != nil {
		return false, w.unmet(bounded, c, err)
	}
	another := w.known.master != r.Master
	w.known = registration{
		incarnation: r.Incarnation, master: r.Master,
		lease:     time.Duration(r.LeaseMilliseconds) * time.Millisecond,
		heartbeat: time.Duration(r.HeartbeatMilliseconds) * time.Millisecond,
	}
	if w.known.lease <= 0 || w.known.heartbeat <= 0 {
		return false, errors.New("the master sent a lease of 0 s")
	}
	w.roots.Hide(r.Places...)
	if w.Group != nil && r.GossipAddress != "" {
		w.commands.Go(func() { w.Group.Join(r.GossipAddress) })
	}
	if err := w.executor.registered(r.Incarnation, another); err != nil {
		return false, err
	}
	w.Observe.Registered(address, r.Incarnation)
	w.Log.Info("registered", "master", address, "incarnation", r.Incarnation)
	lane, err := c.Session(ctx)
	if err != nil {
		return false, err
	}
	s := newSession(w, lane)
	s.address, s.conn = address, c
	s.register = func(ctx context.Context) error {
		again := proto.CloneOf(request)
		again.Incarnation = r.Incarnation
		_, err := c.Workers.Register(ctx, again)
		return err
	}
	return true, s.serve(ctx)
}

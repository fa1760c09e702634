package master

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/standby"
)

// Other bounds.
const (
	maxQueue = 1000
	maxEnded = 1000
	// maxGraphs bounds the catalog and maxWorkers the workers. maxWaiting bounds the total size of
	// the specs of an owner's queued jobs.
	maxGraphs  = 1000
	maxWorkers = 4096
	maxWaiting = 4 << 20
	keepGone   = 10 * time.Minute // beyond the hold time
	keepLeft   = time.Minute
	ticks      = 20 // per lease
	cleanUp    = 5 * time.Second

	settleLeases = 4 // leases that workers have to come back before jobs begin
	// streams have ended by then, but HTTP/2 needs 1 s to report it
	shutdownFor = 200 * time.Millisecond
)

// server is a master: it does the I/O for the state machine cluster. Make it with New and run it
// with Serve.
type server struct {
	control.UnimplementedWorkersHandler // makes unknown calls of later versions fail properly
	control.UnimplementedClusterHandler
	options  *Config
	id       string // of this run of the master
	found    bool   // an earlier master had left a state
	log      *slog.Logger
	start    time.Time
	results  *results
	columns  *sentColumns
	health   control.Health
	gate     *control.Gate
	audit    *audit
	refusals quiet
	lock     *os.File // of Data, or nil
	data     *dataDir // or nil

	ctx  context.Context // ends when the server stops
	end  context.CancelCauseFunc
	work sync.WaitGroup // runs, loads and clean-ups

	meetings atomic.Uint64 // attempts to connect a team

	run        uint64       // number of this run of the master
	state      *standby.Log // log of the state's records, or nil
	shared     *standby.Log // state, if masters share it, or nil
	logs       *jobLogs     // or nil
	objects    *objects.Server
	firstEvent uint64 // journals' numbers begin after it

	mu       sync.Mutex
	commits  commits
	cluster  *cluster
	sessions map[string]*session
	changed  chan struct{}                      // see wake
	stops    map[string]context.CancelCauseFunc // by run or load
	runs     map[string]*run
	journals map[string]*journal
	past     []*job        // jobs that ended in earlier runs of the master, oldest first
	examined map[pair]bool // pairs of workers being probed
	refusing string        // why no job is accepted; empty if jobs are
	// By job: the number of readers of its result, which is not removed while there are any.
	reading   map[string]int
	backingUp bool // a backup is running; no result is removed
	refused   int  // refused requests, such as with a wrong token
	stale     int  // messages of earlier incarnations or ended calls
}

type objectServer = objects.Server

// New makes a master.
func New(o Config) (_ *server, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	var id [4]byte
	if _, err := io.ReadFull(o.Random, id[:]); err != nil {
		return nil, fmt.Errorf("a name for the master: %w", err)
	}
	s := &server{
		options: &o, id: hex.EncodeToString(id[:]), log: o.Log, start: o.Now(),
		sessions: map[string]*session{}, changed: make(chan struct{}),
		stops: map[string]context.CancelCauseFunc{}, runs: map[string]*run{},
		journals: map[string]*journal{}, examined: map[pair]bool{}, reading: map[string]int{},
		commits: commits{
			wake: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{}),
		},
	}
	s.gate = &control.Gate{Credentials: o.who(), Metrics: o.MetricsToken, Refused: s.turnAway}
	s.cluster = newCluster(rules{
		lease: o.Lease, settle: min(settleLeases*o.Lease, o.Hold), grace: o.Grace, hold: o.Hold,
		keep: keepGone + o.Hold, left: keepLeft, running: o.Running, retries: max(o.Retries, 0),
		slowFor: o.SlowFor, queue: maxQueue, ended: maxEnded, quotas: maps.Clone(o.Quotas),
		jobPrefix: s.id[:4] + "-", master: s.id, programs: resolve.Programs(o.Build, o.Registry),
	})
	if s.run, s.lock, err = number(&o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.unlock()
		}
	}()
	first := firstNumber(s.run)
	s.cluster.last, s.cluster.loads = first, first
	s.meetings.Store(first)
	var before saved
	switch {
	case o.shared != nil:
		s.firstEvent, s.shared, s.state = first, o.shared, o.shared
		if err = before.take(o.shared.State()); err != nil {
			err = fmt.Errorf("the shared state: %w", err)
		}
	case o.Data != "":
		s.firstEvent = first
		if s.state, err = openState(&o, &before); err == nil {
			s.logs, err = openJobLogs(o.Data, s.log)
		}
	}
	if err == nil {
		s.results, err = newResults(o.Data, s.run, o.WrapPart)
	}
	if err != nil {
		return nil, err
	}
	if o.shared != nil {
		s.results.share(o.shared.Store, o.shared.Held)
	}
	s.results.log = s.log
	s.columns = &sentColumns{results: s.results, now: o.Now, named: s.namedColumns}
	if s.objects, err = newObjects(&o); err == nil {
		s.audit, err = openAudit(o.AuditLog, o.Now, s.log)
	}
	if err != nil {
		s.results.close()
		s.objects.Close()
		return nil, err
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	if o.Data != "" {
		s.data = watchedData(o.Data)
		s.lookAtData()
	}
	if s.durable() {
		s.restore(&before)
		s.expireResults()
		if s.found = s.state.Found(); s.found {
			s.results.sweep(".", func(name string) bool {
				return jobName.MatchString(name) && !s.hasResult(name)
			})
		}
	}
	if s.logs != nil {
		s.logs.forget(func(id string) bool { return s.cluster.jobs[id] != nil })
	}
	return s, nil
}

// now returns the time since the master started. It does not follow changes of the wall clock.
func (s *server) now() time.Duration { return s.options.Now().Sub(s.start) }

// errClosing is the error of operations in progress when the master stops.
var errClosing = errors.New("the master is stopping")

// Serve accepts connections until ctx ends. It returns after all its goroutines have ended, and is
// called once.
func (s *server) Serve(ctx context.Context, l net.Listener) error {
	defer s.unlock()
	defer s.results.close()
	defer s.audit.close()
	defer s.objects.Close()
	defer s.end(errClosing)
	if err := control.CheckListen(l.Addr().String(), s.options.who()); err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	service := func(path string, h http.Handler) { mux.Handle(path, s.gate.Service(h)) }
	options := append(control.HandlerOptions(), connect.WithInterceptors(certainty{s: s}))
	service(control.NewWorkersHandler(struct {
		*server
		*objectServer
	}{s, s.objects}, options...))
	service(control.NewClusterHandler(s, options...))
	mux.Handle("GET "+control.ChallengePath, control.Challenge(s.gate))
	mux.Handle("GET "+control.SessionPath, control.Sessions(s.gate, s.serveSession))
	mux.Handle("GET /debug/status", s.gate.Page(http.HandlerFunc(s.statusPage), control.Reading,
		false))
	s.observed(mux)
	server := control.NewHTTPServer(s.leads(s.gate.AtHome(mux)), s.ctx)
	defer s.logs.stop()
	if s.durable() {
		go s.write()
		defer func() {
			close(s.commits.end)
			<-s.commits.ended
			s.results.settle() // before another master looks for results
			s.release()
		}()
		_ = s.commit(func() error { // also writes changes made by restore
			if jobs, graphs := len(s.cluster.jobs), len(s.cluster.graphs); jobs+graphs > 0 {
				s.log.Info("continues after an earlier master", "jobs", jobs, "waiting",
					len(s.cluster.waiting()), "graphs", graphs)
			}
			return nil
		})
		if s.options.History != nil {
			s.work.Go(s.restoreRuns)
		}
		s.work.Go(s.sweepColumns)
	}
	if s.shared != nil && s.found {
		s.work.Go(s.sweepResults)
	}
	s.health.Ready()
	served := make(chan error, 1)
	go func() { served <- s.gate.Serve(server, l, s.log) }()
	s.work.Go(s.tick)
	if s.options.Group != nil {
		s.work.Go(s.hints)
	}
	if s.data != nil {
		s.work.Go(s.watchData)
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	case <-s.ctx.Done(): // it no longer leads
		err = context.Cause(s.ctx)
	}
	s.health.NotReady("stopping")
	s.mu.Lock()
	s.end(errClosing) // under the lock, so that nothing is started afterwards
	s.mu.Unlock()
	s.work.Wait()
	bounded, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	if server.Shutdown(bounded) != nil {
		_ = server.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("master: %w", err)
	}
	return nil
}

// enter makes Serve wait for the caller until s.work.Done. It returns false if the server is
// stopping.
func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// spawn starts a goroutine that Serve waits for. It returns false, and starts nothing, if the
// server is stopping. The caller holds the lock.
func (s *server) spawn(f func()) bool {
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Go(f)
	return true
}

// Register registers a worker.
func (s *server) Register(
	ctx context.Context, r *control.RegisterRequest,
) (_ *control.RegisterResponse, err error) {
	defer func() {
		if r.Incarnation == 0 || err != nil { // otherwise it is registering again
			s.audit.add(ctx, entry{What: "register", Worker: r.Name}, &err)
		}
	}()
	from := control.CallerOf(ctx).From
	if said := r.HttpAddress; said != "" {
		if r.HttpAddress = scraped(ctx, from, said); r.HttpAddress == "" {
			s.log.Warn("a worker's metrics are not at the host that it registers from", "worker",
				r.Name, "from", from, "metrics", said)
		}
	}
	var incarnation uint64
	by := control.CallerOf(ctx).Owner()
	if !control.Named(by) {
		by = ""
	}
	s.event(func() { incarnation, err = s.cluster.registerBy(s.now(), by, r) })
	if err != nil {
		level := slog.LevelWarn
		if refused := (*control.RefusedError)(nil); errors.As(err, &refused) && refused.Wait > 0 {
			level = slog.LevelInfo // the worker will retry
		}
		s.log.Log(context.Background(), level, "worker refused", "worker", r.Name, "from", from,
			"reason", err)
		return nil, control.Wire(err)
	}
	return &control.RegisterResponse{
		Incarnation: incarnation, Master: s.id, Version: s.options.Version,
		GossipAddress:     s.options.GossipAddress,
		LeaseMilliseconds: uint32(s.options.Lease.Milliseconds()),
		HeartbeatMilliseconds: uint32(
			(s.options.Lease / control.HeartbeatsPerLease).Milliseconds()),
		Places: s.places(),
	}, nil
}

package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/anishathalye/porcupine"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// pipes is a listener in memory.
type pipes struct {
	port    int
	waiting chan net.Conn

	mu   sync.Mutex
	told chan struct{} // closed when it is told to stop
}

func newPipes(port int) *pipes {
	return &pipes{port: port, waiting: make(chan net.Conn), told: make(chan struct{})}
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port} }

func (p *pipes) Close() error { return p.SetDeadline(time.Unix(1, 0)) }

func (p *pipes) SetDeadline(at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.told:
		if at.IsZero() {
			p.told = make(chan struct{})
		}
	default:
		if !at.IsZero() {
			close(p.told)
		}
	}
	return nil
}

func (p *pipes) Accept() (net.Conn, error) {
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	select {
	case c := <-p.waiting:
		return c, nil
	case <-told:
		return nil, os.ErrDeadlineExceeded
	}
}

// piped is an end of a connection with a TCP address.
type piped struct{ net.Conn }

func (piped) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.waiting <- piped{far}:
		return near, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// asked is a client's request about the job with a key. told is the answer.
type asked struct {
	what, key, id string
}

type told struct {
	unknown, none, cancelled bool
	id                       string
}

// entered is the state of a key: its job.
type entered struct {
	id        string // "" if there is none, "?" if nobody has received its id
	cancelled bool
}

// jobTable is the model: a key has one job after it was submitted. Once cancelled, the job stays
// cancelled.
var jobTable = porcupine.Model{
	Partition: func(history []porcupine.Operation) (all [][]porcupine.Operation) {
		at := map[string]int{}
		for _, o := range history {
			key := o.Input.(asked).key
			if _, there := at[key]; !there {
				at[key] = len(all)
				all = append(all, nil)
			}
			all[at[key]] = append(all[at[key]], o)
		}
		return all
	},
	Init: func() any { return entered{} },
	Step: func(state, input, output any) (bool, any) {
		s, q, a := state.(entered), input.(asked), output.(told)
		if q.what == "submit" {
			switch {
			case a.unknown && s.id == "":
				return true, entered{id: "?"}
			case a.unknown:
				return true, s
			case s.id == "" || s.id == "?":
				s.id = a.id
			}
			return s.id == a.id && s.cancelled == a.cancelled, s
		}
		// Other requests name a job whose id was received.
		switch {
		case a.none:
			return s.id == "", s
		case q.what == "cancel" && s.id != "":
			s.cancelled = true
		}
		return a.unknown || (s.id == q.id || s.id == "?") && s.cancelled == a.cancelled, s
	},
}

// table runs three masters with clients over one store. The store is slow, and fails before or
// after it performed a request. It returns the clients' history.
func table(t *testing.T, seed uint64, memory *storetest.Memory) (history []porcupine.Operation) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 40*time.Second)
		defer end()
		token := control.RandomToken()
		var work sync.WaitGroup
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(seed, 1))
		chance := func() (float64, time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			return r.Float64(), time.Duration(r.Int64N(int64(time.Second)))
		}
		var all []*pipes
		dir := t.TempDir()
		for i := range 3 {
			l := newPipes(7700 + i)
			all = append(all, l)
			work.Go(func() {
				v := &storetest.View{Memory: memory, Trouble: func(_ context.Context, call,
					_ string, done bool,
				) error {
					p, d := chance()
					switch {
					case p < 0.04 && call == "put if absent" && !done:
						// longer than a lease: meanwhile another master has written
						d *= 10
					case p > 0.05:
						d /= 50
					}
					<-time.After(d)
					if p > 0.95 {
						return errors.New("it is broken")
					}
					return nil
				}}
				o := Config{Master: daemon.Master{Process: daemon.Process{Token: token, Stores: func(string) (store.Store, error) { return v, nil }, Random: rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(i)})}, Listener: l}}
				o.Standby, o.Checkpoints, o.Data, o.Lease = true, "memory",
					filepath.Join(dir, fmt.Sprint(i)), 500*time.Millisecond
				o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
				if err := o.Run(ctx); err != nil {
					t.Errorf("seed %d: master %d: %v", seed, i, err)
				}
			})
		}
		var clock atomic.Int64
		ids := map[string]string{}
		for i := range 4 {
			work.Go(func() {
				at := i % 3
				for n := 0; ctx.Err() == nil; n++ {
					conn, err := control.Connect(all[at].Addr().String(),
						control.Credentials{Token: token}, all[at].dial)
					if err != nil {
						t.Error(err)
						return
					}
					for err == nil && ctx.Err() == nil {
						p, d := chance()
						mu.Lock()
						key := fmt.Sprint(seed, "-", clock.Load()/120, "-", int(d)%3)
						q := asked{"submit", key, ids[key]}
						mu.Unlock()
						switch {
						case q.id != "" && p < 0.4:
							q.what = "get"
						case q.id != "" && p < 0.5:
							q.what = "cancel"
						}
						o := porcupine.Operation{ClientId: i, Input: q, Call: clock.Add(1)}
						var a told
						if a, err = ask(ctx, conn.Cluster, q); err == nil ||
							!strings.Contains(err.Error(), errStandby.Error()) {
							o.Output, o.Return = a, clock.Add(1)
							if a.unknown = err != nil; a.unknown {
								o.Output, o.Return = a, int64(1)<<60
							}
							mu.Lock()
							if !a.unknown && a.id != "" {
								ids[key] = a.id
							}
							history = append(history, o)
							mu.Unlock()
						}
						<-time.After(d / 10)
					}
					conn.Close()
					at = (at + 1) % 3
				}
			})
		}
		work.Wait()
		<-time.After(5 * time.Minute) // wait until hanging requests end
	})
	return history
}

// ask makes a call.
func ask(ctx context.Context, c control.ClusterClient, q asked) (told, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var r *control.Job
	var err error
	switch q.what {
	case "submit":
		r, err = c.SubmitJob(ctx,
			&control.SubmitJobRequest{Key: q.key, SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})})
	case "get":
		r, err = c.GetJob(ctx, &control.GetJobRequest{Id: q.id})
	default:
		r, err = c.CancelJob(ctx, &control.CancelJobRequest{Id: q.id})
	}
	if connect.CodeOf(err) == connect.CodeNotFound && connect.IsWireError(err) {
		return told{none: true}, nil
	}
	if err != nil {
		return told{}, err
	}
	return told{id: r.Id, cancelled: r.State == control.JobState_JOB_STATE_CANCELLED}, nil
}

// TestJobTableIsLinearizable: several masters together behave like one table of jobs. The checker
// must detect a store that overwrites.
func TestJobTableIsLinearizable(t *testing.T) {
	heard, memory := 0, &storetest.Memory{}
	history := table(t, 0, memory)
	l := standby.Open(standby.Options{Store: &storetest.View{Memory: memory}, Lease: time.Minute, Now: time.Now})
	if err := l.Poll(t.Context()); err != nil {
		t.Error(err)
	}
	terms := l.Term()
	for _, o := range history {
		if !o.Output.(told).unknown {
			heard++
		}
	}
	if r := porcupine.CheckOperationsTimeout(jobTable, history, time.Minute); r != porcupine.Ok {
		t.Errorf("%s after %d calls", r, len(history))
	}
	if heard < 150 || terms < 4 {
		t.Errorf("%d answers in %d terms are too few for a conclusion", heard, terms)
	}
	if testing.Short() {
		return // what the checker detects does not depend on the race detector
	}
	for seed := range uint64(30) {
		if porcupine.CheckOperationsTimeout(jobTable,
			table(t, seed, &storetest.Memory{Overwrites: true}), time.Minute) == porcupine.Illegal {
			t.Logf("%d answers in %d terms; run %d detects a store that overwrites objects",
				heard, terms, seed+1)
			return
		}
	}
	t.Error("no run detects a store that overwrites objects")
}

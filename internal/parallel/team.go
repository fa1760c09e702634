// Package parallel runs loops on a fixed team of goroutines whose forks and joins cost about a
// microsecond, so that a superstep of a few microseconds can still be split.
package parallel

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// spins is how often a waiting goroutine looks before it sleeps: some 80 to 200 microseconds, more
// than the coordinator and two small supersteps on one thread need between two phases. Waking a
// sleeper costs 50 microseconds, and far more where other processes want the processor.
const spins = 80_000

// Team is a set of workers that run the same function together. Worker 0 is the goroutine that
// calls [Team.Run]. A Team serves one caller at a time; a nil *Team is a team of one.
type Team struct {
	task    func(worker int)
	work    atomic.Uint32 // generation of the task
	pending atomic.Int32  // workers still running the task
	done    chan struct{}
	asleep  atomic.Bool // the caller sleeps on done
	spins   int
	closed  bool
	workers []worker
	group   sync.WaitGroup

	failMu sync.Mutex
	failed *Panic

	next atomic.Int64 // first index not yet taken, of the loop that runs
	_    [56]byte
}

type worker struct {
	wake   chan struct{}
	asleep atomic.Bool
	_      [48]byte // workers' flags live on lines of their own
}

// ErrExited is the value of a [Panic] when the function did not panic, but called runtime.Goexit,
// as testing.T.FailNow does.
var ErrExited = errors.New("runtime.Goexit ended the goroutine")

// Panic is the value that a Team panics with on its caller's goroutine when the function panicked
// on any worker, or called runtime.Goexit on another worker than the caller.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns what the function panicked with, if that was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewTeam starts a team of n workers, n >= 1. With spin, waiting workers look for work for a moment
// before they sleep: for a team that has the processors to itself. A team larger than the number of
// processors never spins.
func NewTeam(n int, spin bool) *Team {
	t := &Team{done: make(chan struct{}, 1), workers: make([]worker, max(n-1, 0))}
	if spin && n <= runtime.GOMAXPROCS(0) {
		t.spins = spins
	}
	for i := range t.workers {
		t.workers[i].wake = make(chan struct{}, 1)
		t.group.Go(func() { t.loop(i, 0) })
	}
	return t
}

// Size returns the number of workers.
func (t *Team) Size() int {
	if t == nil {
		return 1
	}
	return len(t.workers) + 1
}

// Run calls task once on every worker and returns when all are done. task must not call Run on the
// same team.
func (t *Team) Run(task func(worker int)) {
	if t.Size() == 1 {
		task(0)
		return
	}
	t.task, t.failed = task, nil
	t.pending.Store(int32(len(t.workers)))
	t.work.Add(1)
	for i := range t.workers {
		if w := &t.workers[i]; w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
	t.runCaller()
	t.task = nil
	if t.failed != nil {
		panic(t.failed)
	}
}

// runCaller runs the caller's part and waits for the workers, also after runtime.Goexit in the
// caller's part.
func (t *Team) runCaller() {
	defer t.join()
	t.call(0)
}

func (t *Team) join() {
	for range t.spins {
		if t.pending.Load() == 0 {
			return
		}
	}
	for {
		t.asleep.Store(true)
		if t.pending.Load() == 0 {
			if !t.asleep.CompareAndSwap(true, false) {
				<-t.done // the last worker saw us asleep: take its signal
			}
			return
		}
		<-t.done
	}
}

// loop runs every task after the generation seen. A task that ends the goroutine leaves the loop to
// another one.
func (t *Team) loop(i int, seen uint32) {
	w := &t.workers[i]
	returned := true
	defer func() {
		if !returned {
			t.group.Go(func() { t.loop(i, seen) })
			t.finish()
		}
	}()
	for {
		seen = t.await(w, seen)
		if t.closed {
			return
		}
		returned = false
		t.call(i + 1)
		returned = true
		t.finish()
	}
}

// finish counts a worker as done with the task.
func (t *Team) finish() {
	if t.pending.Add(-1) == 0 && t.asleep.CompareAndSwap(true, false) {
		t.done <- struct{}{}
	}
}

// await returns the generation of the next task.
func (t *Team) await(w *worker, seen uint32) uint32 {
	for range t.spins {
		if g := t.work.Load(); g != seen {
			return g
		}
	}
	for {
		w.asleep.Store(true)
		if g := t.work.Load(); g != seen {
			if !w.asleep.CompareAndSwap(true, false) {
				<-w.wake
			}
			return g
		}
		<-w.wake
	}
}

func (t *Team) call(worker int) {
	returned := false
	defer func() {
		if v := recover(); !returned {
			p := newPanic(v)
			t.failMu.Lock()
			if t.failed == nil {
				t.failed = p
			}
			t.failMu.Unlock()
		}
	}()
	t.task(worker)
	returned = true
}

// newPanic makes a Panic of what a deferred function recovered in a function that did not return.
func newPanic(recovered any) *Panic {
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	if recovered == nil {
		recovered = ErrExited
	}
	return &Panic{recovered, debug.Stack()}
}

// Contain calls f on a goroutine of its own and waits for it. It returns nil when f returns, or
// else the panic or runtime.Goexit that ended f.
func Contain(f func()) *Panic {
	t, done := Team{task: func(int) { f() }}, make(chan struct{})
	go func() {
		defer close(done)
		t.call(0)
	}()
	<-done
	return t.failed
}

// For calls body for consecutive ranges that together cover [0, n), each of at most grain indices,
// handed out in order to whichever worker is free. It runs on the caller alone when one range
// covers everything.
func (t *Team) For(n, grain int, body func(worker, lo, hi int)) {
	grain = max(grain, 1)
	if n <= grain || t.Size() == 1 {
		for lo := 0; lo < n; lo += grain {
			body(0, lo, min(lo+grain, n))
		}
		return
	}
	t.next.Store(0)
	t.Run(func(worker int) {
		for {
			lo := int(t.next.Add(int64(grain))) - grain
			if lo >= n {
				return
			}
			body(worker, lo, min(lo+grain, n))
		}
	})
}

// Counter hands out indices of a loop to the workers of a team, without the closure that For
// allocates.
type Counter struct {
	_    [64]byte
	next atomic.Int64
	_    [56]byte
}

// Reset makes i the first index to be taken.
func (c *Counter) Reset(i int) { c.next.Store(int64(i)) }

// Take returns the first of grain indices that nobody else gets.
func (c *Counter) Take(grain int) int { return int(c.next.Add(int64(grain))) - grain }

// TakePart returns the first and the end of a run of indices below n that nobody else gets: one of
// so many parts of those that are left, or one index. So runs become shorter towards the end
// (guided self-scheduling; Polychronopoulos and Kuck 1987). from is to when none is left.
func (c *Counter) TakePart(n, parts int) (from, to int) {
	for {
		i := int(c.next.Load())
		if i >= n {
			return n, n
		}
		end := i + max((n-i)/parts, 1)
		if c.next.CompareAndSwap(int64(i), int64(end)) {
			return i, end
		}
	}
}

// Taken returns the first index that has not been handed out.
func (c *Counter) Taken() int { return int(c.next.Load()) }

// Close ends the workers and waits for them. Run must not be called afterwards. Close is
// idempotent.
func (t *Team) Close() {
	if t == nil || t.closed {
		return
	}
	t.closed = true
	t.work.Add(1)
	for i := range t.workers {
		if w := &t.workers[i]; w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
	t.group.Wait()
}

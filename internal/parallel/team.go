// Package parallel runs loops on a fixed team of goroutines. A fork and join costs about a
// microsecond, so even a superstep of a few microseconds can be split. Read team.go first.
package parallel

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// spins is the number of looks of a waiting goroutine before it sleeps: 150 microseconds if a look
// takes a cycle of 2.7 GHz. That is longer than the coordinator and two small supersteps on one
// thread take between two phases. Waking a sleeper takes 50 microseconds, and far more if other
// processes want the processor.
const spins = 400_000

// Team is a set of workers that run the same function together. Worker 0 is the goroutine that
// calls [Team.Run]. A Team serves one caller at a time; a nil *Team is a team of one.
type Team struct {
	task    func(worker int)
	work    atomic.Uint32 // generation of the task
	pending atomic.Int32  // workers still running the task
	done    chan struct{}
	asleep  atomic.Bool // true while the caller sleeps on done
	spins   int
	closed  bool
	workers []worker

	failMu sync.Mutex
	failed *Panic

	next atomic.Int64 // first index of the current loop that was not taken
	_    [56]byte
}

type worker struct {
	wake   chan struct{}
	asleep atomic.Bool
	began  atomic.Uint32 // generation of the last task of which the worker's part has begun
	_      [48]byte      // padding: the workers' flags are on separate cache lines
}

// begin reports whether the caller shall do the worker's part of the task of a generation.
func (w *worker) begin(generation uint32) bool {
	last := w.began.Load()
	return int32(generation-last) > 0 && w.began.CompareAndSwap(last, generation)
}

// ErrExited is the value of a [Panic] if the function called runtime.Goexit, as testing.T.FailNow
// does.
var ErrExited = errors.New("runtime.Goexit ended the goroutine")

// Panic is the value with which Run panics on its caller's goroutine, if the function panicked on
// any worker, or called runtime.Goexit on another goroutine than the caller's.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error, else nil.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewTeam starts a team of n workers, n >= 1. With spin, idle workers spin for a moment before they
// sleep, which is for a team that has the processors to itself. A team larger than the number of
// processors never spins.
func NewTeam(n int, spin bool) *Team {
	t := &Team{done: make(chan struct{}, 1), workers: make([]worker, max(n-1, 0))}
	if spin && n <= runtime.GOMAXPROCS(0) {
		t.spins = spins
	}
	for i := range t.workers {
		t.workers[i].wake = make(chan struct{}, 1)
		go t.loop(i, 0)
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

// Run calls task once for every worker, and returns when all calls are done. When the caller has
// done its own part, it also does those of workers that have not begun, because they sleep. task
// must not call Run on the same team.
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

// runCaller runs the caller's part, and those that have not begun then. It waits for the workers,
// even if a part calls runtime.Goexit.
func (t *Team) runCaller() {
	defer t.join()
	t.call(0)
	for i := range t.workers {
		if t.workers[i].begin(t.work.Load()) {
			t.pending.Add(-1)
			t.call(i + 1)
		}
	}
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
				<-t.done // the last worker saw asleep: take its signal
			}
			return
		}
		<-t.done
	}
}

// loop runs all tasks after generation seen. If a task ends the goroutine, another one continues
// the loop.
func (t *Team) loop(i int, seen uint32) {
	w, returned := &t.workers[i], true
	defer func() {
		if !returned {
			go t.loop(i, seen)
			t.finish()
		}
	}()
	for {
		if seen = t.await(w, seen); !w.begin(seen) {
			continue // the caller has done this part
		}
		if t.closed {
			return
		}
		returned = false
		t.call(i + 1)
		returned = true
		t.finish()
	}
}

// finish records that a worker has finished the task.
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

// newPanic makes a Panic from the result of recover, in a deferred function.
func newPanic(recovered any) *Panic {
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	if recovered == nil {
		recovered = ErrExited
	}
	return &Panic{recovered, debug.Stack()}
}

// Contain calls f on a new goroutine and waits for it. It returns nil if f returns, else the panic
// or runtime.Goexit that ended f.
func Contain(f func()) *Panic {
	t, done := Team{task: func(int) { f() }}, make(chan struct{})
	go func() {
		defer close(done)
		t.call(0)
	}()
	<-done
	return t.failed
}

// For calls body for consecutive ranges that together cover [0, n). Each range has at most grain
// indices. Idle workers take the ranges in order. If one range covers everything, only the caller
// runs it.
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

// Counter hands out the indices of a loop to the workers of a team. It needs no closure, which For
// allocates.
type Counter struct {
	_    [64]byte
	next atomic.Int64
	_    [56]byte
}

// Reset sets the first index to i.
func (c *Counter) Reset(i int) { c.next.Store(int64(i)) }

// Take takes grain indices and returns the first.
func (c *Counter) Take(grain int) int { return int(c.next.Add(int64(grain))) - grain }

// TakePart takes consecutive indices below n, and returns the first and the end. It takes one
// index, or 1/parts of the remaining indices if that is more, so ranges become shorter towards the
// end (guided self-scheduling; Polychronopoulos and Kuck 1987). It returns from = to if none is
// left.
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

// Taken returns the first index that was not taken.
func (c *Counter) Taken() int { return int(c.next.Load()) }

// Close makes the workers end. It does not wait for them, because waking one takes longer than a
// small run. Run must not be called afterwards. Close is idempotent.
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
}

package mem

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// The budget does not see allocations of the user's program, nor some buffers, before they exist.
// So a watcher checks the real memory use of the process. If it exceeds the hard limit, the watcher
// ends the runs, before the kernel kills the process.

// The watcher's interval. It is short enough that a process that allocates watchRate bytes per
// second is noticed in time.
const (
	watchMost  = 200 * time.Millisecond
	watchLeast = time.Millisecond
	watchRate  = 4 << 30
	watchWait  = 200 * time.Millisecond // time for runs to end
)

// OnOver registers f. The watcher calls it at most once, when the process uses or has reserved too
// much memory (see look). cancel removes it. f must not block. It returns err, possibly with more
// information about the cause.
func (b *Budget) OnOver(f func(err error) error) (cancel func()) {
	if b == nil {
		return func() {}
	}
	key := &f
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.onOver == nil {
		b.onOver = map[*func(error) error]bool{}
	}
	b.onOver[key], b.cause = true, nil
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.onOver, key)
	}
}

// watch checks the process until done is closed.
func (b *Budget) watch(done <-chan struct{}) {
	if Anonymous() == 0 {
		return // memory use is unknown
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if b.spilled.Load() > 0 && !b.moreThreads {
			b.moreThreads = true
			// A goroutine that waits for the disk in a page fault must not block other goroutines,
			// such as this one and heartbeats.
			runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
		}
		left := time.Duration(float64(b.hard-b.look(time.Now())) / watchRate * float64(time.Second))
		timer.Reset(min(max(left, watchLeast), watchMost))
	}
}

// look ends the runs if the process uses too much memory, or has reserved too much and only not
// written to it yet. If that does not help, it calls Last, which ends the process; for example, one
// call of a program may allocate more and more. look returns the memory used or reserved, or the
// limit if that is too much.
func (b *Budget) look(now time.Time) int64 {
	taken, beyond := Anonymous(), b.limit-b.hard
	if taken > b.hard {
		freeSpares()
		taken = Anonymous()
	}
	text := Text(taken) + " are taken"
	if taken > b.hard {
		b.collect(now)
	}
	if taken <= b.hard+beyond/4 {
		asked := b.held.Load() + b.measured(heapBytes)
		if asked > b.hard+beyond/2 {
			runtime.GC()
			asked = b.held.Load() + b.measured(heapBytes)
		}
		if asked <= b.hard+beyond/2 {
			b.overSince = time.Time{}
			return max(taken, asked)
		}
		text = Text(asked) + " are requested"
	}
	if b.overSince.IsZero() {
		b.overSince = now
	}
	b.mu.Lock()
	all := b.onOver
	b.onOver = nil
	b.mu.Unlock()
	err := error(&Exhausted{Budget: true, Err: fmt.Errorf("%s: %v", text, b.Use())})
	for f := range all {
		why := (*f)(err)
		b.mu.Lock()
		b.cause = why
		b.mu.Unlock()
	}
	b.mu.Lock()
	err = cmp.Or(b.cause, err)
	b.mu.Unlock()
	late := taken > b.hard+beyond/4 && now.Sub(b.overSince) > watchWait
	if (late || taken > b.hard+beyond/2) && b.Last != nil {
		b.Last(err)
	}
	return b.limit
}

// collect makes the collector return unused memory to the system, at most once in 5*watchWait, on
// another goroutine.
func (b *Budget) collect(now time.Time) {
	if b.process && now.Sub(b.collected) > 5*watchWait && b.collecting.CompareAndSwap(false, true) {
		b.collected = now
		go func() {
			defer b.collecting.Store(false)
			debug.FreeOSMemory()
		}()
	}
}

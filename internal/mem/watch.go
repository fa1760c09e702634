package mem

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// What a program itself makes, and buffers that nobody asks the budget for, are only seen once they
// are there: a watcher looks at what the process really takes, often when that is much, and has the
// runs end that take it above the hard limit, before the kernel ends the process.

// How often it looks: so often that a process that takes so many bytes a second is seen before it
// has taken too much.
const (
	watchMost  = 200 * time.Millisecond
	watchLeast = time.Millisecond
	watchRate  = 4 << 30
	watchWait  = 200 * time.Millisecond // that runs have to end
)

// OnOver has f called, once at most, when the process takes more than the hard limit, until cancel
// is called. f must not wait; it returns err with what it knows of the cause.
func (b *Budget) OnOver(f func(err error) error) (cancel func()) {
	if b == nil {
		return func() {}
	}
	key := &f
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil {
		b.over = map[*func(error) error]bool{}
	}
	b.over[key], b.why = true, nil
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.over, key)
	}
}

// watch looks after the process until done is closed.
func (b *Budget) watch(done <-chan struct{}) {
	if Anonymous() == 0 {
		return // nobody knows
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if b.spilled.Load() > 0 && !b.waits {
			b.waits = true
			// Who waits for the disk in a page fault must not hold up the others: this goroutine,
			// signs of life.
			runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
		}
		left := time.Duration(float64(b.hard-b.look(time.Now())) / watchRate * float64(time.Second))
		timer.Reset(min(max(left, watchLeast), watchMost))
	}
}

// look has the runs end if the process takes too much, or has asked for more than there is and only
// not written to it yet, and the process itself if that does not help, as when one call of a
// program goes on asking for more. It returns what the process takes or has asked for, or the limit
// if that is too much.
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
		asked := b.asked()
		if asked <= b.hard+beyond/2 {
			b.said = time.Time{}
			return max(taken, asked)
		}
		text = Text(asked) + " are asked for"
	}
	if b.said.IsZero() {
		b.said = now
	}
	b.mu.Lock()
	all := b.over
	b.over = nil
	b.mu.Unlock()
	err := error(&Exhausted{Budget: true, Err: fmt.Errorf("%s: %v", text, b.Use())})
	for f := range all {
		why := (*f)(err)
		b.mu.Lock()
		b.why = why
		b.mu.Unlock()
	}
	b.mu.Lock()
	err = cmp.Or(b.why, err)
	b.mu.Unlock()
	late := taken > b.hard+beyond/4 && now.Sub(b.said) > watchWait
	if (late || taken > b.hard+beyond/2) && b.Last != nil {
		b.Last(err)
	}
	return b.limit
}

// asked returns what arrays and Go's heap take, written to or not; what the heap no longer uses is
// not meant.
func (b *Budget) asked() int64 {
	asked := b.held.Load() + b.measured(heapBytes)
	if asked > b.hard+(b.limit-b.hard)/2 {
		runtime.GC()
		asked = b.held.Load() + b.measured(heapBytes)
	}
	return asked
}

// collect has the collector give back what the heap no longer uses, now and then, beside the
// watcher, which goes on.
func (b *Budget) collect(now time.Time) {
	if b.process && now.Sub(b.collected) > 5*watchWait && b.collecting.CompareAndSwap(false, true) {
		b.collected = now
		go func() {
			defer b.collecting.Store(false)
			debug.FreeOSMemory()
		}()
	}
}

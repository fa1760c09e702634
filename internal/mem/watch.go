package mem

import (
	"cmp"
	"fmt"
	"time"
)

// What a program itself makes, and buffers that nobody asks the budget for, are only seen once they are there: a watcher looks at what the
// process really takes, often when that is much, and has the runs end that take it above the hard limit, before the kernel ends the process.

// How often it looks.
const (
	watchCalm = 200 * time.Millisecond
	watchNear = 10 * time.Millisecond
)

// OnOver has f called, once at most, when the process takes more than the hard limit, until cancel is called. f must not wait; it returns err
// with what it knows of the cause.
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
	b.over[key] = true
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
	timer := time.NewTimer(watchCalm)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if taken := b.look(); taken > b.soft/4*3 {
			timer.Reset(watchNear)
		} else {
			timer.Reset(watchCalm)
		}
	}
}

// look has the runs end if the process takes too much, and the process itself if that does not help, as when one call of a program goes on
// asking for more. It returns what the process takes.
func (b *Budget) look() int64 {
	taken, beyond := Anonymous(), b.limit-b.hard
	if taken <= b.hard+beyond/4 {
		return taken
	}
	b.mu.Lock()
	all := b.over
	b.over = nil
	b.mu.Unlock()
	err := error(&Exhausted{Budget: true, Err: fmt.Errorf("%s are taken: %v", Text(taken), b.Use())})
	for f := range all {
		b.why = (*f)(err)
	}
	if taken > b.limit-beyond/4 && b.Last != nil {
		b.Last(cmp.Or(b.why, err))
	}
	return taken
}

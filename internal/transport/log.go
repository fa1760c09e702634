package transport

import (
	"fmt"
	"sync"
)

// Log keeps copies of the frames that partitions of a process send to those of others, by superstep, so that partitions that are lost can be computed
// again from what they were sent (Malewicz 2010, 4.2). When it has more bytes than it may, it forgets what it has: the frames of later supersteps may
// serve after the next checkpoint.
//
// Invariant: all frames of supersteps from `from` on, as far as these have been sent, are in steps.
type Log struct {
	most int64

	mu     sync.Mutex
	steps  map[int][]*Frame
	from   int
	bytes  int64
	sealed bool
	cause  error // why frames are missing from before from, or nil
}

// NewLog makes a log of at most so many bytes, for a run that begins with superstep 0.
func NewLog(most int64) *Log { return &Log{most: most, steps: map[int][]*Frame{}} }

// Endpoint returns an endpoint that logs the frames to partitions that are not here.
func (l *Log) Endpoint(e Endpoint, here func(partition int) bool) Endpoint {
	return logging{e, l, here}
}

// Begin says that the run goes on before a superstep.
func (l *Log) Begin(superstep int) { l.Forget(superstep) }

// Forget drops the frames of supersteps before this one: there is a checkpoint before it.
func (l *Log) Forget(before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed || before <= l.from {
		return
	}
	for s, frames := range l.steps {
		if s < before {
			l.drop(s, frames)
		}
	}
	l.from, l.cause = before, nil
}

// Seal ends the log: it stays as it is.
func (l *Log) Seal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
}

// From returns the first superstep from which on all frames are there, and why not those before it, if there is a reason but that they were forgotten.
func (l *Log) From() (superstep int, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from, l.cause
}

// Bytes returns how many bytes the log has.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// To returns the frames of a superstep to some partitions. They are the log's, and do not change.
func (l *Log) To(superstep int, partition func(int) bool) (frames []*Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.steps[superstep] {
		if partition(f.To) {
			frames = append(frames, f)
		}
	}
	return frames
}

func (l *Log) add(f *Frame) {
	size := int64(f.Size())
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.sealed || f.Superstep < l.from:
		return
	case f.Ref != nil:
		l.overflow(f.Superstep, fmt.Errorf("messages of type %T have no raw form", f.Ref))
		return
	case l.bytes+size > l.most:
		l.overflow(f.Superstep, fmt.Errorf("the log of what was sent would have more than %d bytes", l.most))
		return
	}
	c := *f
	both := make([]byte, len(f.Presence)+len(f.Raw))
	n := copy(both, f.Presence)
	copy(both[n:], f.Raw)
	c.Presence, c.Raw = both[:n:n], both[n:]
	l.steps[f.Superstep] = append(l.steps[f.Superstep], &c)
	l.bytes += size
}

// overflow forgets everything up to a superstep. The lock is held.
func (l *Log) overflow(superstep int, cause error) {
	for s, frames := range l.steps {
		l.drop(s, frames)
	}
	l.from, l.cause = superstep+1, cause
}

func (l *Log) drop(superstep int, frames []*Frame) {
	for _, f := range frames {
		l.bytes -= int64(f.Size())
	}
	delete(l.steps, superstep)
}

// logging is an endpoint whose frames are logged. A frame that was sent ahead counts when it is claimed: others are dropped where they come.
type logging struct {
	Endpoint
	log  *Log
	here func(partition int) bool
}

func (e logging) Send(f *Frame) error {
	if !e.here(f.To) {
		e.log.add(f)
	}
	return e.Endpoint.Send(f)
}

func (e logging) Claim(f *Frame) {
	if !e.here(f.To) {
		e.log.add(f)
	}
	e.Endpoint.Claim(f)
}

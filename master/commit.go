package master

import (
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/standby"
)

// commits are the events whose changes are not on the disk yet. What an event wants done, its
// effects, is done when its changes, and those of the events before it, are. Who lets something
// happen does not wait for that, unless it has to answer a client. All but wake and ended is under
// the server's lock.
type commits struct {
	wake    chan struct{} // there are some
	end     chan struct{} // closed: write what there is, and no more
	ended   chan struct{} // closed: that was done
	pending []*batch
	last    *batch // the last, until it is done
	made    *job   // by the event that happens, for a client
	failed  error  // of the last write
	due     time.Duration
	lost    []change // what it was to write
}

// batch is an event's.
type batch struct {
	records []standby.Change
	changed []change
	effects []effect
	made    *job          // for a client, who is refused it when it cannot be written
	done    chan struct{} // closed when the effects have been done
	err     error         // then: why the client is refused
}

// retryWrite is how often it is tried to write what could not be written.
const retryWrite = time.Second

// event lets something happen to the state, and does what the state machine wants done, as soon as
// that may be. It does not wait.
func (s *server) event(happen func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	happen()
	s.settle()
}

// commit is event for what a client is told of: it waits until the change is on the disk.
func (s *server) commit(happen func() error) error {
	s.mu.Lock()
	err := happen()
	b := s.settle()
	s.mu.Unlock()
	if b == nil {
		return err
	}
	select {
	case <-b.done:
	case <-s.ctx.Done():
		return connect.NewError(connect.CodeUnavailable, errClosing)
	}
	if err == nil {
		err = b.err
	}
	if err == nil && s.lost() {
		err = connect.NewError(connect.CodeUnavailable, errClosing)
	}
	return err
}

// settle takes what an event has changed and wants done, and returns what to wait for, or nil. The
// lock is held.
func (s *server) settle() *batch {
	b := &batch{effects: s.cluster.take(), changed: s.cluster.takeChanged(), made: s.commits.made, done: make(chan struct{})}
	s.commits.made = nil
	if s.durable() {
		b.records = s.recordsOf(b.changed)
	}
	switch {
	case len(b.records) == 0 && s.commits.last == nil && s.held():
		s.do(b)
		return nil
	case len(b.records) == 0 && len(b.effects) == 0 && s.commits.last != nil:
		return &batch{done: s.commits.last.done}
	}
	s.commits.pending, s.commits.last = append(s.commits.pending, b), b
	select {
	case s.commits.wake <- struct{}{}:
	default:
	}
	return b
}

// do does what an event wants done. None of that waits. The lock is held.
func (s *server) do(b *batch) {
	for _, e := range b.effects {
		s.effect(e)
	}
}

// write writes what events change, until the end.
func (s *server) write() {
	defer close(s.commits.ended)
	renew, stop := s.renewals()
	defer stop()
	for {
		select {
		case <-s.commits.wake:
			s.flush()
		case <-renew:
			s.renew()
		case <-s.commits.end:
			s.event(func() { s.rewrite(s.commits.due) })
			s.flush()
			return
		}
	}
}

// flush writes what there is as one transaction, and then does what its events want done.
func (s *server) flush() {
	for {
		s.mu.Lock()
		all := s.commits.pending
		s.commits.pending = nil
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		var records []standby.Change
		for _, b := range all {
			records = append(records, b.records...)
		}
		err := faults.At(faults.Committing, "")
		if err == nil {
			err = s.writeRecords(records)
		}
		if err == nil {
			_ = faults.At(faults.Committed, "") // what is written is written
		}
		s.mu.Lock()
		s.wrote(all, len(records), err)
		s.mu.Unlock()
	}
}

// wrote goes on after the changes of events were written, or could not be. The lock is held.
func (s *server) wrote(all []*batch, records int, err error) {
	switch {
	case err != nil && s.shared != nil:
		s.lose(all, err)
		return
	case err != nil:
		if s.commits.failed == nil {
			s.log.Error("the master's state cannot be written: it is tried again", "error", err)
		}
		s.commits.failed, s.commits.due = err, s.now()+retryWrite
	case records > 0 && s.commits.failed != nil:
		s.log.Info("the state of the master is written again")
		s.commits.failed, s.commits.due = nil, 0
		s.rewrite(s.now())
	}
	for _, b := range all {
		if err != nil {
			s.commits.lost = append(s.commits.lost, b.changed...)
			s.refuse(b)
		}
		s.do(b)
		close(b.done)
	}
	if s.commits.last == all[len(all)-1] {
		s.commits.last = nil
	}
	s.settle() // what a refusal has changed, and what could not be written before
}

// refuse takes a job back that a client has just submitted. The lock is held.
func (s *server) refuse(b *batch) {
	j := b.made
	if j == nil || s.cluster.jobs[j.id] != j {
		return
	}
	b.err = s.unwritten("the job cannot be taken, for")
	b.effects = slices.DeleteFunc(b.effects, func(e effect) bool {
		start, starts := e.(startJob)
		turned, turns := e.(jobTurned)
		return starts && start.job == j || turns && turned.job == j
	})
	s.cluster.withdraw(s.now(), j)
}

// unwritten tells a client that the state cannot be written, and what follows. The lock is held.
func (s *server) unwritten(told string) error {
	return failed(connect.CodeInternal, "%s the master's state cannot be written: %s", told,
		control.Text(s.commits.failed.Error(), control.MaxText))
}

// lasting is err, or the error that a change of the state is done, and not on the disk, as it could
// not be written. Who changes nothing gives no text for what is done.
func (s *server) lasting(err error, c change, done string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || done == "" || !slices.Contains(s.commits.lost, c) {
		return err
	}
	return s.unwritten(done + ", but a restart of the master undoes that, for")
}

// rewrite tries again to write what could not be written. The lock is held.
func (s *server) rewrite(now time.Duration) {
	if len(s.commits.lost) > 0 && now >= s.commits.due {
		s.cluster.changed = append(s.cluster.changed, s.commits.lost...)
		s.commits.lost = nil
	}
}

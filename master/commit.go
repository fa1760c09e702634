package master

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
)

// commits holds the events whose changes are not yet on disk. The effects of an event run after its
// changes and those of all earlier events are written. An event does not wait for this unless it
// answers a client. The server's lock guards all fields but wake and ended.
type commits struct {
	wake    chan struct{} // signals pending batches
	end     chan struct{} // closed to write the rest and stop
	ended   chan struct{} // closed when that is done
	pending []*batch
	last    *batch // the last batch, until it is done
	made    *job   // job that the current event created for a client
	failed  error  // error of the last write, or nil
	due     time.Duration
	lost    []change // changes that could not be written
}

// batch is the changes and effects of an event.
type batch struct {
	records map[string][]byte
	changed []change
	effects []effect
	made    *job          // job that the event created for a client; undone if the write fails
	done    chan struct{} // closed after the effects have run
	err     error         // set before done is closed; the error for the client
}

// retryWrite is the delay between attempts to write the state.
const retryWrite = time.Second

// event changes the state and runs the resulting effects as soon as the changes are on disk. It
// does not wait for that.
func (s *server) event(happen func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	happen()
	s.settle()
}

// commit is event for calls of clients: it waits until the change is on disk.
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
	if err = cmp.Or(err, b.err); err == nil && s.lost() {
		err = connect.NewError(connect.CodeUnavailable, errClosing)
	}
	return err
}

// settle makes a batch of the changes and effects of the current event. It returns a batch to wait
// for, or nil if the effects have run. The caller holds the lock.
func (s *server) settle() *batch {
	b := &batch{
		effects: s.cluster.take(), changed: s.cluster.takeChanged(), made: s.commits.made,
		done: make(chan struct{}),
	}
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

// do runs the effects of a batch. They do not block. The caller holds the lock.
func (s *server) do(b *batch) {
	for _, e := range b.effects {
		s.effect(e)
	}
}

// write is the goroutine that writes changes, until end is closed.
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

// flush writes the pending changes as one transaction and then runs their effects.
func (s *server) flush() {
	for {
		s.mu.Lock()
		all := s.commits.pending
		s.commits.pending = nil
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		records := map[string][]byte{}
		for _, b := range all {
			maps.Copy(records, b.records)
		}
		err := faults.At(faults.Committing, "")
		if err == nil {
			err = s.writeRecords(records)
		}
		if err == nil {
			_ = faults.At(faults.Committed, "") // the state is written, so this error has no effect
		}
		s.mu.Lock()
		s.wrote(all, len(records), err)
		s.mu.Unlock()
	}
}

// wrote completes batches after their changes were written, or failed to be. The caller holds the
// lock.
func (s *server) wrote(all []*batch, records int, err error) {
	switch {
	case err != nil && s.shared != nil:
		s.lose(all, err)
		return
	case err != nil:
		if s.commits.failed == nil {
			s.log.Error("the master's state cannot be written, and is tried again", "error", err)
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
	s.settle() // writes changes made by refuse and rewrite
}

// refuse removes a job that a client has just submitted. The caller holds the lock.
func (s *server) refuse(b *batch) {
	j := b.made
	if j == nil || s.cluster.jobs[j.id] != j {
		return
	}
	b.err = s.unwritten("the job is not accepted:")
	b.effects = slices.DeleteFunc(b.effects, func(e effect) bool {
		start, starts := e.(startJob)
		turned, turns := e.(jobTurned)
		return starts && start.job == j || turns && turned.job == j
	})
	c := s.cluster
	c.order = slices.DeleteFunc(c.order, func(o *job) bool { return o == j })
	delete(c.keys, submission{j.owner, j.key})
	delete(c.jobs, j.id)
	c.changed = append(c.changed, change{job: j.id})
	c.schedule(s.now())
}

// unwritten is the error for a client whose change could not be written. The caller holds the lock.
func (s *server) unwritten(told string) error {
	return failed(connect.CodeInternal, "%s the master's state cannot be written: %s", told,
		control.Text(s.commits.failed.Error(), control.MaxText))
}

// lasting returns err, or an error if change c was made but could not be written. Calls that change
// nothing pass an empty done.
func (s *server) lasting(err error, c change, done string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || done == "" || !slices.Contains(s.commits.lost, c) {
		return err
	}
	return s.unwritten(done + ", but a restart of the master undoes that:")
}

// rewrite retries changes that could not be written. The caller holds the lock.
func (s *server) rewrite(now time.Duration) {
	if len(s.commits.lost) > 0 && now >= s.commits.due {
		s.cluster.changed = append(s.cluster.changed, s.commits.lost...)
		s.commits.lost = nil
	}
}

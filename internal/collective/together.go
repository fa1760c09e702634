package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// settleTime bounds how long a rank waits for the others' verdicts when it knows that the work has
// failed: one of them may be gone for good. It is well below what a worker's command may take to
// stop (worker.Options.StopTimeout), or the worker would end.
const settleTime = 5 * time.Second

// maxVerdict bounds an error's text in a verdict.
const maxVerdict = 16 << 10

// RemoteError is the error of another rank, as it read there.
type RemoteError struct {
	Rank int
	Text string
}

// Error is the text, the same on all ranks.
func (e *RemoteError) Error() string { return e.Text }

// Together runs do on all ranks at once. When it fails on one, the contexts of the others end, so
// that nobody waits for who gave up, and all ranks return the same error: that of the lowest rank
// that failed by itself. Only a rank whose own ctx ended returns the cause of that. It returns when
// do has returned on all ranks, or, after a failure, settleTime later. do must not use the tag.
func (g *Group) Together(ctx context.Context, tag uint32, do func(ctx context.Context) error) error {
	return g.together(ctx, tag, false, do)
}

// InOrder is Together for work in which ranks need nothing of each other: a failure ends the work
// of higher ranks alone, so that the error is the one that comes first in the order of ranks.
func (g *Group) InOrder(ctx context.Context, tag uint32, do func(ctx context.Context) error) error {
	return g.together(ctx, tag, true, do)
}

// verdict is how do ended on a rank.
type verdict byte

const (
	pending verdict = iota
	done            // without an error
	failed          // by itself; the error's text follows
	stopped         // since another failed
)

// collector collects verdicts.
type collector struct {
	group   *Group
	tag     uint32
	ordered bool
	stop    context.CancelCauseFunc // of do's context
	overdue context.CancelFunc      // begins the time to settle

	mu       sync.Mutex
	verdicts []verdict
	texts    []string
}

func (g *Group) together(ctx context.Context, tag uint32, ordered bool, do func(ctx context.Context) error) error {
	size, self := g.link.Size(), g.link.Rank()
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Verdicts travel also when ctx has ended, for the others must know; but then not for ever.
	settling, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var timer *time.Timer
	var once sync.Once
	j := &collector{
		group: g, tag: tag, ordered: ordered, stop: stop, verdicts: make([]verdict, size), texts: make([]string, size),
		overdue: func() { once.Do(func() { timer = time.AfterFunc(settleTime, giveUp) }) },
	}
	defer func() {
		once.Do(func() {})
		if timer != nil {
			timer.Stop()
		}
	}()
	var receivers sync.WaitGroup
	for from := range size {
		if from != self {
			receivers.Go(func() { j.receive(settling, from) })
		}
	}
	defer receivers.Wait()
	returned := false
	defer func() {
		if !returned { // a panic, on its way to the caller
			j.close(settling, failed, fmt.Sprintf("rank %d panicked", self))
			giveUp()
		}
	}()
	err := do(working)
	returned = true
	kind, text := done, ""
	var of *RemoteError
	switch {
	case err != nil && ctx.Err() == nil && errors.As(context.Cause(working), &of):
		kind = stopped
	case err != nil:
		kind, text = failed, err.Error()
	}
	j.close(settling, kind, text)
	detach := context.AfterFunc(ctx, j.overdue)
	defer detach()
	receivers.Wait()
	return j.judge(ctx, err)
}

// close sends this rank's verdict to all.
func (j *collector) close(ctx context.Context, kind verdict, text string) {
	j.note(j.group.link.Rank(), kind, text)
	data := append([]byte{byte(kind)}, text[:min(len(text), maxVerdict)]...)
	for to := range j.verdicts {
		if to != j.group.link.Rank() {
			// Who cannot be told notices that the link is gone.
			_ = j.group.link.Send(ctx, to, j.tag, data)
		}
	}
}

// receive waits for a rank's verdict.
func (j *collector) receive(ctx context.Context, from int) {
	data, err := j.group.link.Receive(ctx, from, j.tag)
	switch {
	case ctx.Err() != nil:
		return // given up
	case err != nil:
		j.note(from, failed, fmt.Sprintf("rank %d is lost: %v", from, err))
	case len(data) == 0 || verdict(data[0]) == pending || verdict(data[0]) > stopped:
		j.note(from, failed, fmt.Sprintf("rank %d: %v: expected a verdict", from, ErrMessage))
	default:
		j.note(from, verdict(data[0]), string(data[1:]))
	}
}

// note takes a verdict in, and ends the work here if that is in vain now.
func (j *collector) note(rank int, kind verdict, text string) {
	j.mu.Lock()
	j.verdicts[rank], j.texts[rank] = kind, text
	j.mu.Unlock()
	self := j.group.link.Rank()
	if kind != failed {
		return
	}
	if rank != self && (!j.ordered || rank < self) {
		j.stop(&RemoteError{rank, text})
	}
	if !j.ordered {
		j.overdue()
	}
}

// judge returns the error that all ranks return.
func (j *collector) judge(ctx context.Context, own error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if own != nil && ctx.Err() != nil {
		return own
	}
	self := j.group.link.Rank()
	missing := -1
	for rank, kind := range j.verdicts {
		switch {
		case kind == failed && rank == self:
			return own
		case kind == failed:
			return &RemoteError{rank, j.texts[rank]}
		case kind == pending && missing < 0:
			missing = rank
		}
	}
	switch {
	case own != nil:
		return own
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case missing >= 0:
		return fmt.Errorf("rank %d did not say how it ended", missing)
	}
	return nil
}

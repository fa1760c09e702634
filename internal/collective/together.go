package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// settleTime bounds the time that a rank waits for the other ranks' verdicts after a failure,
// because one of them may be gone for good. It is well below the time in which a worker's command
// must stop (worker.Options.StopTimeout); otherwise the worker would exit.
const settleTime = 5 * time.Second

// maxVerdict bounds the text of an error in a verdict.
const maxVerdict = 16 << 10

// RemoteError is an error of another rank, as text.
type RemoteError struct {
	Rank int
	Text string
}

// Error returns the text, which is the same on all ranks.
func (e *RemoteError) Error() string { return e.Text }

// Together runs do on all ranks at once. If it fails on one rank, it cancels do on all others, so
// that no rank waits for a failed one. All ranks then return the error of the lowest rank that
// failed by itself; only a rank whose ctx ended returns the cause of that. Together returns when do
// has returned on all ranks, or settleTime after a failure. do must not use the tag.
func (g *Group) Together(ctx context.Context, tag uint32, do func(context.Context) error) error {
	return g.together(ctx, tag, false, do)
}

// InOrder is Together for work without communication between ranks. A failure cancels do only on
// higher ranks, so that the returned error is always that of the lowest rank with an error.
func (g *Group) InOrder(ctx context.Context, tag uint32, do func(context.Context) error) error {
	return g.together(ctx, tag, true, do)
}

// verdict is the result of do on a rank.
type verdict byte

const (
	pending verdict = iota
	done            // no error
	failed          // failed by itself; the error's text follows
	stopped         // cancelled because another rank failed
)

// collector collects the verdicts of all ranks.
type collector struct {
	group   *Group
	tag     uint32
	ordered bool
	stop    context.CancelCauseFunc // cancels do
	overdue context.CancelFunc      // starts settleTime

	mu       sync.Mutex
	verdicts []verdict
	texts    []string
}

func (g *Group) together(
	ctx context.Context, tag uint32, ordered bool, do func(context.Context) error,
) error {
	size, self := g.link.Size(), g.link.Rank()
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Send verdicts even if ctx has ended, because other ranks wait for them; but then not for
	// ever.
	settling, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	j := &collector{
		group: g, tag: tag, ordered: ordered, stop: stop, verdicts: make([]verdict, size),
		texts:   make([]string, size),
		overdue: sync.OnceFunc(func() { time.AfterFunc(settleTime, giveUp) }),
	}
	var receivers sync.WaitGroup
	for from := range size {
		if from != self {
			receivers.Go(func() { j.receive(settling, from) })
		}
	}
	defer receivers.Wait()
	returned := false
	defer func() {
		if !returned { // a panic, which continues in the caller
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

// close sends this rank's verdict to all ranks.
func (j *collector) close(ctx context.Context, kind verdict, text string) {
	j.note(j.group.link.Rank(), kind, text)
	data := append([]byte{byte(kind)}, text[:min(len(text), maxVerdict)]...)
	for to := range j.verdicts {
		if to != j.group.link.Rank() {
			// A rank that cannot be reached will notice that its link broke.
			_ = j.group.link.Send(ctx, to, j.tag, data)
		}
	}
}

// receive waits for the verdict of a rank.
func (j *collector) receive(ctx context.Context, from int) {
	data, err := j.group.link.Receive(ctx, from, j.tag)
	switch {
	case ctx.Err() != nil:
		return // settleTime is over, or do panicked here
	case err != nil:
		j.note(from, failed, fmt.Sprintf("rank %d is lost: %v", from, err))
	case len(data) == 0 || verdict(data[0]) == pending || verdict(data[0]) > stopped:
		j.note(from, failed, fmt.Sprintf("rank %d: %v: expected a verdict", from, ErrMessage))
	default:
		j.note(from, verdict(data[0]), string(data[1:]))
	}
}

// note records a verdict, and cancels the work here if it has become useless.
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
	self, missing := j.group.link.Rank(), -1
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
		return fmt.Errorf("rank %d did not send its result", missing)
	}
	return nil
}

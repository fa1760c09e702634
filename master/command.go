package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/objects"
)

// session returns the session of a placement's worker, or nil if the worker has another
// incarnation.
func (s *server) session(p *control.Placement) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionOf(p)
}

// sessionOf is session for callers that hold the lock.
func (s *server) sessionOf(p *control.Placement) *session {
	if w := s.sessions[p.Worker]; w != nil && w.incarnation == p.Incarnation {
		return w
	}
	return nil
}

// order is a command to all workers of a team, with the handlers of their answers.
type order struct {
	what    string
	command *control.Command // the same for all workers but for its number
	// again, if not nil, makes the command to send to a worker that lost its session and opened a
	// new one. If the original command had not arrived, it is sent once more.
	again func(i int) *control.Command
	// more handles reports before the last; nil allows none. take reads an answer sent on a separate
	// connection to its end; nil allows none. fits checks the type of the last report; nil allows
	// any. ctx ends when the answer is not wanted any more.
	more func(ctx context.Context, i int, report *control.Report) error
	take func(ctx context.Context, i int, from io.Reader) error
	fits func(i int, report *control.Report) bool
}

// each sends a command of the run to every worker of its team.
func (r *run) each(ctx context.Context, o order) ([]*control.Report, error) {
	o.command.Job, o.command.Epoch = r.id, r.epoch
	reports, err := r.server.gather(ctx, r.team, o)
	for i, report := range reports {
		r.saw(i, report)
	}
	return reports, err
}

// gather sends each worker of a team a command and waits for all answers. The first failure ends
// the wait and is returned, because later ones are consequences.
func (s *server) gather(
	ctx context.Context, team []*control.Placement, o order,
) ([]*control.Report, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	reports := make([]*control.Report, len(team))
	sessions := make([]*session, len(team))
	var mu sync.Mutex // guards sessions once commands are sent
	for i, p := range team {
		if sessions[i] = s.session(p); sessions[i] == nil && o.again != nil {
			sessions[i] = s.back(ctx, p, nil)
		}
		if sessions[i] == nil {
			return nil, fmt.Errorf("worker %s was lost: %w", p.Worker, errSessionBroke)
		}
	}
	var done sync.WaitGroup
	for i, p := range team {
		done.Go(func() {
			w, heard := sessions[i], false
			more, take := o.of(ctx, fail, i, &heard)
			report, err := w.do(ctx, o.unnumbered(o.command), more, take)
			for o.again != nil && ctx.Err() == nil && errors.Is(err, errSessionBroke) {
				next := s.back(ctx, p, w)
				if next == nil {
					break
				}
				mu.Lock()
				w, sessions[i] = next, next
				mu.Unlock()
				report, err = w.do(ctx, o.unnumbered(o.again(i)), more, take)
				if !heard && report.GetFailure().GetAbsent() {
					report, err = w.do(ctx, o.unnumbered(o.command), more, take)
				}
			}
			switch {
			case err != nil:
				fail(err)
			case report.Failure != nil:
				if other := report.Failure.Lost; other != "" {
					s.event(func() { s.examine(pairOf(p.Worker, other)) })
					mu.Lock()
					now := slices.Clone(sessions)
					mu.Unlock()
					if cause := s.awaitCause(ctx, now); cause != nil {
						fail(cause)
					}
				}
				fail(&workerError{o.what, p.Worker, report.Failure})
			case o.fits != nil && !o.fits(i, report):
				fail(fmt.Errorf("%s: worker %s sent an answer of the wrong kind", o.what, p.Worker))
			default:
				reports[i] = report
			}
		})
	}
	done.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return reports, nil
}

// unnumbered returns a copy of command c for one worker, without a number.
func (o *order) unnumbered(c *control.Command) *control.Command {
	return &control.Command{Job: o.command.Job, Epoch: o.command.Epoch, Body: c.Body}
}

// of returns the handlers of worker i's reports and of its answer on a separate connection. The
// report handler sets heard. An error of either fails the whole order, because it may come from
// another session and does not mean that this session broke.
func (o *order) of(ctx context.Context, fail context.CancelCauseFunc, i int, heard *bool) (
	more func(*control.Report) error, take func(io.Reader) error,
) {
	more = func(r *control.Report) error {
		*heard = true
		err := errors.New("more than one answer")
		if o.more != nil {
			err = o.more(ctx, i, r)
		}
		if err != nil {
			fail(err)
		}
		return err
	}
	if o.take != nil {
		take = func(from io.Reader) error {
			err := o.take(ctx, i, from)
			// a worker reports why it ended a stream, or is lost
			if err != nil && !errors.Is(err, objects.ErrBroken) {
				fail(err)
			}
			return err
		}
	}
	return more, take
}

// awaitCause waits for a lost worker to be noticed, at most 1.5 leases: if the connection of two
// workers broke, the loss of one may be the cause. It returns that cause, or nil.
func (s *server) awaitCause(ctx context.Context, sessions []*session) error {
	broke := make(chan error, len(sessions))
	for _, w := range sessions {
		defer context.AfterFunc(w.ctx, func() { broke <- w.broken() })()
	}
	select {
	case err := <-broke:
		return err
	case <-time.After(s.options.Lease * 3 / 2):
	case <-ctx.Done():
	}
	return nil
}

// reasonOf formats an error for messages. Errors of this process may contain any text, from files
// or programs.
func reasonOf(err error) string { return control.Text(err.Error(), control.MaxText) }

// workerError is the failure of a command that a worker reported.
type workerError struct {
	what, worker string
	failure      *control.Failure
}

func (e *workerError) Error() string {
	// the message itself names the vertex and superstep
	if e.failure.Panic != nil || e.failure.Run {
		return e.failure.Message
	}
	return fmt.Sprintf("%s: worker %s: %s", cmp.Or(e.failure.Step, e.what), e.worker,
		e.failure.Message)
}

// load loads a graph of the catalog.
func (s *server) load(ctx context.Context, g *graph) {
	team := onePerWorker(g.placements)
	report, err := s.loadOn(ctx, team, g.asLoad())
	s.awaitExit(ctx, err)
	if s.ending() {
		return
	}
	s.event(func() {
		if err != nil {
			s.stopLoading("", 0, g.name, team, err)
		}
		key := "graph " + g.name
		if stop := s.stops[key]; stop != nil {
			stop(nil)
			delete(s.stops, key)
		}
		s.cluster.graphLoaded(s.now(), g, report, err)
	})
}

// stopLoading cancels the workers' part of a failed load, of a graph of the catalog or of a job.
// The caller holds the lock.
func (s *server) stopLoading(
	job string, epoch uint32, name string, team []*control.Placement, err error,
) {
	if job != "" {
		name = ""
	}
	cancel := &control.Command_Cancel{Cancel: &control.Cancel{Graph: name, Reason: reasonOf(err)}}
	for _, p := range team {
		if w := s.sessionOf(p); w != nil {
			s.tell(w, &control.Command{Job: job, Epoch: epoch, Body: cancel})
		}
	}
}

// meetings bounds how often a team connects for one operation.
const meetings = 3

// together connects a team and then runs do. It repeats both if a worker opened a new session in
// between.
func (s *server) together(
	ctx context.Context, job string, epoch uint32, team []*control.Placement, what string,
	m *control.Meet, do func() error,
) error {
	for again := 1; ; again++ {
		m := proto.CloneOf(m) // the lanes may still be sending the previous one
		m.Attempt = s.meetings.Add(1)
		_, err := s.gather(ctx, team, order{what: what, command: &control.Command{
			Job: job, Epoch: epoch, Body: &control.Command_Meet{Meet: m},
		}})
		if err == nil {
			err = do()
		}
		var failed *workerError
		if again == meetings || !errors.As(err, &failed) || !failed.failure.Unmet {
			return err
		}
		s.mu.Lock()
		// Workers that are still loading would delay the next attempt.
		s.stopLoading(job, epoch, m.Graph, team, err)
		s.mu.Unlock()
	}
}

// loadOn makes a team load its partitions of a graph, and returns the totals.
func (s *server) loadOn(
	ctx context.Context, team []*control.Placement, l *control.Load,
) (*control.LoadReport, error) {
	what := "load " + l.Source().Input
	var answers []*control.Report
	err := s.together(ctx, "", 0, team, what,
		&control.Meet{Graph: l.Graph, Placements: l.Placements}, func() (err error) {
			answers, err = s.gather(ctx, team, order{what: what, command: &control.Command{
				Body: &control.Command_Load{Load: l},
			}, fits: func(_ int, r *control.Report) bool { return r.GetLoad() != nil }})
			return err
		})
	if err != nil {
		return nil, err
	}
	shares := make([]*control.LoadReport, len(answers))
	for i, a := range answers {
		shares[i] = a.GetLoad()
	}
	return sumLoads(l.Source().Input, team, shares)
}

// sumLoads combines the reports of a team's workers into one of the graph.
func sumLoads(
	input string, team []*control.Placement, shares []*control.LoadReport,
) (*control.LoadReport, error) {
	sum := &control.LoadReport{}
	for i, share := range shares {
		if i > 0 && (share.Vertices != sum.Vertices || share.Edges != sum.Edges) {
			return nil, fmt.Errorf("load %s: worker %s has a graph of %d vertices and %d edges, "+
				"worker %s one of %d and %d: do all see the same file?", input,
				team[i%len(team)].Worker, share.Vertices, share.Edges, team[0].Worker, sum.Vertices,
				sum.Edges)
		}
		if i > 0 && (share.Fingerprint != sum.Fingerprint || share.Ids != sum.Ids) {
			return nil, fmt.Errorf("load %s: worker %s has a graph with fingerprint %x of %d ids, "+
				"worker %s one with %x of %d", input, team[i%len(team)].Worker, share.Fingerprint,
				share.Ids, team[0].Worker, sum.Fingerprint, sum.Ids)
		}
		sum.Vertices, sum.Edges, sum.Arcs = share.Vertices, share.Edges, share.Arcs
		sum.Bytes += share.Bytes
		sum.Skipped = append(sum.Skipped, share.Skipped...)
		sum.Notes = append(sum.Notes, share.Notes...)
		sum.Seconds = max(sum.Seconds, share.Seconds)
		sum.Directed, sum.Weighted, sum.Named = share.Directed, share.Weighted, share.Named
		sum.Fingerprint, sum.Ids, sum.Deal = share.Fingerprint, share.Ids, share.Deal
	}
	return sum, nil
}

// errSessionBroke fails commands in progress when a worker's connection breaks.
var errSessionBroke = errors.New("its session broke")

// cause returns why the session ended, or nil.
func (s *session) cause() error {
	cause := context.Cause(s.ctx)
	if errors.Is(cause, context.Canceled) { // cancelled by the stream's server
		return errSessionBroke
	}
	return cause
}

// broken returns the cause as an error of a command.
func (s *session) broken() error {
	cause := s.cause()
	if errors.Is(cause, errSessionBroke) {
		return fmt.Errorf("worker %s was lost: %w", s.name, cause)
	}
	return fmt.Errorf("worker %s: %w", s.name, cause)
}

// DeliverValues receives a worker's answer to a command, as fast as it is consumed. Unread data
// waits in the connection and delays nothing else.
func (s *server) DeliverValues(
	_ context.Context, stream *connect.ClientStream[control.ValuesChunk],
) (*control.DeliverValuesResponse, error) {
	if !stream.Receive() {
		return nil, stream.Err()
	}
	k := s.delivery(stream.Msg().To)
	if k == nil {
		return nil, unready("nobody waits for what worker %s delivers", stream.Msg().To.GetName())
	}
	from := objects.NewReader(stream,
		func(c *control.ValuesChunk) (data []byte, last bool) { return c.Data, c.Last })
	return &control.DeliverValuesResponse{}, k.take(from)
}

// delivery finds the command whose answer a worker delivers; nil if there is none, or another
// delivery has begun.
func (s *server) delivery(d *control.Deliver) *call {
	s.mu.Lock()
	w := s.sessions[d.GetName()]
	s.mu.Unlock()
	if d.GetMaster() != s.id || w == nil || w.incarnation != d.Incarnation {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.calls[d.Command]
	if k == nil || k.job != d.Job || k.epoch != d.Epoch || k.take == nil || k.delivered {
		return nil
	}
	k.delivered = true
	return k
}

package ranks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Options say what to launch.
type Options struct {
	Ranks int
	Task  Task
	// Command makes a process that will call Serve on its standard input and output; Launch starts
	// it.
	Command func(ctx context.Context) (*exec.Cmd, error)
	// Stage, if not nil, is called with the progress.
	Stage func(name string, done, all int)
}

// endWithin is how long processes may take to end when they have been asked to.
const endWithin = 5 * time.Second

// launch is the processes, and what they say.
type launch struct {
	Options
	ranks  []*rank
	events chan event
	ended  int // ranks whose output is at its end
}

// rank is a process.
type rank struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	errors bytes.Buffer
}

// event is what a process said, or that its output is at its end.
type event struct {
	rank int
	message
	ended bool
}

// Launch starts the processes, has them do the task and returns rank 0's report. When it returns
// they have ended.
func Launch(ctx context.Context, o Options) (json.RawMessage, error) {
	processes, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	l := &launch{Options: o, events: make(chan event)}
	report, err := l.run(ctx, processes)
	return report, l.end(ctx, kill, err)
}

// start starts a process.
func (l *launch) start(ctx context.Context) error {
	r := &rank{number: len(l.ranks)}
	var err error
	if r.cmd, err = l.Command(ctx); err != nil {
		return err
	}
	r.cmd.Stderr, r.cmd.WaitDelay = &r.errors, endWithin
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	l.ranks = append(l.ranks, r)
	go func() {
		d := json.NewDecoder(bufio.NewReader(out))
		for {
			e := event{rank: r.number}
			e.ended = d.Decode(&e.message) != nil
			l.events <- e
			if e.ended {
				return
			}
		}
	}()
	return nil
}

// errEnded is a process that ended unasked.
var errEnded = errors.New("its process ended")

// failed words how a rank failed.
func failed(rank int, err error) error { return fmt.Errorf("rank %d: %w", rank, err) }

// hear returns what a process says next.
func (l *launch) hear(ctx context.Context) (event, error) {
	select {
	case e := <-l.events:
		switch {
		case e.ended:
			l.ended++
			return e, failed(e.rank, errEnded)
		case e.Error != "":
			return e, failed(e.rank, errors.New(e.Error))
		}
		return e, nil
	case <-ctx.Done():
		return event{}, context.Cause(ctx)
	}
}

// send sends every rank a Setup. A rank that cannot get it has ended or failed; its next message
// says why.
func (l *launch) send(setup func(i int) Setup) error {
	for i, r := range l.ranks {
		data, err := json.Marshal(setup(i))
		if err != nil {
			return failed(i, err)
		}
		_, _ = r.in.Write(append(data, '\n'))
	}
	return nil
}

// ready waits until every rank is, and returns who they are.
func (l *launch) ready(ctx context.Context) ([]mesh.Peer, error) {
	peers := make([]mesh.Peer, len(l.ranks))
	for range l.ranks {
		e, err := l.hear(ctx)
		if err != nil {
			return nil, err
		}
		if e.Ready == nil {
			return nil, failed(e.rank, errors.New("it says what it was not asked"))
		}
		peers[e.rank] = *e.Ready
	}
	return peers, nil
}

// run drives the ranks and returns rank 0's report.
func (l *launch) run(ctx, processes context.Context) (json.RawMessage, error) {
	for i := range l.Ranks {
		if err := l.start(processes); err != nil {
			return nil, fmt.Errorf("starting rank %d: %w", i, err)
		}
	}
	token := rand.Text()
	if err := l.send(func(i int) Setup { return Setup{Rank: i, Token: token} }); err != nil {
		return nil, err
	}
	peers, err := l.ready(ctx)
	if err == nil {
		err = l.send(func(int) Setup { return Setup{Peers: peers, Task: l.Task} })
	}
	if err == nil {
		_, err = l.ready(ctx)
	}
	if err == nil {
		err = l.send(func(int) Setup { return Setup{Begin: true} })
	}
	for err == nil {
		var e event
		e, err = l.hear(ctx)
		switch {
		case err != nil:
		case e.Report != nil:
			return e.Report, nil
		case l.Stage != nil:
			l.Stage(e.Stage, e.Done, e.All)
		}
	}
	return nil, err
}

// end ends the processes, and returns the error that matters: that one died, rather than that
// others noticed.
func (l *launch) end(ctx context.Context, kill func(), err error) error {
	for _, r := range l.ranks {
		r.in.Close()
	}
	late := time.AfterFunc(endWithin, kill)
	defer late.Stop()
	if ctx.Err() != nil {
		kill()
	}
	for l.ended < len(l.ranks) { // their output must be read to its end
		if e := <-l.events; e.ended {
			l.ended++
		}
	}
	var died error
	for i, r := range l.ranks {
		if e := r.cmd.Wait(); e != nil && died == nil {
			died = failed(i, e)
			if text := strings.TrimSpace(r.errors.String()); text != "" {
				died = fmt.Errorf("%w: %s", died, text)
			}
		}
	}
	if err != nil && died != nil && ctx.Err() == nil {
		return died
	}
	return err
}

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// processError is the error of a process that ended early.
type processError struct {
	name, said string
	how        error
}

func (e *processError) Error() string {
	text := fmt.Sprintf("%s ended: %v", e.name, e.how)
	if e.said != "" {
		text += ": " + e.said
	}
	return text
}

// processes are the processes that a Cluster has started. Their standard input is a pipe from this
// process, so they end when it ends, even if it is killed.
type processes struct {
	all   []process
	ready chan string // the first output of each process
}

type process struct {
	cmd   *exec.Cmd
	in    io.Closer
	ended chan struct{}
}

// start starts a process and returns its standard input. If the process ends before end is called,
// died is called.
func (p *processes) start(
	name string, cmd *exec.Cmd, died context.CancelCauseFunc,
) (io.Writer, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &firstWrite{to: p.ready}, &said, time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	x := process{cmd, in, make(chan struct{})}
	p.all = append(p.all, x)
	go func() {
		how := cmd.Wait()
		died(&processError{name, strings.TrimSpace(said.String()), how})
		close(x.ended)
	}()
	return in, nil
}

// await waits for the first output of each process.
func (p *processes) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin,
		fmt.Errorf("the workers have not registered after %v", startWithin))
	defer cancel()
	for range p.all {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// firstWrite passes on the first write.
type firstWrite struct {
	to   chan<- string
	done bool
}

func (w *firstWrite) Write(b []byte) (int, error) {
	if !w.done {
		w.done = true
		w.to <- string(b)
	}
	return len(b), nil
}

// end asks the processes to end. It kills those that do not end in time.
func (p *processes) end() {
	for _, x := range p.all {
		_ = x.in.Close() // already closed if the process has ended
	}
	late := time.AfterFunc(endWithin, func() {
		for _, x := range p.all {
			_ = x.cmd.Process.Kill() // it may be ending
		}
	})
	defer late.Stop()
	for _, x := range p.all {
		<-x.ended
	}
}

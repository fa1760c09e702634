package nas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/lab/netem"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/worker"
)

// programs are what a cluster has beside the built-in ones.
func programs() []pregel.Registered {
	return []pregel.Registered{superstep.Register("nas-cg", CG{}), superstep.Register("idle", Idle{})}
}

// Cluster is a master in this process and workers that are processes of their own, for one benchmark.
type Cluster struct {
	// Workers is how many processes, of Threads threads each.
	Workers, Threads int
	// Delay is how much longer messages take between the lower half of the workers, where the master is, and the upper one, each way.
	Delay time.Duration
	// Command makes a process that will call ServeWorker; it is started with this argument.
	Command func(ctx context.Context, arguments ...string) (*exec.Cmd, error)
}

// Bounds of a cluster's beginning and end.
const (
	startWithin = 30 * time.Second
	endWithin   = 5 * time.Second
)

// WorkerArguments are what a worker of a Cluster is started with.
type WorkerArguments struct {
	Name    string
	Threads int
	Master  string // its address
	Site    int    // 0 is the master's
	Delay   time.Duration
}

// host is the address of this machine that stands for a site: all of 127.0.0.0/8 are, on Linux.
func host(site int) string { return fmt.Sprintf("127.0.0.%d", 1+site) }

// dial connects, by a connection that lags if it is to another site.
func (a WorkerArguments) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || a.Delay == 0 {
		return c, err
	}
	if to, _, err := net.SplitHostPort(address); err != nil || to == host(a.Site) {
		return c, nil
	}
	return netem.Lag(c, a.Delay, nil), nil
}

// ServeWorker is a worker of a Cluster, with its arguments as JSON. It ends when in does. It writes where it listens to out when the
// master knows it.
func ServeWorker(ctx context.Context, in io.Reader, out io.Writer, arguments string) error {
	var a WorkerArguments
	if err := json.Unmarshal([]byte(arguments), &a); err != nil {
		return fmt.Errorf("the arguments of a worker: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // what matters is that it ends
		cancel()
	}()
	w, err := worker.New(worker.Config{
		Options: worker.Options{
			Master: a.Master, Name: a.Name, Site: fmt.Sprint(a.Site), Threads: a.Threads, Programs: programs(), Grace: time.Second,
			Ready: func(address string) { fmt.Fprintln(out, address) },
		},
		Dial: a.dial,
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host(a.Site), "0"))
	if err != nil {
		return err
	}
	w.Listener, w.Address = l.(*net.TCPListener), l.Addr().String()
	return w.Run(ctx)
}

// Run starts the cluster, calls do with a connection to it, and returns when all of it has ended.
func (c Cluster) Run(ctx context.Context, do func(ctx context.Context, conn *superstep.Connection) error) (err error) {
	data, err := os.MkdirTemp("", "nas")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	leading, stop := context.WithCancel(context.WithoutCancel(ctx))
	led, ready := make(chan error, 1), make(chan string, 1)
	go func() {
		led <- master.Run(leading, master.Options{
			Listen: "127.0.0.1:0", Data: data, Programs: programs(), Ready: func(address string) { ready <- address },
		})
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-led)
	}()
	var address string
	select {
	case address = <-ready:
	case e := <-led:
		led <- nil
		return e
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := processes{ready: make(chan string, c.Workers)}
	defer all.end()
	for i := range c.Workers {
		a := WorkerArguments{Name: fmt.Sprintf("w%d", i+1), Threads: c.Threads, Master: address}
		if a.Delay = c.Delay; c.Delay > 0 {
			a.Site = i * 2 / c.Workers
		}
		arguments, err := json.Marshal(a)
		if err != nil {
			return err
		}
		cmd, err := c.Command(context.WithoutCancel(ctx), string(arguments))
		if err != nil {
			return err
		}
		if err := all.start(a.Name, cmd, cancel); err != nil {
			return err
		}
	}
	if err := all.await(ctx); err != nil {
		return err
	}
	conn, err := superstep.Connect(ctx, address, superstep.ConnectOptions{RetryFor: startWithin, Programs: programs()})
	if err == nil {
		defer conn.Close()
		err = do(ctx, conn)
	}
	if died := new(processError); errors.As(context.Cause(ctx), &died) {
		return died // which is why do failed
	}
	return err
}

// processError is a process that ended unasked.
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

// processes are those that a Cluster started. Their standard input is a pipe of this process, so that they end with it, however it
// ends.
type processes struct {
	all   []process
	ready chan string // what each says first
}

type process struct {
	cmd   *exec.Cmd
	in    io.Closer
	ended chan struct{}
}

// start starts a process; died is called if it ends before end is called.
func (p *processes) start(name string, cmd *exec.Cmd, died context.CancelCauseFunc) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &firstWrite{to: p.ready}, &said, time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	x := process{cmd, in, make(chan struct{})}
	p.all = append(p.all, x)
	go func() {
		how := cmd.Wait()
		died(&processError{name, strings.TrimSpace(said.String()), how})
		close(x.ended)
	}()
	return nil
}

// await waits until each process has said something.
func (p *processes) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("the workers have not registered after %v", startWithin))
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

// firstWrite passes on the first thing that is written to it.
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

// end asks the processes to end, and kills those that do not.
func (p *processes) end() {
	for _, x := range p.all {
		_ = x.in.Close() // it is closed already if the process has ended
	}
	late := time.AfterFunc(endWithin, func() {
		for _, x := range p.all {
			_ = x.cmd.Process.Kill() // it may end right now
		}
	})
	defer late.Stop()
	for _, x := range p.all {
		<-x.ended
	}
}

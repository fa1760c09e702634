package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// upCommand is `superstep up`.
type upCommand struct {
	app              *app
	workers, threads int
	listen, data     string
	roots            []string
	checkpoints      checkpointFlags
	hold             time.Duration
	quotas           quotasFlag
	running          runningFlag
	window           windowFlag
	memory           memoryFlags
	tls              tlsFlags

	children *children
	said     string // by the master, of where it answers
	address  string
	starts   map[string][]time.Time
	again    chan string // children to start again
}

// Bounds of `superstep up`.
const (
	maxUp        = 64               // workers: each is a process
	startTime    = 30 * time.Second // for the master to listen and the workers to register
	endingTime   = 8 * time.Second  // for children to end by themselves
	restartTimes = 5                // a worker is restarted in restartSpan, then all end
	restartSpan  = time.Minute
	restartPause = 500 * time.Millisecond
)

// masterName is the name of the master's process. Workers are w1, w2 and so on.
const masterName = "master"

// inputFlag makes masters and workers end with their standard input.
const inputFlag = "end-with-stdin"

func (a *app) up() *cobra.Command {
	u := &upCommand{app: a, starts: map[string][]time.Time{}, again: make(chan string, maxUp+1)}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster on this machine: a master and workers",
		Long: `Start a cluster on this machine: a master and workers, each a process. An interrupt
ends all of them, and so does the death of this process. Their logs go to standard error, each line
after the name of its process.

A worker that ends is restarted. With --data the master is restarted too, and its jobs continue. If
one process ends more than ` + strconv.Itoa(restartTimes) + ` times in a minute, or the master without --data ends, all end with
status 1.

The cluster accepts connections of this user on this machine only; superstep master and superstep worker make a
cluster of several machines. With TLS all processes use one certificate with the roles master,
worker and client (superstep ca issue --role master,worker,client --host 127.0.0.1).`,
		Example: `  superstep up
  superstep up --workers 4 --threads 1 --listen 127.0.0.1:7800 --data results`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("threads") {
				u.threads = max(runtime.NumCPU()/max(u.workers, 1), 1)
			}
			return u.execute(cmd.Context())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&u.workers, "workers", 2, "start `N` workers")
	cmd.Flags().IntVar(&u.threads, "threads", 0, "use `N` threads in each worker (default: the processors, divided)")
	cmd.Flags().StringVar(&u.listen, "listen", defaultMaster, "the master listens at `ADDR`, HOST:PORT; port 0 is any free port")
	cmd.Flags().StringVar(&u.data, "data", "", "the master stores its state and results below `DIR`, and is restarted if it ends (default: a directory that is removed with it)")
	cmd.Flags().StringArrayVar(&u.roots, "data-root", nil, "jobs may name files and save graphs only below `PLACE`, a directory, s3://BUCKET or s3://BUCKET/PREFIX; may be repeated (default: the current directory)")
	cmd.Flags().StringVar(&u.checkpoints.Place, "checkpoints", "", "store checkpoints of jobs at `PLACE`, a directory or s3://BUCKET/PREFIX, and restart jobs from them; off stores none (default: with --data a directory in it, else off)")
	cmd.Flags().StringVar(&u.checkpoints.Every, "checkpoint-every", "", "take a checkpoint every `N|TIME`: every N supersteps, or every TIME (default: computed from the cost of a checkpoint)")
	holdFlag(cmd, &u.hold, "wait `TIME` for a lost worker before its graphs are loaded again")
	u.quotas.define(cmd)
	u.running.define(cmd)
	u.window.define(cmd)
	u.memory.define(cmd)
	u.tls.define(cmd, false)
	nothing(cmd, "workers", "threads", "listen", "window")
	return cmd
}

func (u *upCommand) check() error {
	if u.workers < 1 || u.workers > maxUp {
		return usagef("--workers: found %d, expected 1 to %d", u.workers, maxUp)
	}
	if u.threads < 1 || u.threads > maxThreads {
		return usagef("--threads: found %d, expected 1 to %d", u.threads, maxThreads)
	}
	if _, _, err := net.SplitHostPort(u.listen); err != nil {
		return usagef("--listen: found the address %q, expected HOST:PORT, such as %s", u.listen, defaultMaster)
	}
	if err := control.CheckListen(u.listen, control.Credentials{}); err != nil {
		return usagef("--listen: others reach %s: expected an address of this machine alone, such as %s; superstep master and superstep worker make a cluster of several machines", u.listen, defaultMaster)
	}
	if len(u.roots) == 0 {
		u.roots = []string{"."}
	}
	if roots, err := store.NewRoots(u.roots); err != nil {
		return usagef("--data-root: %w", err)
	} else if err := roots.Hold(u.tls.Key); err != nil {
		return usagef("--tls-key: %w", err)
	}
	if _, err := u.window.bytes(); err != nil {
		return err
	}
	if _, err := u.memory.budget(); err != nil {
		return err
	}
	if files, err := u.tls.load(nil); err != nil {
		return err
	} else if files != nil && u.tls.Cert == "" {
		return usagef("%w", control.ErrNoCertificate)
	}
	return cmp.Or(u.running.check(), checkHold(u.hold))
}

func (u *upCommand) execute(ctx context.Context) (err error) {
	if err := u.check(); err != nil {
		return err
	}
	u.app.interrupts.hearHangUp()
	u.app.writeAsync()
	ctx, done := u.app.leaving(ctx)
	defer done()
	if u.children, err = newChildren(u.app); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, u.children.end(endingTime))
		if strings.HasSuffix(u.listen, ":0") {
			control.ForgetOwn(u.address)
		}
	}()
	if err := u.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // an interrupt: what was begun is ended
		}
		return err
	}
	fmt.Fprintf(u.app.out, "%s; %s with %s each; Ctrl-C ends all\n", u.app.shownOf(u.address, u.said),
		things(u.workers, "worker", "workers"), things(u.threads, "thread", "threads"))
	fmt.Fprintf(u.app.out, "  %s run pagerank --graph kronecker:scale=16 --master %s", u.app.name, u.address)
	for i, word := range u.tls.words() {
		if i%2 == 1 {
			word = quoted(word)
		}
		fmt.Fprint(u.app.out, " ", word)
	}
	fmt.Fprintln(u.app.out)
	return u.keep(ctx)
}

// start starts the master and, when it listens, the workers, and waits until all are registered.
func (u *upCommand) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the cluster has not started after %v", startTime))
	defer cancel()
	first := make(chan string, 1)
	if err := u.master(u.listen, first); err != nil {
		return err
	}
	select {
	case line := <-first:
		rest, ok := strings.CutPrefix(line, "master at ")
		u.said = line
		if u.address, _, _ = strings.Cut(rest, ";"); !ok {
			return fmt.Errorf("the master said %q, expected its address", line)
		}
	case e := <-u.children.ended:
		return e
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for i := range u.workers {
		if err := u.worker(fmt.Sprintf("w%d", i+1)); err != nil {
			return err
		}
	}
	f := &clientFlags{master: u.address, tls: u.tls, patience: startTime, workers: u.workers}
	registered := make(chan error, 1)
	go func() {
		defer close(registered)
		c, err := f.connect(ctx, u.app.warn)
		if err == nil {
			c.Close()
		}
		registered <- err
	}()
	err := u.watch(registered)
	for cancel(); ; {
		if _, open := <-registered; !open {
			return err
		}
	}
}

// master starts the master, which answers at an address. first gets the line that says so.
func (u *upCommand) master(listen string, first chan<- string) error {
	u.starts[masterName] = append(u.starts[masterName], time.Now())
	args := []string{"master", "--listen", listen, "--hold", u.hold.String(), "--running", strconv.Itoa(int(u.running))}
	args = append(append(args, u.tls.words()...), u.quotas.words()...)
	if u.data != "" {
		args = append(args, "--data", u.data)
	}
	c := u.checkpoints
	if c.Place == "" && u.data != "" {
		// On this machine workers need no help of the master's.
		c.Place = filepath.Join(u.data, "checkpoints")
	}
	if c.Place != "" {
		args = append(args, "--checkpoints", c.Place)
	}
	if c.Every != "" {
		args = append(args, "--checkpoint-every", c.Every)
	}
	return u.children.start(masterName, first, args...)
}

func (u *upCommand) worker(name string) error {
	u.starts[name] = append(u.starts[name], time.Now())
	args := []string{"worker", "--master", u.address, "--name", name, "--threads", strconv.Itoa(u.threads), "--hold", u.hold.String(), "--window", u.window.text}
	for _, root := range u.roots {
		args = append(args, "--data-root", root)
	}
	args = append(args, u.memory.words(u.workers)...)
	return u.children.start(name, nil, append(args, u.tls.words()...)...)
}

// keep keeps the workers, and a master that can go on, running until an interrupt, or until something cannot be helped.
func (u *upCommand) keep(ctx context.Context) error {
	interrupted := make(chan error)
	defer context.AfterFunc(ctx, func() { close(interrupted) })()
	return u.watch(interrupted)
}

// watch starts children again that end, until something cannot be helped or done says how to go on.
func (u *upCommand) watch(done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		case e := <-u.children.ended:
			if e.name == masterName && u.data == "" {
				return e
			}
			recent := 0
			for _, t := range u.starts[e.name] {
				if time.Since(t) < restartSpan {
					recent++
				}
			}
			if recent > restartTimes {
				return fmt.Errorf("%w; it was started %d times within %v", e, recent, restartSpan)
			}
			u.app.notices().say(slog.LevelWarn, e.Error()+"; starting it again")
			time.AfterFunc(restartPause, func() { u.again <- e.name })
		case name := <-u.again:
			start := u.worker
			if name == masterName {
				start = func(string) error { return u.master(u.address, make(chan string, 1)) }
			}
			if err := start(name); err != nil {
				return err
			}
		}
	}
}

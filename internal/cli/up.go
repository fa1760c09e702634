package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/store"
)

// upCommand is `superstep up`.
type upCommand struct {
	app *app
	upFlags
	flags *pflag.FlagSet

	children *children
	said     string // the master's first line of output, with its address
	address  string
	held     *os.File // holds the token of a free port
	starts   map[string][]time.Time
	again    chan string // children to restart
}

// upFlags are the flags of `superstep up`: its own, and those of its master and workers.
type upFlags struct {
	Workers int `flag:"workers" default:"2" range:"1..64" help:"start {N} workers"`
	masterFlags
	workerFlags
}

// notOfUp are flags of masters and workers that `superstep up` lacks, because each process needs
// its own value, or because they are for clusters of several machines.
var notOfUp = []string{
	"master", "insecure-token", "gossip-listen", "gossip-key-file", "end-with-stdin", "standby",
	"name", "site", "data-listen", "advertise",
}

// Bounds of `superstep up`.
const (
	maxUp        = 64               // workers, each of which is a process
	startTime    = 30 * time.Second // for the master to listen and the workers to register
	endingTime   = 8 * time.Second  // for children to end
	restartTimes = 5                // restarts of a worker within restartSpan before all end
	restartSpan  = time.Minute
	restartPause = 500 * time.Millisecond
)

// masterName is the name of the master's process. Workers are called w1, w2 and so on.
const masterName = "master"

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

Flags of superstep master and superstep worker are passed on to them.

The cluster accepts connections of this user on this machine only; superstep master and superstep worker make a
cluster of several machines. With TLS all processes use one certificate with the roles master,
worker and client (superstep ca issue --role master,worker,client --host 127.0.0.1).`,
		Example: `  superstep up
  superstep up --workers 4 --threads 1 --listen 127.0.0.1:7800 --data results`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.Threads = cmp.Or(u.Threads, max(runtime.NumCPU()/u.Workers, 1))
			return u.execute(cmd.Context())
		},
	}
	flagsOf(cmd, &u.upFlags, notOfUp...)
	configFlag(cmd)
	u.flags = cmd.Flags()
	for name, usage := range map[string]string{
		"threads":     "use `N` threads in each worker (default: the processors, divided)",
		"data-root":   "jobs may name files and save graphs only below `PLACE`, a directory, s3://BUCKET or s3://BUCKET/PREFIX; may be repeated (default: the current directory)",
		"checkpoints": "store checkpoints of jobs at `PLACE`, a directory or s3://BUCKET/PREFIX, and restart jobs from them; off stores none (default: with --data a directory in it, else off)",
	} {
		u.flags.Lookup(name).Usage = usage
	}
	rare(cmd, "lease", "stragglers", "keep-results", "keep-result-bytes", "metrics-token-file",
		"compress", "stop-timeout")
	return cmd
}

func (u *upCommand) check() error {
	at := &u.masterFlags
	if _, _, err := net.SplitHostPort(at.Listen); err != nil {
		return usagef("--listen: found the address %q, expected HOST:PORT, such as %s", at.Listen,
			defaultMaster)
	}
	if err := control.CheckListen(at.Listen, control.Credentials{}); err != nil {
		return usagef("--listen: others can reach %s: expected an address such as %s", at.Listen,
			defaultMaster)
	}
	if len(u.DataRoot) == 0 {
		u.DataRoot = []string{"."}
	}
	roots, err := store.NewRoots(u.DataRoot)
	if err != nil {
		return usagef("--data-root: %w", err)
	}
	for flag, file := range map[string]string{
		"tls-key": at.Key, "token-file": at.TokenFile, "metrics-token-file": at.MetricsTokenFile,
	} {
		if err := roots.Hold(file); err != nil {
			return usagef("--%s: %w", flag, err)
		}
	}
	_, wrong := u.budget()
	_, err = u.options(nil)
	if err = cmp.Or(wrong, err); err != nil {
		return err
	}
	if who, err := at.credentials(u.app.warn, nil); err != nil {
		return err
	} else if who.TLS != nil && at.Cert == "" {
		return usagef("%w", control.ErrNoCertificate)
	}
	return nil
}

func (u *upCommand) execute(ctx context.Context) (err error) {
	if err := u.check(); err != nil {
		return err
	}
	u.app.interrupts.hearHangUp()
	u.app.writeAsync()
	u.app.interrupts.patient.Store(true) // the end takes time, because it ends the children
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	u.children = &children{
		app: u.app, binary: binary, ended: make(chan *childError, maxUp),
		running: map[string]*child{},
	}
	defer func() {
		err = errors.Join(err, u.children.end(endingTime))
		if strings.HasSuffix(u.masterFlags.Listen, ":0") {
			_ = u.held.Close()
			control.ForgetOwn(u.address)
		}
	}()
	if err := u.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // interrupted: the deferred function ends the children
		}
		return err
	}
	fmt.Fprintf(u.app.out, "%s; %s with %s each; Ctrl-C ends all\n",
		u.app.shownOf(u.address, u.said),
		graphio.Counted(u.Workers, "worker"), graphio.Counted(u.Threads, "thread"))
	fmt.Fprintf(u.app.out, "  %s run pagerank --graph kronecker:scale=16 --master %s", u.app.name,
		u.address)
	for _, word := range flagsGiven(u.flags,
		func(f *pflag.Flag) bool { return slices.Contains(ofClients, f.Name) }) {
		fmt.Fprint(u.app.out, " ", quoted(word))
	}
	fmt.Fprintln(u.app.out)
	interrupted := make(chan error)
	defer context.AfterFunc(ctx, func() { close(interrupted) })()
	return u.watch(interrupted)
}

// start starts the master and, when it listens, the workers, and waits until all are registered.
func (u *upCommand) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime,
		fmt.Errorf("the cluster has not started after %v", startTime))
	defer cancel()
	first := make(chan string, 1)
	if err := u.master(u.masterFlags.Listen, first); err != nil {
		return err
	}
	select {
	case line := <-first:
		rest, ok := strings.CutPrefix(line, "master at ")
		u.said = line
		if u.address, _, _ = strings.Cut(rest, ";"); !ok {
			return fmt.Errorf("the master said %q, expected its address", line)
		}
		if strings.HasSuffix(u.masterFlags.Listen, ":0") {
			u.held = control.HoldOwn(u.address)
		}
	case e := <-u.children.ended:
		return e
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for i := range u.Workers {
		if err := u.worker(fmt.Sprintf("w%d", i+1)); err != nil {
			return err
		}
	}
	f := &clientFlags{
		masterFlag: masterFlag{u.address}, accessFlags: u.masterFlags.accessFlags,
		RetryFor: job.Duration(startTime), await: u.Workers,
	}
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

// master starts the master at an address. first receives the line with its address.
func (u *upCommand) master(listen string, first chan<- string) error {
	u.starts[masterName] = append(u.starts[masterName], time.Now())
	args := append([]string{"master", "--listen", listen}, passedOn(u.flags, u.app.master())...)
	if u.Checkpoints == "" && u.Data != "" {
		// On one machine workers can store checkpoints without the master.
		args = append(args, "--checkpoints", filepath.Join(u.Data, "checkpoints"))
	}
	return u.children.start(masterName, first, args...)
}

func (u *upCommand) worker(name string) error {
	u.starts[name] = append(u.starts[name], time.Now())
	args := []string{"worker", "--master", u.address, "--name", name}
	args = append(args, "--threads", strconv.Itoa(u.Threads))
	if limit := mem.DefaultLimit(); u.Memory == 0 && limit > 0 { // the workers share the memory
		args = append(args, "--memory",
			strconv.FormatInt(max((limit-limit/16)/int64(u.Workers), leastMemory), 10))
	}
	if !u.flags.Changed("data-root") {
		args = append(args, "--data-root", ".")
	}
	return u.children.start(name, nil,
		append(args, passedOn(u.flags, u.app.worker(), "threads")...)...)
}

// passedOn returns the given flags that another command has too, except some.
func passedOn(flags *pflag.FlagSet, to *cobra.Command, without ...string) []string {
	return flagsGiven(flags, func(f *pflag.Flag) bool {
		return to.Flags().Lookup(f.Name) != nil &&
			!slices.Contains(append(without, "listen", configName), f.Name)
	})
}

// watch restarts children that end, until one fails permanently or done has a result.
func (u *upCommand) watch(done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		case e := <-u.children.ended:
			if e.name == masterName && u.Data == "" {
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

// Package cluster runs a master in this process and workers in separate processes, for one
// measurement: over loopback, at two sites, or in network namespaces. Start with cluster.go.
package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/lab/netem"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/test/hosts/netns"
	"github.com/superstep-go/superstep/worker"
)

// Cluster is a master in this process and workers in separate processes.
type Cluster struct {
	// Workers is the number of processes. Each has Threads threads.
	Workers, Threads int
	// Programs are programs in addition to the built-in ones. The workers must be served with the
	// same programs.
	Programs []pregel.Registered
	// Delay is the additional delay of messages, each way, between the lower half of the workers,
	// where the master is, and the upper half.
	Delay time.Duration
	// Unlabelled means that workers do not report their site.
	Unlabelled bool
	// Every, if not nil, is the link between any two workers. It replaces Delay.
	Every *Link
	// Namespaces, if not nil, connects workers in separate network namespaces with the master in
	// this one.
	Namespaces *netns.Hub
	// Compress is the compression between workers, as in worker.Options.
	Compress string
	// Files is the directory below which jobs may read files. If it is empty, they read none.
	Files string
	// Command makes a process that calls Serve with the given argument.
	Command func(ctx context.Context, arguments ...string) (*exec.Cmd, error)
}

// Link is a simulated link between workers over loopback.
type Link struct {
	Delay time.Duration // each way
	Rate  float64       // bytes per second that a worker sends; 0 means no limit
}

// Time limits of a cluster's start and end.
const (
	startWithin = 30 * time.Second
	endWithin   = 5 * time.Second
)

// arguments are the parameters of a worker.
type arguments struct {
	Name      string
	Threads   int
	Master    string // the master's address
	Files     string // jobs may read files below it
	TokenFile string `json:",omitempty"`
	Compress  string `json:",omitempty"`
	Site      int    // 0 is the master's site
	Delay     time.Duration
	Label     string     `json:",omitempty"` // of the site
	Every     *Link      `json:",omitempty"`
	Namespace *netns.End `json:",omitempty"`
}

// host returns the loopback address that stands for a site. On Linux, all of 127.0.0.0/8 are local.
func host(site int) string { return fmt.Sprintf("127.0.0.%d", 1+site) }

// dialer returns a dial function that slows down connections to another site or, if Every is set,
// all connections except those to the master.
func (a arguments) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	var wire *netem.Wire
	if a.Every != nil && a.Every.Rate > 0 {
		wire = netem.NewWire(a.Every.Rate)
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		switch to, _, bad := net.SplitHostPort(address); {
		case err != nil:
			return nil, err
		case a.Every != nil && address != a.Master:
			return netem.Lag(c, a.Every.Delay, wire), nil
		case a.Delay > 0 && bad == nil && to != host(a.Site):
			return netem.Lag(c, a.Delay, nil), nil
		}
		return c, nil
	}
}

// Serve runs a worker of a Cluster with its argument. It ends when in ends. After the master has
// registered it, it writes its address to out.
func Serve(
	ctx context.Context, in io.Reader, out io.Writer, argument string, programs []pregel.Registered,
) error {
	var a arguments
	if err := json.Unmarshal([]byte(argument), &a); err != nil {
		return fmt.Errorf("the arguments of a worker: %w", err)
	}
	config, at := worker.Config{Options: worker.Options{
		Master: a.Master, Name: a.Name, TokenFile: a.TokenFile, InsecureToken: a.TokenFile != "",
		Site: a.Label, Threads: a.Threads, Programs: programs,
		Grace: time.Second, Compress: a.Compress,
		Ready: func(address string) { fmt.Fprintln(out, address) },
	}}, host(a.Site)
	if a.Files != "" {
		config.DataRoots = []string{a.Files}
	}
	if a.Namespace != nil {
		if err := a.Namespace.Up(in); err != nil {
			return err
		}
		at = a.Namespace.Address
	} else {
		config.Dial = a.dialer()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // only its end matters
		cancel()
	}()
	w, err := worker.New(config)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		return err
	}
	w.Listener, w.Address = l.(*net.TCPListener), l.Addr().String()
	return w.Run(ctx)
}

// Run starts the cluster and calls do with the master's address and token. It returns after all
// processes have ended. If a worker ended early, Run returns that error instead of do's.
func (c Cluster) Run(ctx context.Context, do func(ctx context.Context, address string,
	token control.Token) error,
) (err error) {
	data, err := os.MkdirTemp("", "lab")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	o, token := master.Options{Listen: host(0) + ":0", Data: filepath.Join(data,
		"master"), Programs: c.Programs}, control.Token{}
	if c.Namespaces != nil {
		// the namespaces are on this machine
		o.Listen, o.TokenFile, o.InsecureToken = c.Namespaces.Address()+":0",
			filepath.Join(data, "token"), true
		if err := os.WriteFile(o.TokenFile, []byte(rand.Text()+rand.Text()+"\n"),
			0o600); err != nil {
			return err
		}
		if token, err = control.ReadToken(o.TokenFile); err != nil {
			return err
		}
	}
	leading, stop := context.WithCancel(context.WithoutCancel(ctx))
	led, ready := make(chan error, 1), make(chan string, 1)
	o.Ready = func(address string) { ready <- address }
	go func() { led <- master.Run(leading, o) }()
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
		if err := c.start(ctx, &all, i,
			arguments{Master: address, Files: c.Files, TokenFile: o.TokenFile},
			cancel); err != nil {
			return err
		}
	}
	if err := all.await(ctx); err != nil {
		return err
	}
	err = do(ctx, address, token)
	if died := new(processError); errors.As(context.Cause(ctx), &died) {
		return died // the cause of do's error
	}
	return err
}

// start starts a worker.
func (c Cluster) start(
	ctx context.Context, all *processes, i int, a arguments, died context.CancelCauseFunc,
) error {
	a.Name, a.Threads, a.Compress, a.Every = fmt.Sprintf("w%d", i+1), c.Threads, c.Compress, c.Every
	if a.Delay = c.Delay; c.Delay > 0 {
		a.Site = i * 2 / c.Workers
	}
	if !c.Unlabelled {
		a.Label = fmt.Sprint(a.Site)
	}
	if c.Namespaces != nil {
		a.Namespace = c.Namespaces.End(i)
	}
	argument, err := json.Marshal(a)
	if err != nil {
		return err
	}
	cmd, err := c.Command(context.WithoutCancel(ctx), string(argument))
	if err != nil {
		return err
	}
	if c.Namespaces != nil {
		netns.Apart(cmd)
	}
	in, err := all.start(a.Name, cmd, died)
	if err != nil || c.Namespaces == nil {
		return err
	}
	if err := c.Namespaces.Plug(i, cmd.Process.Pid); err != nil {
		return err
	}
	if _, err := in.Write(netns.Plugged); err != nil {
		return fmt.Errorf("%s: %w", a.Name, cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

// Connected converts a function that needs a connection into an argument of Run.
func (c Cluster) Connected(do func(ctx context.Context,
	conn *cluster.Connection) error) func(ctx context.Context, address string,
	token control.Token) error {
	return func(ctx context.Context, address string, token control.Token) error {
		o := cluster.Options{RetryFor: startWithin, Programs: c.Programs}
		if token.Given() {
			dir, err := os.MkdirTemp("", "lab")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			o.TokenFile = filepath.Join(dir, "token")
			if err := os.WriteFile(o.TokenFile, []byte(token.Secret()+"\n"), 0o600); err != nil {
				return err
			}
		}
		conn, err := cluster.Connect(ctx, address, o)
		if err != nil {
			return err
		}
		defer conn.Close()
		return do(ctx, conn)
	}
}

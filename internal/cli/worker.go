package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/cluster"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/worker"
)

// workerCommand is `superstep worker`.
type workerCommand struct {
	app        *app
	client     clientFlags
	name, site string
	listen     string
	advertise  string
	join       string
	threads    int
	gossip     gossipFlags
}

func (a *app) worker() *cobra.Command {
	w := &workerCommand{app: a}
	cmd := &cobra.Command{
		Use:   "worker --master ADDR",
		Short: "Work for a cluster",
		Long: `Work for the cluster that a master leads. A worker looks for its master for a minute, also when that is restarted. An
interrupt lets it leave: what runs on it may end. It ends with status 1 when the master refuses it.

Workers send each other messages by TCP: each listens at --data-listen, by default at a free port of the address by which
it reaches the master.`,
		Example: `  superstep worker --master 127.0.0.1:7700
  superstep worker --master 10.0.0.1:7700 --name w3 --site rack2 --token-file token --gossip-listen 10.0.0.3:7701 --gossip-key-file key`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return w.execute(cmd.Context()) },
	}
	cmd.Flags().SortFlags = false
	w.client.define(cmd)
	cmd.Flags().StringVar(&w.name, "name", "", "be called `NAME` (default: the host's name and the process's number)")
	cmd.Flags().StringVar(&w.site, "site", "", "a `LABEL` for where the worker is, such as a rack")
	cmd.Flags().StringVar(&w.listen, "data-listen", "", "listen for other workers at `ADDR`, HOST:PORT; port 0 is any (default: a free port of the address that reaches the master)")
	cmd.Flags().StringVar(&w.advertise, "advertise", "", "the `HOST` by which other workers reach this one (default: that of --data-listen)")
	threadsFlag(cmd, &w.threads)
	cmd.Flags().StringVar(&w.join, "gossip-join", "", "the gossip `ADDR` of any member, to find the master when it is elsewhere")
	w.gossip.define(cmd)
	nothing(cmd, "name", "site", "data-listen", "advertise", "gossip-join")
	return cmd
}

func (w *workerCommand) execute(ctx context.Context) error {
	token, err := control.ReadToken(w.client.tokenFile)
	if err != nil {
		return err
	}
	if w.threads < 1 || w.threads > maxThreads {
		return usagef("--threads: found %d, expected 1 to %d", w.threads, maxThreads)
	}
	if w.threads > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(w.threads)
	}
	if w.name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = runtime.GOOS
		}
		w.name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	listener, address, err := w.data(token)
	if err != nil {
		return err
	}
	log := w.app.logger()
	executor := cluster.NewExecutor(cluster.ExecutorOptions{
		Name: w.name, Programs: w.app.clusterPrograms(), Threads: w.threads, Listener: listener, Token: token, Log: log,
	})
	defer executor.Close()
	o := worker.Options{
		Master: w.client.master, Token: token, Log: log, Executor: executor,
		About: &control.RegisterRequest{
			Name: w.name, Protocol: control.Protocol, Version: revision(), Cores: uint32(w.threads), Memory: uint64(max(mem.Available(), 0)),
			DataAddress: address, Site: w.site, Programs: w.app.programs(),
		},
	}
	group, err := w.gossip.group(membership.Member{Name: w.name, Role: membership.Worker})
	if err != nil {
		return err
	}
	if group != nil {
		defer group.Close()
		o.Group = group
		if w.join != "" {
			group.Join(w.join)
		}
	}
	return worker.Run(ctx, o)
}

// data begins to listen for other workers, and returns the address they reach it by.
func (w *workerCommand) data(token control.Token) (*net.TCPListener, string, error) {
	at := w.listen
	if at == "" {
		host, err := towards(w.client.master)
		if err != nil {
			return nil, "", usagef("--data-listen is needed: no address of this host reaches the master at %s: %w", w.client.master, err)
		}
		at = net.JoinHostPort(host, "0")
	}
	if err := control.CheckListen(at, token); err != nil {
		return nil, "", usagef("--data-listen: %w", err)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, "", fmt.Errorf("--data-listen: %w", err)
	}
	tcp := l.(*net.TCPListener)
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	switch {
	case w.advertise != "":
		host = w.advertise
	case tcp.Addr().(*net.TCPAddr).IP.IsUnspecified():
		if host, err = towards(w.client.master); err != nil {
			return nil, "", errors.Join(usagef("--advertise is needed: %w", err), l.Close())
		}
	}
	return tcp, net.JoinHostPort(host, port), nil
}

// towards returns the address of this host from which packets to another one leave. Nothing is sent.
func towards(address string) (string, error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}

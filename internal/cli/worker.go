package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

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

Jobs do not run on a cluster yet: this worker registers and waits.`,
		Example: `  superstep worker --master 127.0.0.1:7700
  superstep worker --master 10.0.0.1:7700 --name w3 --site rack2 --token-file token --gossip-listen 10.0.0.3:7701 --gossip-key-file key`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return w.execute(cmd.Context()) },
	}
	cmd.Flags().SortFlags = false
	w.client.define(cmd)
	cmd.Flags().StringVar(&w.name, "name", "", "be called `NAME` (default: the host's name and the process's number)")
	cmd.Flags().StringVar(&w.site, "site", "", "a `LABEL` for where the worker is, such as a rack")
	cmd.Flags().StringVar(&w.listen, "listen", "", "the `ADDR` that other workers reach this one by, HOST:PORT; nothing listens there yet")
	threadsFlag(cmd, &w.threads)
	cmd.Flags().StringVar(&w.join, "gossip-join", "", "the gossip `ADDR` of any member, to find the master when it is elsewhere")
	w.gossip.define(cmd)
	nothing(cmd, "name", "site", "listen", "gossip-join")
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
	if w.listen != "" {
		if err := control.CheckListen(w.listen, token); err != nil {
			return usagef("--listen: %w", err)
		}
	}
	if w.name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = runtime.GOOS
		}
		w.name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	o := worker.Options{
		Master: w.client.master, Token: token, Log: w.app.logger(),
		About: &control.RegisterRequest{
			Name: w.name, Protocol: control.Protocol, Version: revision(), Cores: uint32(w.threads), Memory: uint64(max(mem.Available(), 0)),
			DataAddress: w.listen, Site: w.site, Programs: w.app.programs(),
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

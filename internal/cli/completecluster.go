package cli

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
)

// completionTime is how long a shell waits for the master before it completes nothing.
const completionTime = 300 * time.Millisecond

// ask makes a call whose answer completes a word; a master that is slow or not there completes nothing.
func (f *clientFlags) ask(cmd *cobra.Command, do func(context.Context, control.ClusterClient) error) {
	c, err := f.open(func(string) {})
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	_ = do(ctx, c.Cluster())
}

// completeJob completes the name of a job; running wants those that have not ended.
func (f *clientFlags) completeJob(running bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		return firstOf(func(string) []string {
			var all []string
			f.ask(cmd, func(ctx context.Context, c control.ClusterClient) error {
				r, err := c.ListJobs(ctx, connect.NewRequest(&control.ListJobsRequest{Ended: !running}))
				if err != nil {
					return err
				}
				for _, j := range r.Msg.Jobs {
					all = append(all, j.Id+"\t"+j.Spec.GetProgram()+" on "+graphOf(j.Spec)+", "+j.State.Word())
				}
				return nil
			})
			return all
		})(cmd, args, start)
	}
}

// graphs lists the names of the cluster's graphs, each with what it is.
func (f *clientFlags) graphs(cmd *cobra.Command) []string {
	var all []string
	f.ask(cmd, func(ctx context.Context, c control.ClusterClient) error {
		r, err := c.ListGraphs(ctx, connect.NewRequest(&control.ListGraphsRequest{}))
		if err != nil {
			return err
		}
		for _, g := range r.Msg.Graphs {
			all = append(all, g.Name+"\t"+g.Source.GetInput()+", "+g.State.Word())
		}
		return nil
	})
	return all
}

// completeCatalog completes the name of a graph of the cluster.
func (f *clientFlags) completeCatalog(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return firstOf(func(string) []string { return f.graphs(cmd) })(cmd, args, start)
}

// completeAnyGraph completes --graph: a generator, a file, or a graph of the cluster.
func (f *clientFlags) completeAnyGraph(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(start, catalogPrefix) {
		all, directive := completeGraph(cmd, args, start)
		return append(all, starting([]string{catalogPrefix + "\ta graph of the cluster"}, start)...), directive
	}
	var all []string
	for _, name := range f.graphs(cmd) {
		all = append(all, catalogPrefix+name)
	}
	return starting(all, start), cobra.ShellCompDirectiveNoFileComp
}

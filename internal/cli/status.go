package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/web"
)

// status is `superstep status`.
func (a *app) status() *cobra.Command {
	var f struct {
		clientFlags
		Workers int  `flag:"workers" range:"1.." help:"wait until {N} workers are registered"`
		Page    bool `flag:"page" help:"print only the link to the page of the cluster"`
	}
	return clientFlagsOf(&cobra.Command{
		Use:   "status --master ADDR",
		Short: "Show the state of a cluster: workers, graphs, jobs",
		Example: `  superstep status
  superstep status --workers 4 --retry-for 5m
  superstep status --master 10.0.0.1:7700 --token-file token --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.await = f.Workers
			if f.Page {
				return f.page(cmd.Context(), a)
			}
			return tell(cmd.Context(), a, &f.clientFlags, control.ClusterClient.Status,
				&control.StatusRequest{}, control.StatusText)
		},
	}, &f)
}

// page prints the link to the page of the cluster, with the user's own token if there is one.
func (f *clientFlags) page(ctx context.Context, a *app) error {
	return f.with(ctx, a, func(c *client.Client, d *progress) error {
		d.done()
		scheme := map[bool]string{true: "https", false: "http"}[c.TLS != nil]
		if err := c.Complete(c.Master()); err != nil { // the token that the master made
			return err
		}
		_, err := fmt.Fprintln(a.out, shown(web.Link(scheme+"://"+c.Master()+"/", c.Token),
			a.shared[0], ""))
		return err
	})
}

// jobs is `superstep jobs`.
func (a *app) jobs() *cobra.Command {
	var f struct {
		clientFlags
		All    bool   `flag:"all" help:"also list jobs that have ended"`
		Before string `flag:"before" help:"list only jobs that are older than {JOB}: the next of a list that has no room for all"`
	}
	return clientFlagsOf(&cobra.Command{
		Use:   "jobs --master ADDR",
		Short: "List a cluster's jobs",
		Example: `  superstep jobs
  superstep jobs --all --json
  superstep jobs --all --before 3f2a-7`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := &control.ListJobsRequest{Ended: f.All, Before: f.Before}
			text := func(l *control.ListJobsResponse) string { return control.JobsText(l, f.All) }
			return tell(cmd.Context(), a, &f.clientFlags, control.ClusterClient.ListJobs, q, text)
		},
	}, &f)
}

// cancel is `superstep cancel`.
func (a *app) cancel() *cobra.Command {
	var f struct {
		clientFlags
		Reason string `flag:"reason" help:"the reason, which the job's followers see: {TEXT}"`
	}
	return clientFlagsOf(&cobra.Command{
		Use:   "cancel JOB --master ADDR",
		Short: "Cancel a job of a cluster",
		Example: `  superstep cancel 3f2a-7
  superstep cancel 3f2a-7 --reason "wrong graph" --json`,
		Args:              exactly(1, aJob),
		ValidArgsFunction: f.completeJob(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(cmd.Context(), a, &f.clientFlags, control.ClusterClient.CancelJob,
				&control.CancelJobRequest{Id: args[0], Reason: f.Reason}, cancelled)
		},
	}, &f)
}

// drain is `superstep drain`.
func (a *app) drain() *cobra.Command {
	var f clientFlags
	return clientFlagsOf(&cobra.Command{
		Use:   "drain WORKER --master ADDR",
		Short: "Make a worker leave a cluster",
		Long: `Make a worker leave a cluster. It gets no more work, and its process ends
with status 0, as after SIGTERM.

Jobs with checkpoints (superstep master --checkpoints) take one and continue on the other workers.
Other jobs have 25 s to end; then they begin again on the other workers. The other workers load the
worker's partitions of graphs again.`,
		Example: `  superstep drain w3
  superstep drain w3 --json`,
		Args:              exactly(1, "the name of a worker"),
		ValidArgsFunction: f.completeWorker(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(cmd.Context(), a, &f, control.ClusterClient.DrainWorker,
				&control.DrainWorkerRequest{Name: args[0]},
				func(r *control.DrainWorkerResponse) string {
					var text strings.Builder
					escape.Printf(&text, "worker %s leaves\n", args[0])
					for _, id := range r.Moves {
						escape.Printf(&text, "job %s goes on without it, from a checkpoint\n", id)
					}
					for _, id := range r.Waits {
						escape.Printf(&text, "it waits for job %s\n", id)
					}
					return text.String()
				})
		},
	}, &f)
}

// cancelled describes the state of a job after a request to cancel it.
func cancelled(j *control.Job) string {
	id := escape.Text(j.Id, escape.Most)
	switch {
	case j.State == control.JobState_JOB_STATE_CANCELLED:
		return fmt.Sprintf("job %s is cancelled\n", id)
	case j.State.Ended():
		return fmt.Sprintf("job %s had ended already: it is %s\n", id, j.State.Word())
	default:
		return fmt.Sprintf("job %s is being cancelled\n", id)
	}
}

package cli

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
)

// status is `superstep status`.
func (a *app) status() *cobra.Command {
	var f clientFlags
	cmd := &cobra.Command{
		Use:   "status --master ADDR",
		Short: "Say how a cluster is: workers, graphs, jobs",
		Example: `  superstep status
  superstep status --master 10.0.0.1:7700 --token-file token --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(cmd.Context(), func(ctx context.Context, c control.ClusterClient) error {
				r, err := c.Status(ctx, connect.NewRequest(&control.StatusRequest{}))
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(a.out, r.Msg)
				}
				_, err = fmt.Fprint(a.out, control.StatusText(r.Msg))
				return err
			})
		},
	}
	f.define(cmd)
	f.defineJSON(cmd)
	return cmd
}

// jobs is `superstep jobs`.
func (a *app) jobs() *cobra.Command {
	var f clientFlags
	var ended bool
	cmd := &cobra.Command{
		Use:   "jobs --master ADDR",
		Short: "List a cluster's jobs",
		Example: `  superstep jobs
  superstep jobs --all --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(cmd.Context(), func(ctx context.Context, c control.ClusterClient) error {
				r, err := c.ListJobs(ctx, connect.NewRequest(&control.ListJobsRequest{Ended: ended}))
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(a.out, r.Msg)
				}
				_, err = fmt.Fprint(a.out, control.JobsText(r.Msg))
				return err
			})
		},
	}
	f.define(cmd)
	cmd.Flags().BoolVar(&ended, "all", false, "list jobs that have ended too")
	f.defineJSON(cmd)
	return cmd
}

// cancel is `superstep cancel`.
func (a *app) cancel() *cobra.Command {
	var f clientFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel JOB --master ADDR",
		Short: "Cancel a job of a cluster",
		Example: `  superstep cancel 3f2a-7
  superstep cancel 3f2a-7 --reason "wrong graph" --json`,
		Args:              exactly(1, aJob),
		ValidArgsFunction: f.completeJob(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(cmd.Context(), func(ctx context.Context, c control.ClusterClient) error {
				r, err := c.CancelJob(ctx, connect.NewRequest(&control.CancelJobRequest{Id: args[0], Reason: reason}))
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(a.out, r.Msg)
				}
				switch j := r.Msg; {
				case j.State == control.JobState_JOB_STATE_CANCELLED:
					_, err = fmt.Fprintf(a.out, "job %s is cancelled\n", j.Id)
				case j.State.Ended():
					_, err = fmt.Fprintf(a.out, "job %s had ended already: it is %s\n", j.Id, j.State.Word())
				default:
					_, err = fmt.Fprintf(a.out, "job %s is being cancelled\n", j.Id)
				}
				return err
			})
		},
	}
	f.define(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "say why, for those who watch the job: `TEXT`")
	f.defineJSON(cmd)
	nothing(cmd, "reason")
	return cmd
}

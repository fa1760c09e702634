package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
)

// aJob describes the argument of commands for one job.
const aJob = "a job, as superstep jobs lists them"

// watch is `superstep watch`.
func (a *app) watch() *cobra.Command {
	var f clientFlags
	var run seeFlags
	cmd := &cobra.Command{
		Use:   "watch JOB --master ADDR",
		Short: "Follow a job of a cluster until it has ended",
		Long: `Follow a job of a cluster until it has ended: its progress, the log of its
program, and its report at the end. The exit status is 0 if the job is done, and 1 if it failed or
was cancelled. After an interrupt the job continues.`,
		Example: `  superstep watch 3f2a-7
  superstep watch 3f2a-7 --trace supersteps.jsonl
  superstep watch 3f2a-7 --json | jq .record.superstep`,
		Args:              exactly(1, aJob),
		ValidArgsFunction: f.completeJob(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := run.start(a, 0)
			if err != nil {
				return err
			}
			defer seen.done()
			if seen.bars == nil && !a.all.Quiet { // no display shows the progress
				seen.every, seen.wrote = 5*time.Second, seen.now()
			}
			c, err := f.connect(cmd.Context(), seen.warn)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := writable(run.Trace); err != nil {
				return err
			}
			w := &followed{display: seen.progress, id: args[0], tell: seen.job()}
			each, at := w.event, &client.Place{}
			if f.JSON {
				each = a.printEvent
			}
			job, err := c.Wait(cmd.Context(), args[0], at, each)
			w.ended()
			if err = cmp.Or(err, seen.finish()); err != nil {
				return err
			}
			if f.JSON {
				return outcome(job)
			}
			lines := seen.meter.Lines()
			if at.Missed > 0 {
				lines = nil // they would cover only a part of the run
				if run.Trace != "" {
					seen.warn(fmt.Sprintf("the master no longer had %d events of job %s",
						at.Missed, job.Id))
				}
			}
			seen.done()
			err = outcome(job)
			switch {
			case job.Spec().Graph500 != nil:
				return cmp.Or(a.benchmarkReported(cmd.Context(), benchmark.Report(job), "", lines),
					err)
			case err != nil:
				return err
			case job.Spec().Netbench != nil:
				report, err := networkReport(cmd.Context(), c, job)
				if err != nil {
					return err
				}
				return (&netbenchCommand{app: a}).write(cmd.Context(), report)
			}
			report := &runReport{Algorithm: job.Spec().Program, Graph: graphOf(job.Spec())}
			(&remoteResult{remote: &remote{seen: seen}, job: job}).figures(report, true)
			escape.Printf(a.out, "job %s is done\n", job.Id)
			a.reported(a.reportTo(), report, lines)
			return nil
		},
	}
	f.RetryFor = waitPatience
	clientFlagsOf(cmd, &f)
	cmd.Flags().Lookup("json").Usage = "print every event as a line of JSON"
	flagsOf(cmd, &run, "http", "http-token-file", "http-linger")
	return cmd
}

// printEvent prints an event as a line of JSON.
func (a *app) printEvent(e *control.JobEvent) error {
	data, err := messageJSON(e, false)
	if err != nil {
		return err
	}
	line := map[string]any{}
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	if sent := e.GetRecord(); sent != nil { // as in traces
		if line["record"], err = control.DecodeRecord(sent); err != nil {
			return err
		}
	}
	return json.NewEncoder(a.out).Encode(line)
}

// result is `superstep result`.
func (a *app) result() *cobra.Command {
	var f struct {
		clientFlags
		Output string `flag:"output" short:"o" default:"-" help:"the {FILE}, - for standard output"`
		resultFormat
		pickFlags
	}
	cmd := &cobra.Command{
		Use:   "result JOB --master ADDR",
		Short: "Fetch the result of a job of a cluster",
		Long: `Fetch the result of a job of a cluster: a line "id value" for each vertex.
The master keeps the results of jobs with --detach, --output or --verify. superstep jobs --all
lists these jobs; --keep-results of superstep master sets how long it keeps results.`,
		Example: `  superstep result 3f2a-7 --output ranks.txt.gz
  superstep result 3f2a-7 --top 10`,
		Args:              exactly(1, aJob),
		ValidArgsFunction: f.completeJob(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			picked, err := f.pickFlags.check()
			if err == nil {
				err = writable(f.Output)
			}
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), a, func(c *client.Client, d *progress) error {
				job, err := c.Job(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if job.Spec().Values != "" {
					return fmt.Errorf(
						"job %s: only the Go program that submitted it can read its result", job.Id)
				}
				from := &remote{waiting: &waiting{client: c, display: d}}
				computed := &remoteResult{remote: from, job: job}
				// A report is JSON, whatever the name of the file.
				if job.Spec().Netbench != nil || job.Spec().Graph500 != nil {
					return a.save(cmd.Context(), f.Output, 0o666, 1, computed.write)
				}
				if err := f.resultFormat.check(f.Output); err != nil {
					return err
				}
				write, form := computed.write, computed.form(a)
				if f.wanted() {
					if write, err = picked.save(form, write); err != nil {
						return err
					}
				}
				return a.save(cmd.Context(), f.Output, 0o666, 1, f.save(f.Output, form, write))
			})
		},
	}
	f.RetryFor = waitPatience
	clientFlagsOf(cmd, &f, "json")
	return cmd
}

// logs is `superstep logs`.
func (a *app) logs() *cobra.Command {
	var f struct {
		clientFlags
		Follow bool `flag:"follow" short:"f" help:"follow the log until the job has ended"`
	}
	cmd := &cobra.Command{
		Use:   "logs JOB --master ADDR",
		Short: "Print the log of a job",
		Long: `Print the log of a job: the lines that its program logged (Logf) and the
events of the job, each with the time and the worker. The master keeps the last two thousand events
of a running job, and two hundred of a job that has ended. With --data it keeps about 256 KiB of
each job's log over a restart. A line tells where events are missing.`,
		Example: `  superstep logs 3f2a-7
  superstep logs 3f2a-7 --follow
  superstep logs 3f2a-7 --json`,
		Args:              exactly(1, aJob),
		ValidArgsFunction: f.completeJob(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			each := a.printLog
			if f.JSON {
				each = a.printLogJSON
			}
			return f.with(cmd.Context(), a, func(c *client.Client, d *progress) error {
				d.done()
				if f.Follow {
					return c.Follow(cmd.Context(), args[0], each)
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), callTimeout)
				defer cancel()
				return c.Events(ctx, args[0], each)
			})
		},
	}
	f.RetryFor = waitPatience
	clientFlagsOf(cmd, &f)
	cmd.Flags().Lookup("json").Usage = "print lines of JSON"
	return cmd
}

// logTime is the format of times in logs, in the local time zone.
const logTime = "2006-01-02 15:04:05.000"

func (a *app) printLog(e *control.JobEvent) error {
	var err error
	switch body := e.Body.(type) {
	case *control.JobEvent_Log:
		// indent further lines, so that none looks like the start of an entry
		text := strings.ReplaceAll(escape.Lines(strings.TrimRight(body.Log.Text, "\n")), "\n",
			"\n    ")
		_, err = fmt.Fprintf(a.out, "%s  %s  %s\n", e.Time.AsTime().Local().Format(logTime),
			escape.Text(body.Log.Worker, escape.Most), text)
	case *control.JobEvent_Job:
		j := body.Job
		text := j.State.Detail()
		if j.Reason != "" {
			text += ": " + j.Reason
		}
		escape.Printf(a.out, "%s  job %s  %s\n", e.Time.AsTime().Local().Format(logTime), j.Id,
			text)
	}
	return err
}

func (a *app) printLogJSON(e *control.JobEvent) error {
	if e.GetLog() == nil && e.GetJob() == nil {
		return nil
	}
	return a.printEvent(e)
}

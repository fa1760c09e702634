package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/netbench"
)

// onCluster reports whether the command line means a cluster.
func (n *netbenchCommand) onCluster() bool { return n.flags.Changed("master") || n.detach }

// fits refuses flags that make no sense where it is to be measured.
func (n *netbenchCommand) fits() error {
	if !n.onCluster() {
		if name, ok := changed(n.flags, []string{"token-file", "retry-for"}); ok {
			return usagef("--%s is of measurements on a cluster: give --master too", name)
		}
		return nil
	}
	if name, ok := changed(n.flags, []string{"json", "svg"}); ok && n.detach {
		return usagef("--detach does not wait for the report: not with --%s; superstep watch shows it later, superstep result as JSON", name)
	}
	return nil
}

// executeOnCluster submits the measurement as a job, waits for it and prints its report.
func (n *netbenchCommand) executeOnCluster(ctx context.Context, o netbench.Options) error {
	if err := n.cluster.awaited(n.flags, n.workers); err != nil {
		return err
	}
	measure := &control.Netbench{Algorithm: string(o.Algorithm), Repetitions: uint32(o.Least)}
	for _, size := range o.Sizes {
		measure.Sizes = append(measure.Sizes, uint64(size))
	}
	for _, c := range o.Collectives {
		measure.Collectives = append(measure.Collectives, string(c))
	}
	spec := &control.JobSpec{Program: control.NetbenchProgram, Netbench: measure}
	return n.cluster.wait(ctx, n.app, func(ctx context.Context, w *waiting) error { return n.together(ctx, w, spec) })
}

// together submits the job and does what follows.
func (n *netbenchCommand) together(ctx context.Context, w *waiting, spec *control.JobSpec) error {
	job, err := w.job(ctx, spec, new(followed), n.detach)
	if job == nil || err != nil {
		return err
	}
	w.display.done()
	if err := outcome(job, false); err != nil {
		return err
	}
	return n.fetch(ctx, w.client, job)
}

// fetch gets the report of a job that is done, and writes it.
func (n *netbenchCommand) fetch(ctx context.Context, c *client.Client, job *control.Job) error {
	var text bytes.Buffer
	if _, err := c.Result(ctx, job.Id, &text); err != nil {
		return err
	}
	report := new(netbench.Report)
	if err := json.Unmarshal(text.Bytes(), report); err != nil {
		return fmt.Errorf("the report of job %s: %w", job.Id, err)
	}
	if err := report.Validate(); err != nil {
		return fmt.Errorf("the report of job %s: %w", job.Id, err)
	}
	return n.write(ctx, report)
}

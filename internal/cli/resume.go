package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/store"
)

// aPlace describes the argument of commands about checkpoints.
const aPlace = "the place of checkpoints, or one of them: PLACE/checkpoint-000000120.json"

// resume is `superstep resume`.
func (a *app) resume() *cobra.Command {
	r := &runCommand{app: a}
	var f struct {
		Fork bool `flag:"fork" group:"run" help:"allow other parameters or another seed"`
	}
	cmd := &cobra.Command{
		Use:   "resume PLACE|JOB",
		Short: "Continue a run from a checkpoint",
		Long: `Continue a run from a checkpoint of superstep run --checkpoint: the one that
is named, or the newest undamaged one of a place.

The run has the same parameters and stores checkpoints as before. The graph is loaded again.
Threads, partitions and delivery may differ. Other parameters (-p) and another seed are refused
without --fork. With it this is another run: its report says so, and it stores no checkpoints
unless --checkpoint names another place. The binary may have been built again; a program whose types differ from the checkpoint's is refused. A program with a plan
continues in the phase that was running. With --master the run is a job of that cluster which
failed, was cancelled or reached its limit of supersteps.`,
		Example: `  superstep run pagerank --graph web.txt.gz -p iterations=500 --checkpoint ckpt
  superstep resume ckpt --output ranks.txt
  superstep resume ckpt/checkpoint-000000120.json --fork -p damping=0.9 --partitions 4
  superstep resume 47df-3 --master 10.0.0.1:7700 --output ranks.txt`,
		Args: exactly(1, aPlace),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.run.Fork = f.Fork
			return r.goOn(cmd.Context(), args[0])
		},
	}
	flagsOf(cmd, &r.asked, "graph", "column")
	flagsOf(cmd, &r.result)
	r.run.define(cmd, columnOf, "deterministic")
	flagsOf(cmd, &f)
	for name, usage := range map[string]string{
		"param":          "change a parameter: `KEY=VALUE`; may be repeated",
		"seed":           "another `SEED` of the random numbers that the program draws; needs --fork (default: as before)",
		"max-supersteps": "stop after `N` supersteps, counted from the start of the run (default: as before)",
	} {
		cmd.Flags().Lookup(name).Usage = usage
	}
	flagsOf(cmd, &r.run.keep)
	r.run.cluster.define(cmd)
	return cmd
}

// openPlace opens a place of checkpoints. name is the checkpoint named in it, or "".
func openPlace(place string) (s store.Store, name string, err error) {
	if base := path.Base(place); strings.HasPrefix(base, "checkpoint-") &&
		strings.HasSuffix(base, ".json") {
		place = cmp.Or(strings.TrimSuffix(strings.TrimSuffix(place, base), "/"), ".")
		name = base
	}
	s, err = store.Existing(place)
	return s, name, err
}

func (r *runCommand) goOn(ctx context.Context, place string) error {
	if r.run.cluster.wanted(r.run.flags) {
		return r.goOnThere(ctx, place)
	}
	if r.run.flags.Changed("priority") {
		return usagef("--priority is for jobs on a cluster: --master is missing")
	}
	s, name, err := openPlace(place)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: found no such directory; a job of a cluster needs --master", place)
	}
	if err != nil {
		return err
	}
	warnings := r.app.progress()
	m, err := checkpoint.Find(ctx, s, name, warnings.warn)
	warnings.done()
	if err != nil {
		return err
	}
	spec, err := resolve.Earlier(m.Job)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", s, checkpoint.ManifestName(m.Superstep), err)
	}
	if spec.Source == nil {
		return fmt.Errorf("%s/%s: the run was on graph %s of a cluster: superstep resume JOB --master continues it", s, checkpoint.ManifestName(m.Superstep), spec.Graph)
	}
	if err := r.asBefore(spec, m); err != nil {
		return err
	}
	keep := &r.run.keep
	keep.from = &checkpoint.Reader{Store: s, Manifest: m}
	if keep.Place == "" && !r.run.Fork {
		keep.Place = s.String()
	}
	if err := apart(string(r.asked.Graph), "--output", r.result.Output, "--json", r.run.JSON,
		"--trace", r.run.seeFlags.Trace); err != nil {
		return err
	}
	r.app.remark("superstep: goes on before " + m.Where())
	return r.perform(ctx, spec)
}

// goOnThere makes a cluster resume from the newest checkpoint of a job that failed, was cancelled
// or reached its limit.
func (r *runCommand) goOnThere(ctx context.Context, id string) error {
	err := r.run.place(true, "output", "output-format", "json", "save-set", "trace", "verify")
	if err != nil {
		return err
	}
	var j *control.Job
	err = r.run.cluster.with(ctx, r.app, func(c *client.Client, _ *progress) (err error) {
		j, err = c.Job(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case j.Spec().Checkpoints == "":
		return fmt.Errorf(
			"job %s has no checkpoints: superstep master --checkpoints enables them", id)
	case !j.State.Ended():
		return fmt.Errorf("job %s has not ended: superstep watch %[1]s shows it", id)
	case j.State == control.JobState_JOB_STATE_DONE && j.Complete():
		return fmt.Errorf("job %s is done, and its checkpoints are removed", id)
	}
	spec := j.Spec()
	rows, columns := spec.Rows, spec.Columns
	if err := r.asBefore(spec, &checkpoint.Manifest{}); err != nil {
		return err
	}
	if spec.Rows|spec.Columns == 0 {
		spec.Rows, spec.Columns = rows, columns
	}
	spec.KeepResult = spec.KeepResult || r.run.cluster.Detach
	spec.GoOn, spec.Checkpoints = spec.Checkpoints, ""
	spec.Inputs, spec.ColumnData = nil, nil // the checkpoint has the values
	return r.perform(ctx, spec)
}

// asBefore completes the spec of a resumed run from its flags. Unless flags say otherwise, settings
// are as in the earlier run.
func (r *runCommand) asBefore(spec *job.Spec, m *checkpoint.Manifest) error {
	spec.KeepWhen = r.run.keep.over(spec.KeepWhen, r.run.flags)
	if p := spec.KeepWhen; r.run.flags.Changed("mtbf") && (p.Every > 0 || p.Interval > 0) {
		r.app.warn("--mtbf changes nothing: --checkpoint-every says when, as before or anew")
	}
	r.asked.Graph = graphValue(graphOf(spec))
	if spec.Source != nil {
		r.input.Part = spec.Source.Within
	}
	spec.KeepResult, spec.Unsorted = r.result.Output != "" || r.result.Verify, !r.result.Sorted
	given, err := splitParameters(r.asked.Params)
	if err != nil {
		return err
	}
	if spec.Parameters == nil {
		spec.Parameters = map[string]string{}
	}
	maps.Copy(spec.Parameters, given)
	now := r.run.options()
	now.Deterministic = spec.Options.Deterministic
	if !r.run.flags.Changed("seed") {
		now.Seed = spec.Options.Seed
	}
	if !r.run.flags.Changed("max-supersteps") {
		now.MaxSupersteps = spec.Options.MaxSupersteps
	}
	if !r.run.flags.Changed("delivery") {
		now.Delivery = ""
	}
	spec.Options = now
	if !r.run.flags.Changed("partitions") && r.run.Grid == "" && !r.run.onCluster {
		if g, err := graph.ParseGrid(m.Graph.Grid); err == nil {
			spec.Rows, spec.Columns = uint32(g.Rows), uint32(g.Columns)
			return nil
		}
	}
	spec.Rows, spec.Columns, err = r.run.partitions(graph.Of)
	return err
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/keeping"
)

// checkpointFlags are the flags for checkpoints of a run in this process.
type checkpointFlags struct {
	Place string `flag:"checkpoint" group:"limits" help:"store checkpoints at {PLACE}, a directory or s3://BUCKET/PREFIX; superstep resume continues from them"`
	whenFlags
	Stay bool `flag:"keep-checkpoints" group:"limits,more" help:"keep the last checkpoints"`

	from *checkpoint.Reader // checkpoint to resume from, or nil
}

// whenFlags are the flags that determine when checkpoints are taken.
type whenFlags struct {
	Every  everyValue   `flag:"checkpoint-every" group:"limits,more" help:"take a checkpoint every {N|TIME}: every N supersteps, or every TIME, such as 30s (default: computed from the cost of a checkpoint and --mtbf)"`
	MTBF   job.Duration `flag:"mtbf" group:"limits,more" default:"24h" range:"1s.." help:"the mean {TIME} between failures; it sets the time between checkpoints where --checkpoint-every does not"`
	Strict bool         `flag:"checkpoint-strict" group:"limits,more" help:"fail when two checkpoints in a row cannot be stored; without it the run continues with a warning"`
}

// everyValue is a number of supersteps or a time.
type everyValue struct {
	steps int
	time  time.Duration
}

func (*everyValue) Type() string { return "string" }

func (e *everyValue) String() string {
	switch {
	case e.steps > 0:
		return strconv.Itoa(e.steps)
	case e.time > 0:
		return e.time.String()
	}
	return ""
}

func (e *everyValue) Set(text string) (err error) {
	*e = everyValue{}
	if e.steps, err = strconv.Atoi(text); err != nil {
		e.time, err = time.ParseDuration(text)
	}
	if err != nil || e.steps < 0 || e.steps == 0 && e.time <= 0 {
		return errors.New("expected a number of supersteps, such as 10, or a time, such as 30s")
	}
	return nil
}

// ofKeeping are the flags that require --checkpoint.
var ofKeeping = []string{"checkpoint-every", "mtbf", "checkpoint-strict", "keep-checkpoints"}

// over returns the policy before, changed by the flags that were given. nil means the default
// policy.
func (f *whenFlags) over(before *checkpoint.Policy, flags *pflag.FlagSet) *checkpoint.Policy {
	if _, ok := changed(flags, "checkpoint-every", "mtbf", "checkpoint-strict"); !ok {
		return before
	}
	var p checkpoint.Policy
	if before != nil {
		p = *before
	}
	if flags.Changed("checkpoint-every") {
		p.Every, p.Interval = f.Every.steps, f.Every.time
	}
	if flags.Changed("mtbf") {
		p.MTBF = time.Duration(f.MTBF)
	}
	if flags.Changed("checkpoint-strict") {
		p.Strict = f.Strict
	}
	return &p
}

// kept is the checkpoints of a run in this process; nil if there are none.
type kept struct {
	*keeping.Keeping
	app *app

	mu  sync.Mutex
	sum checkpointReport
}

// keep enables checkpoints for a run with these options, if requested. about is the size of the
// run's state in bytes.
func (f *checkpointFlags) keep(
	ctx context.Context, a *app, o *engine.Options, spec *job.Spec, about int64, warn func(string),
) (_ *kept, err error) {
	if f.Place == "" {
		return nil, nil
	}
	k := &kept{app: a, sum: checkpointReport{Place: f.Place}}
	if k.Keeping, err = keeping.Open(f.Place, f.Stay); err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.End(false))
		}
	}()
	var from *checkpoint.Manifest
	if f.from != nil && f.from.Store.String() == k.Store.String() {
		from = f.from.Manifest
		if o.Fork {
			return nil, usagef("--checkpoint %s: the earlier run stores its checkpoints there: a forked run needs another place", f.Place)
		}
	}
	entry, err := a.programs.Find(spec.Program)
	if err != nil {
		return nil, err
	}
	if o.Spec, err = resolve.Later(spec, true, entry.Parameters); err != nil {
		return nil, err
	}
	var when checkpoint.Policy
	if spec.KeepWhen != nil {
		when = *spec.KeepWhen
	}
	taken := new(keeping.TakenError)
	switch err := k.Begin(ctx, o, from, when, about, warn, k.add); {
	case errors.As(err, &taken) && taken.Newest != nil:
		return nil, fmt.Errorf("--checkpoint %s: %w: %s goes on from that; or name another place",
			f.Place, err, resumption(f.Place))
	case errors.As(err, &taken):
		return nil, fmt.Errorf(
			"--checkpoint %s: %w, or run superstep checkpoints remove %[1]s", f.Place, err)
	case err != nil:
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	a.interrupts.more.Store(int64(checkpoint.LeaveWithin))
	return k, nil
}

func (k *kept) add(e checkpoint.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := &k.sum; e.Failed != "" {
		r.Failed++
	} else {
		r.Taken, r.Last, r.Bytes = r.Taken+1, e.Superstep, e.Bytes
		r.Copied, r.Wrote = r.Copied+e.Copied, r.Wrote+e.Wrote
	}
}

// settle waits at the end of a run for a checkpoint that is being written, if it is still needed.
// It returns the report, or nil without checkpoints.
func (k *kept) settle(done bool) *checkpointReport {
	if k == nil {
		return nil
	}
	if err := k.Settle(done); err != nil {
		k.app.warn(err.Error())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sum := k.sum
	return &sum
}

// end stops checkpointing. It removes the checkpoints of a finished run.
func (k *kept) end(done bool) {
	if k == nil {
		return
	}
	if err := k.End(done); err != nil {
		k.app.warn(err.Error())
	}
	if k.sum.Last > 0 && !done {
		k.app.notices().say(slog.LevelInfo,
			fmt.Sprintf("superstep: %s goes on from the checkpoint before superstep %d",
				resumption(k.sum.Place), k.sum.Last))
	}
}

// resumption returns the command that resumes from a place in this process, even if the environment
// names a cluster.
func resumption(place string) string {
	command := "superstep resume " + quoted(place)
	if os.Getenv(masterVariable) != "" {
		command += " --master " + inProcess
	}
	return command
}

// checkpointReport sums up the checkpoints of a run.
type checkpointReport struct {
	Place  string  `json:"place"`
	Taken  int     `json:"taken"`
	Failed int     `json:"failed"`
	Last   int     `json:"last_superstep"` // superstep that follows the last checkpoint
	Bytes  int64   `json:"bytes"`          // of the last checkpoint
	Copied float64 `json:"copy_seconds"`   // total time that the run was stopped
	Wrote  float64 `json:"write_seconds"`  // total time in parallel with the run
}

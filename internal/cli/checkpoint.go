package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/store"
)

// checkpointFlags say where a run in this process keeps checkpoints, and when it takes them.
type checkpointFlags struct {
	place  string
	every  string
	mtbf   time.Duration
	strict bool
	stay   bool

	policy checkpoint.Policy
	// Of a run that goes on: the checkpoint, and the place of those to come if it is another.
	from *checkpoint.Reader
}

func (f *checkpointFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.place, "checkpoint", "", "store checkpoints at `PLACE`, a directory or s3://BUCKET/PREFIX; superstep resume continues from them")
	f.defineWhen(cmd)
	cmd.Flags().BoolVar(&f.stay, "keep-checkpoints", false, "do not remove the last checkpoints when the run is done")
}

// defineWhen defines when checkpoints are taken.
func (f *checkpointFlags) defineWhen(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.every, "checkpoint-every", "", "take a checkpoint every `N|TIME`: every N supersteps, or every TIME, such as 30s (default: computed from the cost of a checkpoint and --mtbf)")
	cmd.Flags().DurationVar(&f.mtbf, "mtbf", checkpoint.DefaultMTBF, "the mean `TIME` between failures; it sets the time between checkpoints")
	cmd.Flags().BoolVar(&f.strict, "checkpoint-strict", false, "fail when two checkpoints in a row cannot be stored; without it the run continues with a warning")
	nothing(cmd, "checkpoint-every", "mtbf")
}

// ofKeeping are the flags that want --checkpoint.
var ofKeeping = []string{"checkpoint-every", "mtbf", "checkpoint-strict", "keep-checkpoints"}

// check reads the flags.
func (f *checkpointFlags) check() error {
	f.policy = checkpoint.Policy{MTBF: f.mtbf, Strict: f.strict}
	if f.mtbf <= 0 {
		return usagef("--mtbf: found %v, expected a time, such as 24h", f.mtbf)
	}
	if f.every == "" {
		return nil
	}
	if n, err := strconv.Atoi(f.every); err == nil && n > 0 {
		f.policy.Every = n
		return nil
	}
	d, err := time.ParseDuration(f.every)
	if err != nil || d <= 0 {
		return usagef("--checkpoint-every: found %q, expected a number of supersteps, such as 10, or a time, such as 30s", f.every)
	}
	f.policy.Interval = d
	return nil
}

// ofJob returns what the flags say of when a job of a cluster takes checkpoints, beside what the job said before; nil leaves that to the master.
func (f *checkpointFlags) ofJob(before *control.KeepWhen, flags *pflag.FlagSet) *control.KeepWhen {
	if _, ok := changed(flags, []string{"checkpoint-every", "mtbf", "checkpoint-strict"}); !ok {
		return before
	}
	p := jobspec.Policy(before)
	if flags.Changed("checkpoint-every") || flags.Changed("mtbf") {
		p.Every, p.Interval, p.MTBF = f.policy.Every, f.policy.Interval, 0
	}
	if flags.Changed("mtbf") {
		p.MTBF = f.policy.MTBF
	}
	if flags.Changed("checkpoint-strict") {
		p.Strict = f.policy.Strict
	}
	return jobspec.KeepWhen(p)
}

// asBefore has a run that goes on take checkpoints as it did before, but for what the flags say.
func (f *checkpointFlags) asBefore(before *control.KeepWhen, flags *pflag.FlagSet) {
	if before == nil { // of a cluster's job that left it to the master
		return
	}
	p := jobspec.Policy(before)
	if flags.Changed("checkpoint-every") {
		p.Every, p.Interval = f.policy.Every, f.policy.Interval
	}
	if flags.Changed("mtbf") {
		p.MTBF = f.policy.MTBF
	}
	if flags.Changed("checkpoint-strict") {
		p.Strict = f.policy.Strict
	}
	f.policy = p
}

// kept is what keeps the checkpoints of a run.
type kept struct {
	app    *app
	flags  *checkpointFlags
	store  store.Store
	keeper *checkpoint.Keeper
	writer *checkpoint.Writer
	made   string // the directory, if there was none before

	mu     sync.Mutex
	events []checkpoint.Event
}

// keep opens the place of checkpoints, and has the run with these options keep some there; nil if that is not wanted. about is how many bytes its
// state has.
func (f *checkpointFlags) keep(ctx context.Context, a *app, o *engine.Options, spec *control.JobSpec, about int64, warn func(string)) (*kept, error) {
	if f.place == "" {
		return nil, nil
	}
	made := ""
	if _, err := os.Stat(f.place); !store.IsS3(f.place) && errors.Is(err, fs.ErrNotExist) {
		made = f.place
	}
	s, err := store.Open(f.place)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	goesOn := f.from != nil && f.from.Store.String() == s.String()
	var from *checkpoint.Manifest
	if goesOn {
		from = f.from.Manifest
		if o.Fork {
			return nil, usagef("--checkpoint %s: it has the checkpoints of the run before: name another place for those of one that is forked", f.place)
		}
	}
	owner, err := checkpoint.Owner(ctx, s, from, warn)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	if !goesOn {
		switch old, err := checkpoint.Find(ctx, s, "", func(string) {}); {
		case err == nil:
			return nil, fmt.Errorf("--checkpoint %s: it has checkpoints of %s, the newest before superstep %d: superstep resume %[1]s goes on from that; or name another place",
				f.place, old.Name(), old.Superstep)
		case !errors.Is(err, checkpoint.ErrNone):
			return nil, fmt.Errorf("--checkpoint: %w", err)
		case owner != "":
			return nil, fmt.Errorf("--checkpoint %s: another run is about to store its first checkpoint there, or has ended just then: name another place, or remove what there is by superstep checkpoints remove %[1]s", f.place)
		}
	}
	spec = proto.CloneOf(spec)
	spec.KeepWhen = jobspec.KeepWhen(f.policy)
	saved, err := jobspec.Later(spec, true)
	if err != nil {
		return nil, err
	}
	k := &kept{app: a, flags: f, store: s, made: made, writer: checkpoint.NewWriter(s, strings.ToLower(rand.Text()[:10]))}
	k.keeper = checkpoint.NewKeeper(s, f.policy, about, warn, k.add)
	if !goesOn {
		owner = rand.Text()
	}
	k.keeper.Own(owner, goesOn) // of a place of a version before that has none, nobody
	o.Parts, o.Checkpoints, o.Spec = k.writer, k.keeper, saved
	a.interrupts.more.Store(int64(checkpoint.LeaveWithin))
	return k, nil
}

func (k *kept) add(e checkpoint.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

// settle waits for the checkpoint that is on its way when a run has ended, where it is of use.
func (k *kept) settle(done bool) {
	if k == nil || done && !k.flags.stay {
		return
	}
	k.writer.Flush()
	if err := errors.Join(k.keeper.Stored(k.writer.Stored()), k.keeper.Settle()); err != nil {
		k.app.notices().say(slog.LevelWarn, err.Error())
	}
}

// end ends the keeping: of a run that is done, checkpoints go.
func (k *kept) end(done bool) {
	if k == nil {
		return
	}
	k.settle(done)
	k.writer.Close()
	k.keeper.Close(done && !k.flags.stay)
	store.Close(k.store)
	if k.made != "" {
		_ = os.Remove(k.made) // unless it has checkpoints
	}
	if last := k.last(); !done && last > 0 {
		k.app.notices().say(slog.LevelInfo, fmt.Sprintf("superstep: superstep resume %s goes on from the checkpoint before superstep %d", quoted(k.flags.place), last))
	}
}

// last is before which superstep the last checkpoint was taken, 0 if there is none.
func (k *kept) last() (superstep int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.events {
		if e.Failed == "" {
			superstep = e.Superstep
		}
	}
	return superstep
}

// report is what reports say of checkpoints, or nil.
func (k *kept) report() *checkpointReport {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &checkpointReport{Place: k.flags.place}
	for _, e := range k.events {
		if e.Failed != "" {
			r.Failed++
			continue
		}
		r.Taken, r.Last, r.Bytes = r.Taken+1, e.Superstep, e.Bytes
		r.Copied, r.Wrote = r.Copied+e.Copied, r.Wrote+e.Wrote
	}
	return r
}

// checkpointReport sums up the checkpoints of a run.
type checkpointReport struct {
	Place  string  `json:"place"`
	Taken  int     `json:"taken"`
	Failed int     `json:"failed"`
	Last   int     `json:"last_superstep"` // that comes after the last one
	Bytes  int64   `json:"bytes"`          // of the last one
	Copied float64 `json:"copy_seconds"`   // that the run stood still for all of them
	Wrote  float64 `json:"write_seconds"`  // beside the run
}

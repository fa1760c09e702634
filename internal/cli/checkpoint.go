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

	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/store"
)

// checkpointFlags say where a run in this process keeps checkpoints, and when it takes them.
type checkpointFlags struct {
	Place string `flag:"checkpoint" group:"limits" help:"store checkpoints at {PLACE}, a directory or s3://BUCKET/PREFIX; superstep resume continues from them"`
	whenFlags
	Stay bool `flag:"keep-checkpoints" group:"limits,more" help:"do not remove the last checkpoints when the run is done"`

	// Of a run that goes on: the checkpoint, and the place of those to come if it is another.
	from *checkpoint.Reader
}

// whenFlags say when checkpoints are taken.
type whenFlags struct {
	Every  string       `flag:"checkpoint-every" group:"limits,more" help:"take a checkpoint every {N|TIME}: every N supersteps, or every TIME, such as 30s (default: computed from the cost of a checkpoint and --mtbf)"`
	MTBF   job.Duration `flag:"mtbf" group:"limits,more" default:"24h" help:"the mean {TIME} between failures; it sets the time between checkpoints"`
	Strict bool         `flag:"checkpoint-strict" group:"limits,more" help:"fail when two checkpoints in a row cannot be stored; without it the run continues with a warning"`
	policy checkpoint.Policy
}

// ofKeeping are the flags that want --checkpoint.
var ofKeeping = []string{"checkpoint-every", "mtbf", "checkpoint-strict", "keep-checkpoints"}

// check reads the flags.
func (f *whenFlags) check() error {
	f.policy = checkpoint.Policy{MTBF: time.Duration(f.MTBF), Strict: f.Strict}
	if f.MTBF <= 0 {
		return usagef("--mtbf: found %v, expected a time, such as 24h", time.Duration(f.MTBF))
	}
	if f.Every == "" {
		return nil
	}
	if n, err := strconv.Atoi(f.Every); err == nil && n > 0 {
		f.policy.Every = n
		return nil
	}
	d, err := time.ParseDuration(f.Every)
	if err != nil || d <= 0 {
		return usagef("--checkpoint-every: found %q, expected a number of supersteps, such as 10, or a time, such as 30s", f.Every)
	}
	f.policy.Interval = d
	return nil
}

// ofJob returns what the flags say of when a job of a cluster takes checkpoints, beside what the job said before; nil leaves that to the master.
func (f *whenFlags) ofJob(before *checkpoint.Policy, flags *pflag.FlagSet) *checkpoint.Policy {
	if _, ok := changed(flags, []string{"checkpoint-every", "mtbf", "checkpoint-strict"}); !ok {
		return before
	}
	var p checkpoint.Policy
	if before != nil {
		p = *before
	}
	if flags.Changed("checkpoint-every") || flags.Changed("mtbf") {
		p.Every, p.Interval, p.MTBF = f.policy.Every, f.policy.Interval, 0
	}
	if flags.Changed("mtbf") {
		p.MTBF = f.policy.MTBF
	}
	if flags.Changed("checkpoint-strict") {
		p.Strict = f.policy.Strict
	}
	return &p
}

// asBefore has a run that goes on take checkpoints as it did before, but for what the flags say.
func (f *whenFlags) asBefore(before *checkpoint.Policy, flags *pflag.FlagSet) {
	if before == nil { // of a cluster's job that left it to the master
		return
	}
	p := *before
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
func (f *checkpointFlags) keep(ctx context.Context, a *app, o *engine.Options, spec *job.Spec, about int64, warn func(string)) (*kept, error) {
	if f.Place == "" {
		return nil, nil
	}
	made := ""
	if _, err := os.Stat(f.Place); !store.IsS3(f.Place) && errors.Is(err, fs.ErrNotExist) {
		made = f.Place
	}
	s, err := store.Open(f.Place)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	goesOn := f.from != nil && f.from.Store.String() == s.String()
	var from *checkpoint.Manifest
	if goesOn {
		from = f.from.Manifest
		if o.Fork {
			return nil, usagef("--checkpoint %s: it has the checkpoints of the run before: name another place for those of one that is forked", f.Place)
		}
	}
	owner, err := checkpoint.Owner(ctx, s, from, warn)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	if !goesOn {
		switch old, err := checkpoint.Find(ctx, s, "", func(string) {}); {
		case err == nil:
			return nil, fmt.Errorf("--checkpoint %s: it has checkpoints of %s, the newest before superstep %d: %s goes on from that; or name another place",
				f.Place, old.Name(), old.Superstep, resumption(f.Place))
		case !errors.Is(err, checkpoint.ErrNone):
			return nil, fmt.Errorf("--checkpoint: %w", err)
		case owner != "":
			return nil, fmt.Errorf("--checkpoint %s: another run is about to store its first checkpoint there, or has ended just then: name another place, or remove what there is by superstep checkpoints remove %[1]s", f.Place)
		}
	}
	later := *spec
	later.KeepWhen = &f.policy
	saved, err := resolve.Later(&later, true)
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
	if k == nil || done && !k.flags.Stay {
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
	k.keeper.Close(done && !k.flags.Stay)
	store.Close(k.store)
	if k.made != "" {
		_ = os.Remove(k.made) // unless it has checkpoints
	}
	if last := k.last(); !done && last > 0 {
		k.app.notices().say(slog.LevelInfo, fmt.Sprintf("superstep: %s goes on from the checkpoint before superstep %d", resumption(k.flags.Place), last))
	}
}

// resumption is the command that goes on from a place in this process, whatever the environment says.
func resumption(place string) string {
	command := "superstep resume " + quoted(place)
	if os.Getenv(masterVariable) != "" {
		command += " --master " + inProcess
	}
	return command
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
	r := &checkpointReport{Place: k.flags.Place}
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

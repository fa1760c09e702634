package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// Policy decides when checkpoints are taken.
type Policy struct {
	// Every is a number of supersteps, and Interval a time, between checkpoints. Without either the
	// interval is sqrt(2 C M) (Young 1974), where C is the cost of a checkpoint and M the mean time
	// between failures.
	Every    int           `json:"every,omitempty"`
	Interval time.Duration `json:"interval,omitempty"`
	MTBF     time.Duration `json:"mtbf,omitempty"` // 0 means DefaultMTBF
	// Keep is the number of checkpoints to keep; 0 means 2: the newest, and one more in case the
	// newest is damaged. It is not stored in a job.
	Keep int `json:"-"`
	// Strict ends the run if two checkpoints in a row fail.
	Strict bool `json:"strict,omitempty"`
}

// DefaultMTBF is the assumed mean time between failures of all of a run's machines together.
const DefaultMTBF = 24 * time.Hour

// Before the first checkpoint is measured, a vertex is assumed to take BytesOfVertex, and a process
// to store bytesASecond.
const (
	BytesOfVertex = 16
	bytesASecond  = 100e6
)

// Estimate returns the assumed time of a process's first checkpoint of a number of bytes.
func Estimate(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / bytesASecond * float64(time.Second))
}

// interval returns the time between checkpoints that each cost a time.
func (p *Policy) interval(cost time.Duration) time.Duration {
	if p.Interval > 0 {
		return p.Interval
	}
	mtbf := cmp.Or(max(p.MTBF, 0), DefaultMTBF)
	return time.Duration(math.Sqrt(2*cost.Seconds()*mtbf.Seconds()) * float64(time.Second))
}

// Keeper decides when a run's checkpoints are taken, and commits and prunes them. The goroutine
// that drives the run calls its methods. Make it with NewKeeper.
type Keeper struct {
	store store.Store
	// owner identifies the run if others may store checkpoints in the same place; "" otherwise.
	owner  string
	goesOn bool // the place had checkpoints of the run before
	policy Policy
	warn   func(string)
	news   func(Event)
	now    func() time.Time

	cost      time.Duration // of the last checkpoint, or the estimate
	last      time.Time     // when the last checkpoint began
	at        int           // the superstep after the last checkpoint
	pending   *Manifest     // the checkpoint whose parts are being stored
	missing   int
	failed    string // why the pending checkpoint fails, or ""
	row       int    // number of failures in a row
	tell      int    // number of failures in a row for the next line in the log
	asked     atomic.Bool
	until     context.Context // the context given to Linger, or nil
	orphans   []string        // parts of failed checkpoints
	committed bool
	began     int // the superstep given to Begin

	ctx    context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	result chan error // the result of the running commit; nil if there is none
}

// firstTold is the number of failures in a row after which the second line is logged. The next line
// follows after ten times as many.
const firstTold = 10

// Event is the result of a checkpoint.
type Event struct {
	Superstep int     `json:"superstep"`
	Failed    string  `json:"failed,omitempty"`
	Bytes     int64   `json:"bytes"`     // as stored
	Raw       int64   `json:"raw_bytes"` // before compression
	Copied    float64 `json:"copied"`    // seconds for which the slowest partition stopped
	Wrote     float64 `json:"wrote"`     // seconds of the slowest process, beside the run
	Interval  float64 `json:"interval"`  // seconds to the next; 0 if Every is set
}

// NewKeeper makes the keeper of a run, whose state has about this number of bytes. warn is called
// for failed checkpoints, and news for all, by any goroutine.
func NewKeeper(s store.Store, p Policy, bytes int64, warn func(string), news func(Event)) *Keeper {
	p.Keep = cmp.Or(max(p.Keep, 0), 2)
	k := &Keeper{store: s, policy: p, warn: warn, news: news, now: time.Now, tell: firstTold}
	k.cost = Estimate(bytes)
	k.ctx, k.end = context.WithCancel(context.Background())
	return k
}

// Own is called before the run begins if other runs may use the same empty place. Then only one of
// them can store checkpoints there. run is unique for each run; a run that continues in the place
// uses the value that Owner returns, with goesOn set.
func (k *Keeper) Own(run string, goesOn bool) { k.owner, k.goesOn = run, goesOn }

// Begin sets the first superstep of the run: 0, or that of the checkpoint it continues from.
func (k *Keeper) Begin(superstep int) {
	k.last, k.at, k.began, k.pending, k.row = k.now(), superstep, superstep, nil, 0
}

// Ask requests a checkpoint before the next superstep. If an earlier checkpoint is still being
// stored, the requested one follows it. Any goroutine may call it.
func (k *Keeper) Ask() { k.asked.Store(true) }

// LeaveWithin is the time that a run has, after its context has ended, to finish the superstep and
// store a last checkpoint.
const LeaveWithin = 20 * time.Second

// Linger returns a context for the run that ends at most LeaveWithin after ctx. When ctx has ended,
// the state before the next superstep is saved; then the run ends (see Left). The caller must call
// release after the run. If k is nil, the context is ctx.
func (k *Keeper) Linger(ctx context.Context) (run context.Context, release func()) {
	if k == nil {
		return ctx, func() {}
	}
	k.until = ctx
	run, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(LeaveWithin, func() { end(context.Cause(ctx)) })
	})
	return run, func() {
		stop()
		end(nil)
	}
}

// Left returns the reason for the run to end, once ctx of Linger has ended, else nil. k may be nil.
func (k *Keeper) Left() error {
	if k == nil || k.until == nil || k.until.Err() == nil {
		return nil
	}
	return context.Cause(k.until)
}

// Due reports whether to save the state before a superstep.
func (k *Keeper) Due(superstep int) bool {
	if k.pending != nil || superstep <= k.at {
		return false
	}
	return k.asked.Swap(false) || k.Left() != nil || k.wanted(superstep) ||
		k.policy.Every == 0 && k.now().Sub(k.last) >= k.policy.interval(k.cost)
}

// wanted reports whether the user requested the state before a superstep, by number or time.
func (k *Keeper) wanted(superstep int) bool {
	p := &k.policy
	return p.Every > 0 && superstep-k.at >= p.Every || p.Interval > 0 &&
		k.now().Sub(k.last) >= p.Interval
}

// Awaited reports whether the checkpoint that is being stored must be finished before a superstep,
// because another one is requested, or because the run ends.
func (k *Keeper) Awaited(superstep int) bool {
	return k.pending != nil && (k.Left() != nil || k.wanted(superstep))
}

// Await waits for the running commit, if there is one, and handles its result.
func (k *Keeper) Await(ctx context.Context) error {
	if k.result == nil {
		return nil
	}
	select {
	case err := <-k.result:
		k.result = nil
		return k.ended(err)
	case <-ctx.Done():
		return nil
	}
}

// Expect records that the partitions save their states for a checkpoint. m is its manifest without
// the parts.
func (k *Keeper) Expect(m *Manifest, partitions int) {
	m.Parts = make([]Stored, partitions)
	for i := range m.Parts {
		m.Parts[i].Partition = -1
	}
	k.pending, k.missing, k.failed = m, partitions, ""
	k.last, k.at = k.now(), m.Superstep
}

// Stored takes the partitions' results of storing parts. It returns an error if the run must not
// continue without checkpoints.
func (k *Keeper) Stored(all []Stored) error {
	for _, s := range all {
		m := k.pending
		if m == nil || s.Superstep != m.Superstep || s.Partition < 0 ||
			s.Partition >= len(m.Parts) || m.Parts[s.Partition].Partition >= 0 {
			continue
		}
		m.Parts[s.Partition] = s
		m.Graph.Print += s.Print
		if s.Failed != "" && k.failed == "" {
			k.failed = fmt.Sprintf("partition %d: %s", s.Partition, s.Failed)
		}
		if k.missing--; k.missing > 0 {
			continue
		}
		if k.failed != "" {
			return k.ended(fmt.Errorf("%s", k.failed))
		}
		k.result = make(chan error, 1)
		result := k.result
		k.work.Go(func() {
			ctx, cancel := context.WithTimeout(k.ctx, StoreWithin)
			defer cancel()
			result <- k.commit(ctx, m)
		})
	}
	select {
	case err := <-k.result:
		k.result = nil
		return k.ended(err)
	default:
		return nil
	}
}

// commit makes stored parts a checkpoint, unless the place belongs to another run.
func (k *Keeper) commit(ctx context.Context, m *Manifest) error {
	if k.owner != "" {
		if err := claim(ctx, k.store, k.owner, m); err != nil {
			return err
		}
	}
	return commit(ctx, k.store, m)
}

// Settle waits for the running commit, if there is one, as long as a store may take for one answer,
// and handles its result.
func (k *Keeper) Settle() error {
	if k.result == nil {
		return nil
	}
	defer time.AfterFunc(closeWithin, k.end).Stop()
	return k.Await(context.Background())
}

// ended handles the result of the pending checkpoint.
func (k *Keeper) ended(err error) error {
	m := k.pending
	k.pending = nil
	e := Event{Superstep: m.Superstep}
	for _, s := range m.Parts {
		e.Bytes, e.Raw = e.Bytes+s.Bytes, e.Raw+s.Raw
		e.Copied, e.Wrote = max(e.Copied, s.Copied), max(e.Wrote, s.Wrote)
	}
	if err != nil {
		e.Failed = err.Error()
		k.row++
		for _, p := range m.Parts {
			if p.Failed == "" {
				k.orphans = append(k.orphans, p.Name)
			}
		}
		k.news(e)
		if k.row == 1 {
			k.warn(fmt.Sprintf("the checkpoint before superstep %d was not stored, and the run goes on: %v", m.Superstep, err))
		} else if k.row >= k.tell {
			k.warn(fmt.Sprintf("%d checkpoints in a row were not stored, the last before superstep %d: %v", k.row, m.Superstep, err))
			k.tell *= 10
		}
		if k.policy.Strict && k.row > 1 {
			return fmt.Errorf(
				"two checkpoints in a row were not stored, the last one because of: %w", err)
		}
		return nil
	}
	if k.row > 1 {
		k.warn(fmt.Sprintf("checkpoints are stored again, since the one before superstep %d; %d in a row were not", m.Superstep, k.row))
	}
	k.row, k.tell, k.committed = 0, firstTold, true
	k.cost = time.Duration((e.Copied + e.Wrote) * float64(time.Second))
	if k.policy.Every == 0 {
		e.Interval = k.policy.interval(k.cost).Seconds()
	}
	k.news(e)
	before := m.Superstep
	k.work.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, StoreWithin)
		defer cancel()
		if err := Prune(ctx, k.store, k.policy.Keep, before, false); err != nil &&
			k.ctx.Err() == nil {
			k.warn(fmt.Sprintf("older checkpoints were not removed: %v", err))
		}
	})
	return nil
}

// Close ends the keeper. It waits for a manifest that is being stored, because an abandoned request
// could take effect after everything else was removed. If the run is done, it removes all
// checkpoints of the run, because nothing will continue from them. It also removes what a run has
// left that owns the place and has stored no checkpoint: the owner object and parts.
func (k *Keeper) Close(done bool) {
	_ = k.Settle() // ignore the error: the run has ended for other reasons
	k.end()
	k.work.Wait()
	if !done && (k.owner == "" || k.goesOn || k.committed || k.began > 0) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := k.clear(ctx); err != nil {
		k.warn(fmt.Sprintf("the checkpoints of the ended run were not removed: %v", err))
	}
}

// clear removes the checkpoints of this run, and of no other run.
func (k *Keeper) clear(ctx context.Context) error {
	if k.owner == "" {
		return Prune(ctx, k.store, 0, math.MaxInt, false)
	}
	now, err := ownerOf(ctx, k.store)
	if err != nil {
		return err
	}
	if now.Run == k.owner {
		return Prune(ctx, k.store, 0, math.MaxInt, false)
	}
	for _, name := range k.orphans {
		if err := k.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Abandon ends the keeper at once. A checkpoint that is being stored is not committed, unless its
// manifest is stored already.
func (k *Keeper) Abandon() {
	k.end()
	k.work.Wait()
}

// closeWithin is the longest time that the end of a run waits for its store.
const closeWithin = 20 * time.Second

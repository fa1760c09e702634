package checkpoint

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// Policy says when checkpoints are taken.
type Policy struct {
	// Every is after how many supersteps, Interval after how long. Without either it is after the
	// interval of Young (1974), sqrt(2 C M), of what a checkpoint costs, C, and the mean time
	// between failures, M.
	Every    int           `json:"every,omitempty"`
	Interval time.Duration `json:"interval,omitempty"`
	MTBF     time.Duration `json:"mtbf,omitempty"` // 0 is DefaultMTBF
	// Keep is how many checkpoints are kept; 0 is 2: the newest, and one in case it turns out to be
	// broken. Nobody else says it.
	Keep int `json:"-"`
	// Strict ends the run when two checkpoints in a row fail.
	Strict bool `json:"strict,omitempty"`
}

// DefaultMTBF is the mean time between failures that is assumed of a run's machines together.
const DefaultMTBF = 24 * time.Hour

// Before a checkpoint of a run was measured, a vertex is assumed to have BytesOfVertex in it, and a
// process to store so many bytes a second.
const (
	BytesOfVertex = 16
	bytesASecond  = 100e6
)

// Estimate is what a first checkpoint of a process is assumed to cost, of so many bytes.
func Estimate(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / bytesASecond * float64(time.Second))
}

// interval returns the time from one checkpoint to the next, when one costs so much.
func (p *Policy) interval(cost time.Duration) time.Duration {
	if p.Interval > 0 {
		return p.Interval
	}
	mtbf := p.MTBF
	if mtbf <= 0 {
		mtbf = DefaultMTBF
	}
	return time.Duration(math.Sqrt(2*cost.Seconds()*mtbf.Seconds()) * float64(time.Second))
}

// Keeper decides when a run's checkpoints are taken, and commits and prunes them. It belongs to
// whoever drives the run, whose goroutine calls its methods. Make it with NewKeeper.
type Keeper struct {
	store store.Store
	// The run, where others may keep checkpoints in the place, too; "" where none does.
	owner  string
	goesOn bool // the place had checkpoints of the run before
	policy Policy
	warn   func(string)
	news   func(Event)
	now    func() time.Time

	cost      time.Duration // of the last checkpoint, or the estimate
	last      time.Time     // when the last one began
	at        int           // before which superstep
	pending   *Manifest     // whose parts are awaited
	missing   int
	failed    string // why the pending one will not be
	row       int    // failures in a row
	tell      int    // after how many in a row the next line says so
	asked     atomic.Bool
	until     context.Context // of Linger, or nil
	orphans   []string        // parts of checkpoints that failed
	committed bool
	began     int // Begin's superstep

	ctx    context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	result chan error // of the commit under way, nil if none is
}

// firstTold is after how many failures in a row the line about the first one is followed by another
// one; ten times as many have the next.
const firstTold = 10

// Event is what happened to a checkpoint.
type Event struct {
	Superstep int     `json:"superstep"`
	Failed    string  `json:"failed,omitempty"`
	Bytes     int64   `json:"bytes"`     // as stored
	Raw       int64   `json:"raw_bytes"` // before compression
	Copied    float64 `json:"copied"`    // seconds that the slowest partition stood still
	Wrote     float64 `json:"wrote"`     // seconds, beside the run, of the slowest process about
	Interval  float64 `json:"interval"`  // seconds to the next one, 0 if it goes by supersteps
}

// NewKeeper makes the keeper of a run. estimate is how many bytes its state has, about; warn is
// told of checkpoints that failed, and news of all, by any goroutine.
func NewKeeper(s store.Store, p Policy, estimate int64, warn func(string), news func(Event)) *Keeper {
	if p.Keep <= 0 {
		p.Keep = 2
	}
	k := &Keeper{store: s, policy: p, warn: warn, news: news, now: time.Now, tell: firstTold}
	k.cost = Estimate(estimate)
	k.ctx, k.end = context.WithCancel(context.Background())
	return k
}

// Own says that other runs may find the place empty, too: then it has the checkpoints of one of
// them alone. run is another one for each, and the same, by Owner, for one that goes on in the
// place, which had checkpoints before. It is called before the run begins.
func (k *Keeper) Own(run string, goesOn bool) { k.owner, k.goesOn = run, goesOn }

// Begin says that the run begins before a superstep: 0, or that of the checkpoint from which it
// goes on.
func (k *Keeper) Begin(superstep int) {
	k.last, k.at, k.began, k.pending, k.row = k.now(), superstep, superstep, nil, 0
}

// Ask has the state before the next superstep saved, whenever the next checkpoint is due; if one is
// on its way, the state after it. Any goroutine may call it.
func (k *Keeper) Ask() { k.asked.Store(true) }

// LeaveWithin is how long a run may take, when its context has ended, to come to the next superstep
// and to leave a checkpoint.
const LeaveWithin = 20 * time.Second

// Linger returns a context for the run, which ends LeaveWithin after ctx at the latest. When ctx
// has ended, the state before the next superstep is saved; then the run ends, as Left says. Call
// release when it has. k may be nil: then the context is ctx.
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

// Left returns why the run is to end, once the context of Linger has ended; else nil. k may be nil.
func (k *Keeper) Left() error {
	if k == nil || k.until == nil || k.until.Err() == nil {
		return nil
	}
	return context.Cause(k.until)
}

// Due reports whether the state before a superstep is to be saved.
func (k *Keeper) Due(superstep int) bool {
	if k.pending != nil || superstep <= k.at {
		return false
	}
	if k.asked.Swap(false) || k.Left() != nil || k.wanted(superstep) {
		return true
	}
	return k.policy.Every == 0 && k.now().Sub(k.last) >= k.policy.interval(k.cost)
}

// wanted reports whether the user asked for the state before a superstep, by number or time.
func (k *Keeper) wanted(superstep int) bool {
	p := &k.policy
	return p.Every > 0 && superstep-k.at >= p.Every || p.Interval > 0 &&
		k.now().Sub(k.last) >= p.Interval
}

// Awaited reports whether a checkpoint that is on its way must be stored before a superstep, as
// another one is asked for, or the run ends.
func (k *Keeper) Awaited(superstep int) bool {
	return k.pending != nil && (k.Left() != nil || k.wanted(superstep))
}

// Await waits for the commit that is under way, if there is one, and takes how it ended.
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

// Expect says that the partitions save their states for a checkpoint, of which m has all but the
// parts.
func (k *Keeper) Expect(m *Manifest, partitions int) {
	m.Parts = make([]Stored, partitions)
	for i := range m.Parts {
		m.Parts[i].Partition = -1
	}
	k.pending, k.missing, k.failed = m, partitions, ""
	k.last, k.at = k.now(), m.Superstep
}

// Stored takes what partitions report of their parts. It returns an error if the run must not go on
// without checkpoints.
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

// commit makes stored parts a checkpoint, if the place has none of another run.
func (k *Keeper) commit(ctx context.Context, m *Manifest) error {
	if k.owner != "" {
		if err := claim(ctx, k.store, k.owner, m); err != nil {
			return err
		}
	}
	return commit(ctx, k.store, m)
}

// Settle waits for the commit that is under way, if there is one, for as long as a store may take
// to answer once, and takes how it ended.
func (k *Keeper) Settle() error {
	if k.result == nil {
		return nil
	}
	defer time.AfterFunc(closeWithin, k.end).Stop()
	return k.Await(context.Background())
}

// ended takes how the pending checkpoint ended.
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
			return fmt.Errorf("two checkpoints in a row were not stored, the last one because of: %w", err)
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
			k.warn(fmt.Sprintf("older checkpoints stay: %v", err))
		}
	})
	return nil
}

// Close ends the keeper. It waits for a manifest that is on its way: a request that is given up may
// have its effect later, when all else is removed. Where the run is done, nothing is to go on from,
// and all its checkpoints are removed; so is what a run has left that owns the place and has stored
// none.
func (k *Keeper) Close(done bool) {
	_ = k.Settle() // the run has ended: it goes on or not for other reasons
	k.end()
	k.work.Wait()
	if !done && (k.owner == "" || k.goesOn || k.committed || k.began > 0) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := k.clear(ctx); err != nil {
		k.warn(fmt.Sprintf("the checkpoints of the run, of which none is of use any more, stay: %v",
			err))
	}
}

// clear removes the checkpoints of the run, and nothing of another one.
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

// Abandon ends the keeper at once. A checkpoint that is on its way does not come to be, unless its
// manifest is stored already.
func (k *Keeper) Abandon() {
	k.end()
	k.work.Wait()
}

// closeWithin is how long the end of a run waits for its store.
const closeWithin = 20 * time.Second

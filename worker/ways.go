package worker

import (
	"maps"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// way is what was measured to one of them, and what TCP took there and back then.
type way struct {
	collective.Pair
	name      string
	at        time.Time
	roundTrip time.Duration
}

// strayed bounds what traffic makes of a measurement: a receiver that is held up reads what lies in
// memory, and links that others use are slow.
const strayed = 4

// now is what a message takes after what traffic has shown since: a byte as long as real ones took,
// and the way longer or shorter by what TCP's acknowledgements take longer or shorter.
func (w way) now(seen mesh.Seen) (p collective.Pair, refreshed bool) {
	p = w.Pair
	if seen.PerByte > 0 {
		p.Alpha = min(max(seen.PerByte, p.Alpha/strayed), p.Alpha*strayed)
		refreshed = true
	}
	if seen.RoundTrip > 0 && w.roundTrip > 0 {
		p.Beta = max(p.Beta+(seen.RoundTrip-w.roundTrip).Seconds()/2, p.Gap)
		refreshed = true
	}
	return p, refreshed
}

// mostWays bounds how many ways the master is told of, often how often it is.
const (
	mostWays = 256
	often    = 5 * time.Second
)

// table is what is known of the ways to other workers, for people.
func (n *network) table(seen func(name string) mesh.Seen) (all []*control.Way) {
	n.mu.Lock()
	newest := map[string]way{} // of a worker's incarnations
	for _, w := range n.ways {
		if w.at.After(newest[w.name].at) {
			newest[w.name] = w
		}
	}
	n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		w := newest[name]
		p, refreshed := w.now(seen(name))
		if len(all) < mostWays {
			all = append(all, &control.Way{
				Worker: name, BytesPerSecond: 1 / max(p.Alpha, 1e-12), DelaySeconds: p.Beta,
				AgeSeconds: time.Since(w.at).Seconds(), Traffic: refreshed,
			})
		}
	}
	return all
}

// stalls is by how much heartbeats have come late: because the process waits for pages of memory,
// or was stopped.
type stalls struct {
	last, at time.Time // of the last one, and of the latest in the last minute
	latest   time.Duration
}

// beat notes a heartbeat, and returns by how much one came late in the last minute, at most.
func (s *stalls) beat(now time.Time, every time.Duration) time.Duration {
	late := time.Duration(0)
	if !s.last.IsZero() {
		late = max(now.Sub(s.last)-every, 0)
	}
	s.last = now
	if late >= s.latest || now.Sub(s.at) > time.Minute {
		s.latest, s.at = late, now
	}
	return s.latest
}

// pulse makes a heartbeat, which now and then says what the network is like.
func (s *session) pulse() *control.Heartbeat {
	now := s.Now()
	h := &control.Heartbeat{
		MemoryUsed: memoryUsed(), Budget: budgetOf(mem.Process()),
		StalledMilliseconds: uint32(s.stalls.beat(now, s.heartbeat).Milliseconds()),
	}
	if now.Sub(s.told) >= often {
		s.told = now
		h.Ways = s.executor.network.table(s.executor.seen)
	}
	return h
}

// budgetOf is how the master is told of a budget of memory; nil without one.
func budgetOf(b *mem.Budget) *control.Budget {
	if b == nil {
		return nil
	}
	use := b.Use()
	all := &control.Budget{
		Limit: uint64(use.Limit), Arrays: uint64(use.Memory), Heap: uint64(use.Heap),
		Spilled: uint64(use.Spilled), Free: uint64(b.Free()), Room: uint64(b.Room()),
		Files: uint64(b.Files()),
	}
	for _, k := range use.Kinds {
		all.Kinds = append(all.Kinds,
			&control.BudgetKind{Kind: k.Kind, Memory: uint64(k.Memory), Spilled: uint64(k.Spilled)})
	}
	return all
}

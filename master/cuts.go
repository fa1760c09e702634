package master

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// pair is a pair of workers, sorted by name.
type pair struct{ a, b string }

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

func (p pair) compare(q pair) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) }

// probeEvery is how often a master checks whether disconnected workers can connect again.
const probeEvery = 2 * time.Second

// cut notes that two workers cannot connect. One of them gets no work until a probe succeeds.
func (c *cluster) cut(now time.Duration, a, b string) {
	v, w := c.workers[a], c.workers[b]
	if a == b || v == nil || w == nil || !v.live() || !w.live() || c.cuts[pairOf(a, b)] {
		return
	}
	c.cuts[pairOf(a, b)] = true
	c.probed = now
	c.exclude()
}

// mended notes that two workers can connect again.
func (c *cluster) mended(now time.Duration, a, b string) {
	if c.cuts[pairOf(a, b)] {
		delete(c.cuts, pairOf(a, b))
		c.exclude()
		c.schedule(now)
	}
}

// mendAll removes the cuts of a worker that left or was lost.
func (c *cluster) mendAll(name string) {
	maps.DeleteFunc(c.cuts, func(p pair, _ bool) bool { return p.a == name || p.b == name })
	c.exclude()
}

// exclude chooses workers to exclude from work, so that all others can connect to each other. It
// first excludes workers without a session: they get no work anyway, and probably lost their
// network. Then it excludes the worker with the most cuts; ties go to the one registered last.
func (c *cluster) exclude() {
	for _, w := range c.workers {
		w.excluded = ""
	}
	left := maps.Clone(c.cuts)
	for len(left) > 0 {
		cuts := map[string]int{}
		for p := range left {
			cuts[p.a]++
			cuts[p.b]++
		}
		worst := slices.MaxFunc(slices.Collect(maps.Keys(cuts)), func(a, b string) int {
			v, w := c.workers[a], c.workers[b]
			return cmp.Or(cmp.Compare(oneIf(w.attached), oneIf(v.attached)),
				cmp.Compare(cuts[a], cuts[b]), cmp.Compare(v.incarnation, w.incarnation),
				cmp.Compare(a, b))
		})
		for _, p := range slices.SortedFunc(maps.Keys(left), pair.compare) {
			if p.a != worst && p.b != worst {
				continue
			}
			delete(left, p)
			w, before, other := c.workers[worst], "no connection to worker ", p.a
			if w.excluded != "" {
				before = ", "
			}
			if other == worst {
				other = p.b
			}
			w.excluded += before + other
		}
	}
}

// probeCuts requests a probe of each cut, every probeEvery.
func (c *cluster) probeCuts(now time.Duration) {
	if len(c.cuts) == 0 || now < c.probed+probeEvery {
		return
	}
	c.probed = now
	for _, p := range slices.SortedFunc(maps.Keys(c.cuts), pair.compare) {
		c.emit(probe{p})
	}
}

// cutIn finds two workers of placements that cannot connect to each other.
func (c *cluster) cutIn(placements []*control.Placement) (a, b string, found bool) {
	for p := range c.cuts {
		if uses(placements, p.a) && uses(placements, p.b) && (!found || p.compare(pair{a, b}) < 0) {
			a, b, found = p.a, p.b, true
		}
	}
	return a, b, found
}

// examine asks two workers which peers they can reach and passes the result to the state machine.
// It does nothing if a probe of this pair is running. The caller holds the lock.
func (s *server) examine(p pair) {
	a, b := s.sessions[p.a], s.sessions[p.b]
	if a == nil || b == nil || s.examined[p] {
		return
	}
	s.examined[p] = true
	var peers []*control.Placement
	for _, w := range byName(s.cluster.workers) {
		if w.live() && w.attached {
			peers = append(peers, &control.Placement{
				Worker: w.name, Address: w.about.DataAddress, Incarnation: w.incarnation,
			})
		}
	}
	probe := &control.Command_Probe{Probe: &control.Probe{Peers: peers}}
	s.spawn(func() {
		ctx, cancel := context.WithTimeout(s.ctx, cleanUp)
		defer cancel()
		var reports [2]*control.ProbeReport
		var both sync.WaitGroup
		for i, w := range []*session{a, b} {
			both.Go(func() {
				r, err := w.do(ctx, &control.Command{Body: probe}, nil, nil)
				if err == nil && r.Failure == nil {
					reports[i] = r.GetProbe()
				}
			})
		}
		both.Wait()
		s.event(func() { s.findings(p, reports) })
	})
}

// findings updates cuts from the probe reports of two workers. The caller holds the lock.
func (s *server) findings(p pair, reports [2]*control.ProbeReport) {
	delete(s.examined, p)
	now := s.now()
	for i, from := range []string{p.a, p.b} {
		for _, to := range reports[i].GetUnreachable() {
			if !s.cluster.cuts[pairOf(from, to)] {
				s.log.Warn("no connection", "from", from, "to", to)
			}
			s.cluster.cut(now, from, to)
		}
	}
	there := func(r *control.ProbeReport, name string) bool {
		return r != nil && !slices.Contains(r.Unreachable, name)
	}
	if there(reports[0], p.b) && there(reports[1], p.a) {
		s.cluster.mended(now, p.a, p.b)
	}
}

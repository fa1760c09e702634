package master

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/control"
)

// examine asks two workers whom they reach, and tells the state machine. While it does, it is not asked again. The lock is held.
func (s *Server) examine(p pair) {
	a, b := s.sessions[p.a], s.sessions[p.b]
	if a == nil || b == nil || s.examined[p] {
		return
	}
	s.examined[p] = true
	var peers []*control.Placement
	for _, name := range slices.Sorted(maps.Keys(s.cluster.workers)) {
		if w := s.cluster.workers[name]; w.live() && w.attached {
			peers = append(peers, &control.Placement{Worker: name, Address: w.about.DataAddress, Incarnation: w.incarnation})
		}
	}
	s.spawn(func() {
		ctx, cancel := context.WithTimeout(s.ctx, cleanUp)
		defer cancel()
		var reports [2]*control.ProbeReport
		var both sync.WaitGroup
		for i, w := range []*session{a, b} {
			both.Go(func() {
				c := &control.Command{Body: &control.Command_Probe{Probe: &control.Probe{Peers: peers}}}
				if r, err := w.do(ctx, c, func(*control.Report) error { return nil }, nil); err == nil && r.Failure == nil {
					reports[i] = r.GetProbe()
				}
			})
		}
		both.Wait()
		s.event(func() { s.findings(p, reports) })
	})
}

// findings takes what two workers say of whom they reach. The lock is held.
func (s *Server) findings(p pair, reports [2]*control.ProbeReport) {
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

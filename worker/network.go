package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// network has this worker's measurements of the network. Workers measure when they load a graph
// together for the first time, or if the last measurement is old. Collective operations and the
// delivery of messages depend on it.
type network struct {
	mu     sync.Mutex
	models map[string]*measured // by places.key
	ways   map[string]way       // from this worker to others
}

// measured is a model that the first worker of the group has sent to all.
type measured struct {
	model *collective.Model
	at    time.Time
}

const (
	// measuredFor is how long a measurement stays valid. Links and their load change.
	measuredFor = 10 * time.Minute
	// measureTimeout bounds a measurement, which takes a few milliseconds per worker on a local
	// network.
	measureTimeout = time.Minute
	// mostModels bounds the sets of workers with a stored model.
	mostModels = 16
	// windowsShare is the inverse of the fraction of the memory available at the start that may be
	// used to widen the windows of all connections.
	windowsShare = 16
)

// calibration has the messages of a measurement: some hundred per pair of workers, two megabytes.
var calibration = collective.Calibration{Largest: 128 << 10, Repeat: 4}

// places are the workers of a group, by rank.
type places struct {
	layout mesh.Layout
	labels []string // labels of their sites
}

func placesOf(placements []*control.Placement) places {
	p := places{layout: mesh.Layout{Owner: make([]int, len(placements))}}
	index := map[string]int{}
	for _, at := range placements {
		i, ok := index[at.Worker]
		if !ok {
			i = len(p.labels)
			index[at.Worker] = i
			p.layout.Workers = append(p.layout.Workers,
				mesh.Peer{Name: at.Worker, Addr: at.Address, Incarnation: at.Incarnation})
			p.labels = append(p.labels, at.Site)
		}
		p.layout.Owner[at.Partition] = i
	}
	return p
}

// oneMachine reports whether all workers have addresses of one host.
func (p *places) oneMachine() bool {
	host := func(w mesh.Peer) string { return w.Addr[:strings.LastIndexByte(w.Addr, ':')+1] }
	return !slices.ContainsFunc(p.layout.Workers,
		func(w mesh.Peer) bool { return host(w) != host(p.layout.Workers[0]) })
}

// names returns the names of the workers.
func (p *places) names() []string {
	names := make([]string, len(p.layout.Workers))
	for rank, w := range p.layout.Workers {
		names[rank] = w.Name
	}
	return names
}

// key identifies the set of workers with their incarnations.
func (p *places) key() string {
	var text strings.Builder
	for _, w := range p.layout.Workers {
		text.WriteString(keyOf(w))
	}
	return text.String()
}

func keyOf(w mesh.Peer) string { return fmt.Sprintf("%q %d,", w.Name, w.Incarnation) }

// group makes a group of the workers of a link, with their sites.
func (p *places) group(link collective.Link) (*collective.Group, error) {
	m := collective.Uniform(link.Size(), collective.Unmeasured)
	if len(p.labels) == link.Size() {
		m.Sites = sitesOf(p.labels)
	}
	return collective.NewGroup(link, m, nil)
}

// calibrate makes a group use the first worker's model of the network. All workers of the group
// call it. They measure if the first worker has no recent model.
func (x *executor) calibrate(
	ctx context.Context, g *collective.Group, p *places, tag uint32,
) error {
	if g.Link().Size() == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	n, key := &x.network, p.key()
	known := n.find(key)
	var model *collective.Model
	data, err := json.Marshal(known)
	if err == nil {
		data, err = g.Broadcast(ctx, collective.Call{Tag: tag}, 0, data)
	}
	if err == nil {
		err = json.Unmarshal(data, &model)
	}
	if err == nil && model == nil {
		known = nil
		o := calibration
		o.Tag, o.Sites = tag, g.Model().Sites
		model, err = collective.Calibrate(ctx, g.Link(), o)
	}
	if err != nil {
		return fmt.Errorf("measuring the network: %w", err)
	}
	if known == nil {
		n.keep(key, p, g.Link().Rank(), model, x.seen)
		cost := n.cost(x.options.Name, p.layout.Workers, x.seen)
		x.options.Log.Info("measured the network", "workers", g.Link().Size(), "latency",
			seconds(cost.Beta), "gap", seconds(cost.Gap), "bytes_per_second",
			int64(1/max(cost.Alpha, 1e-12)))
	}
	x.expect(p, g.Link().Rank(), model)
	return g.Adopt(model)
}

// expect passes the round-trip times and bandwidths from other workers to the mesh, which sizes
// their windows by them.
func (x *executor) expect(p *places, self int, model *collective.Model) {
	m, err := x.registeredMesh()
	if err != nil {
		return
	}
	for rank, w := range p.layout.Workers {
		if rank == self {
			continue
		}
		pair, rate := model.Pair(rank, self), 0.
		if pair.Alpha > 0 {
			rate = 1 / pair.Alpha
		}
		m.Expect(w.Name, seconds(2*pair.Beta), rate)
	}
}

// find returns the model of a set of workers, if it is recent.
func (n *network) find(key string) *collective.Model {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.models[key]; m != nil && time.Since(m.at) < measuredFor {
		return m.model
	}
	return nil
}

// keep stores a measurement.
func (n *network) keep(
	key string, p *places, self int, model *collective.Model, seen func(name string) mesh.Seen,
) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.models == nil || len(n.models) >= mostModels {
		n.models, n.ways = map[string]*measured{}, map[string]way{}
	}
	now := time.Now()
	n.models[key] = &measured{model, now}
	for rank, w := range p.layout.Workers {
		if rank != self {
			n.ways[keyOf(w)] = way{model.Pair(self, rank), w.Name, now, seen(w.Name).RoundTrip}
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// seen returns what the mesh has measured on traffic from a worker.
func (x *executor) seen(name string) mesh.Seen {
	m, err := x.registeredMesh()
	if err != nil {
		return mesh.Seen{}
	}
	return m.Seen(name)
}

// cost returns the cost of a frame from this worker to a typical other one: the mean time per byte
// and gap, and the maximum latency. For workers without a measurement it assumes a fast local
// network.
func (n *network) cost(
	self string, workers []mesh.Peer, seen func(name string) mesh.Seen,
) (c collective.Pair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	others := 0.
	for _, w := range workers {
		if w.Name == self {
			continue
		}
		p := collective.Unmeasured
		if known, ok := n.ways[keyOf(w)]; ok {
			p, _ = known.now(seen(w.Name))
		}
		others++
		c.Alpha, c.Gap, c.Beta = c.Alpha+p.Alpha, c.Gap+p.Gap, max(c.Beta, p.Beta)
	}
	if others > 0 {
		c.Alpha, c.Gap = c.Alpha/others, c.Gap/others
	}
	return c
}

// probeTimeout bounds the wait for the answer to a probe.
const probeTimeout = 2 * time.Second

// probe reports which workers this one cannot connect to.
func (x *executor) probe(ctx context.Context, p *control.Probe) (*control.ProbeReport, error) {
	m, err := x.registeredMesh()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx,
		min(probeTimeout, cmp.Or(x.options.Silence, probeTimeout)))
	defer cancel()
	var group sync.WaitGroup
	unreachable := make([]bool, len(p.Peers))
	for i, peer := range p.Peers {
		if peer.Worker == x.options.Name {
			continue
		}
		group.Go(func() {
			err := m.Probe(ctx,
				mesh.Peer{Name: peer.Worker, Addr: peer.Address, Incarnation: peer.Incarnation})
			unreachable[i] = errors.As(err, new(*mesh.UnreachableError))
		})
	}
	group.Wait()
	r := &control.ProbeReport{}
	for i, peer := range p.Peers {
		if unreachable[i] {
			r.Unreachable = append(r.Unreachable, peer.Worker)
		}
	}
	return r, nil
}

// way is the measured link to a worker, with TCP's round-trip time at that time.
type way struct {
	collective.Pair
	name      string
	at        time.Time
	roundTrip time.Duration
}

// strayed bounds the factor by which traffic may correct a measurement, because traffic also
// reflects busy receivers and shared links.
const strayed = 4

// now returns the measurement corrected by later traffic: the time per byte as seen on real
// messages, and the latency changed by half the change of TCP's round-trip time.
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

// mostWays bounds how many links are reported to the master; often is the interval of these
// reports.
const (
	mostWays = 256
	often    = 5 * time.Second
)

// table returns the measured links to other workers, for display.
func (n *network) table(seen func(name string) mesh.Seen) (all []*control.Way) {
	n.mu.Lock()
	newest := map[string]way{} // by worker: the link to its newest incarnation
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

// stalls tracks how late heartbeats are sent because the process was waiting for memory pages or
// was stopped.
type stalls struct {
	last, at time.Time // last: last heartbeat, or start of the session; at: when latest was set
	latest   time.Duration
}

// beat notes a heartbeat and returns the maximum delay of the last minute.
func (s *stalls) beat(now time.Time, every time.Duration) time.Duration {
	late := max(now.Sub(s.last)-every, 0)
	s.last = now
	if late >= s.latest || now.Sub(s.at) > time.Minute {
		s.latest, s.at = late, now
	}
	return s.latest
}

// pulse makes a heartbeat. Occasionally it includes measurements of the network.
func (s *session) pulse() *control.Heartbeat {
	now := s.Now()
	h := &control.Heartbeat{
		MemoryUsed: memoryUsed(), Budget: budgetOf(mem.Process()),
		StalledMilliseconds: uint32(s.stalls.beat(now, s.heartbeat).Milliseconds()), Usage: s.usage(),
	}
	if now.Sub(s.told) >= often {
		s.told = now
		h.Ways = s.executor.network.table(s.executor.seen)
	}
	return h
}

// budgetOf encodes a budget of memory for the master. It returns nil without one.
func budgetOf(b *mem.Budget) *control.Budget {
	if b == nil {
		return nil
	}
	use := b.Use()
	return &control.Budget{
		Limit: uint64(use.Limit), Arrays: uint64(use.Memory), Heap: uint64(use.Heap),
		Spilled: uint64(use.Spilled), Free: uint64(b.Free()), Room: uint64(b.Room()),
		Files: uint64(b.Files()), Use: use.String(),
	}
}

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

// network is what this worker knows of the network. Workers measure when they load a graph together
// for the first time, and again when that was long ago: between them their collectives and the
// delivery of messages are chosen by it.
type network struct {
	mu     sync.Mutex
	models map[string]*measured // by the workers, in order
	ways   map[string]way       // from this worker to others
}

// measured is a model that the first of its workers has given all.
type measured struct {
	model *collective.Model
	at    time.Time
}

const (
	// measuredFor is how long a measurement holds. Later loads measure again: links and what else
	// is on them change.
	measuredFor = 10 * time.Minute
	// measureTimeout bounds the measurement. It takes a few milliseconds for each other worker on a
	// local network.
	measureTimeout = time.Minute
	// mostModels bounds how many sets of workers are remembered.
	mostModels = 16
	// windowsShare is the part of the memory that is available at the start, a sixteenth, by which
	// the windows of all connections may be widened.
	windowsShare = 16
)

// calibration is what the workers send each other: some hundred messages a pair, and less than a
// megabyte.
var calibration = collective.Calibration{Sizes: []int{0, 8 << 10, 128 << 10}, Repeat: 4}

// places are the workers of a group, by rank.
type places struct {
	layout mesh.Layout
	labels []string // of their sites
}

func placesOf(placements []*control.Placement) places {
	p := places{layout: layoutOf(placements)}
	p.labels = make([]string, len(p.layout.Workers))
	for _, at := range placements {
		p.labels[p.layout.Owner[at.Partition]] = at.Site
	}
	return p
}

// names are those of the workers.
func (p *places) names() []string {
	names := make([]string, len(p.layout.Workers))
	for rank, w := range p.layout.Workers {
		names[rank] = w.Name
	}
	return names
}

// key tells sets of workers apart: one that was started again is another.
func (p *places) key() string {
	var text strings.Builder
	for _, w := range p.layout.Workers {
		text.WriteString(keyOf(w))
	}
	return text.String()
}

func keyOf(w mesh.Peer) string { return fmt.Sprintf("%q %d,", w.Name, w.Incarnation) }

// group makes a group of the workers of a link, that knows their sites.
func (p *places) group(link collective.Link) (*collective.Group, error) {
	m := collective.Uniform(link.Size(), collective.Unmeasured)
	if len(p.labels) == link.Size() {
		m.Sites = sitesOf(p.labels)
	}
	return collective.NewGroup(link, m, nil)
}

// calibrate has a group choose by what messages between its workers take, as its first worker knows
// it. All workers of the group call it; they measure if that one has not, or long ago.
func (x *executor) calibrate(ctx context.Context, g *collective.Group, p *places, tag uint32) error {
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

// expect lets the mesh know how long the ways from other workers are, to which it sizes their
// windows.
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

// find returns the model of a set of workers, if it was measured lately.
func (n *network) find(key string) *collective.Model {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.models[key]; m != nil && time.Since(m.at) < measuredFor {
		return m.model
	}
	return nil
}

// keep keeps what has been measured.
func (n *network) keep(key string, p *places, self int, model *collective.Model, seen func(name string) mesh.Seen) {
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

// seen is what traffic says of the way from a worker.
func (x *executor) seen(name string) mesh.Seen {
	m, err := x.registeredMesh()
	if err != nil {
		return mesh.Seen{}
	}
	return m.Seen(name)
}

// cost is what a frame takes that this worker sends to one of the others as good as any: the mean a
// byte and until the next one can be sent, and until the one that takes longest is there. Others
// that were not measured are taken for some on a fast local network.
func (n *network) cost(self string, workers []mesh.Peer, seen func(name string) mesh.Seen) (c collective.Pair) {
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

// probeTimeout bounds the wait for an answer to a probe.
const probeTimeout = 2 * time.Second

// probe tells which of the workers cannot be connected to.
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
	last, at time.Time // of the last one or the session's beginning, and of the latest of a minute
	latest   time.Duration
}

// beat notes a heartbeat, and returns by how much one came late in the last minute, at most.
func (s *stalls) beat(now time.Time, every time.Duration) time.Duration {
	late := max(now.Sub(s.last)-every, 0)
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

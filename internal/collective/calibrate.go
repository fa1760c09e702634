package collective

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/wire"
)

// Calibration has the parameters of Calibrate.
type Calibration struct {
	Tag uint32
	// Sites is the site of each rank, the same on all ranks; nil if there is only one site.
	Sites []int
	// Largest is the size of the largest messages, whose sizes are Classes. Default: all of them.
	Largest int
	// Repeat is the number of round trips of each size, of large ones fewer. Default: 8, after one
	// that is not measured.
	Repeat int
}

const burst = 32 // number of consecutive messages in the measurement of Gap

// Calibrate measures the model of a link. All ranks must call it with equal parameters, and all get
// the same model. Inside a site all pairs exchange messages, disjoint pairs at the same time, as in
// a collective. Between sites only the first ranks do, one pair of sites after the other; the
// result holds for all pairs of ranks of these sites. Then all pairs of ranks send at once, to
// measure the trunk.
func Calibrate(ctx context.Context, link Link, o Calibration) (*Model, error) {
	if o.Largest <= 0 {
		o.Largest = Classes[len(Classes)-1]
	}
	if o.Repeat <= 0 {
		o.Repeat = 8
	}
	start := Uniform(link.Size(), Unmeasured)
	start.Sites = o.Sites
	g, err := NewGroup(link, start, nil)
	if err != nil {
		return nil, err
	}
	c := &calibrator{Calibration: o, g: g, noise: Noise(o.Largest), row: make([]Pair, link.Size())}
	for i := range c.row {
		c.row[i] = Pair{Alpha: -1} // not measured by this rank
	}
	if err := c.inside(ctx); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	if err := c.between(ctx); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	// A rank sends its row, and behind it a pair with its trunk as Alpha and its gamma as Beta.
	rows, err := c.g.Allgather(ctx, Call{Tag: c.Tag, Algorithm: Bruck},
		wire.Bytes(append(c.row, Pair{Alpha: c.trunk, Beta: gamma()})))
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	m, err := c.model(rows)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return m, nil
}

type calibrator struct {
	Calibration
	g     *Group
	noise []byte // the contents of all messages begin with the same bytes
	row   []Pair // the pairs that this rank measured
	trunk float64
}

// inside measures the pairs of each site in a round-robin tournament. With an odd number n of
// ranks, rank i meets rank k-i modulo n in round k, and the rank that would meet itself rests. With
// an even number the last rank meets the resting one.
func (c *calibrator) inside(ctx context.Context) error {
	v := bySite(c.g.shape(0), -1)
	t := newTeam(v.members[v.mine], c.g.link.Rank())
	n := t.size() - 1 + t.size()%2
	for k := range n {
		other := ((k-t.me)%n + n) % n
		switch {
		case t.me == n: // the last rank of an even number meets the rank i with 2i = k modulo n
			other = k * ((n + 1) / 2) % n
		case other == t.me:
			other = n
		}
		if other >= t.size() {
			continue
		}
		if err := c.measure(ctx, t.ranks[other]); err != nil {
			return err
		}
	}
	return c.g.Barrier(ctx, Call{Tag: c.Tag})
}

// between measures the pairs of sites.
func (c *calibrator) between(ctx context.Context) error {
	s := c.g.shape(0)
	v := bySite(s, -1)
	for i := range v.members {
		for j := range i {
			a, b := v.members[j], v.members[i]
			if s.rank == a[0] || s.rank == b[0] {
				if err := c.measure(ctx, a[0]+b[0]-s.rank); err != nil {
					return err
				}
			}
			if err := c.measureTrunk(ctx, a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure exchanges messages with a peer. The lower rank measures the times.
func (c *calibrator) measure(ctx context.Context, peer int) error {
	first := c.g.link.Rank() < peer
	var samples []Sample
	p := Pair{}
	for k, n := range Classes {
		if n > c.Largest {
			break
		}
		var times []float64
		data := c.noise[:n]
		for i := range 1 + min(c.Repeat, max((2<<20)/max(n, 1), 1)) {
			begin := time.Now()
			if err := c.pingPong(ctx, peer, first, data, 1); err != nil {
				return err
			}
			if i > 0 {
				times = append(times, time.Since(begin).Seconds()/2)
			}
		}
		samples = append(samples, Sample{n, Median(times)})
		p.Times[k] = float32(samples[k].Seconds)
	}
	var gaps []float64
	for range c.Repeat {
		begin := time.Now()
		if err := c.pingPong(ctx, peer, first, nil, burst); err != nil {
			return err
		}
		gaps = append(gaps, time.Since(begin).Seconds())
	}
	if first {
		p.Alpha, p.Beta = Fit(samples)
		// A burst goes there, whose last message takes the latency, and one message comes back.
		p.Gap = min(max((Median(gaps)-2*samples[0].Seconds)/(burst-1), 0), p.Beta)
		c.row[peer] = p
	}
	return nil
}

// pingPong sends k messages to the peer, and one back.
func (c *calibrator) pingPong(ctx context.Context, peer int, first bool, data []byte, k int) error {
	if first {
		for range k {
			if err := c.g.link.Send(ctx, peer, c.Tag, data); err != nil {
				return err
			}
		}
		_, err := c.g.link.Receive(ctx, peer, c.Tag)
		return err
	}
	for range k {
		if _, err := c.g.link.Receive(ctx, peer, c.Tag); err != nil {
			return err
		}
	}
	return c.g.link.Send(ctx, peer, c.Tag, data)
}

// measureTrunk measures the trunk between two sites. One pair of ranks exchanges the largest
// message, then as many pairs as possible do so at the same time. Each additional pair adds the
// trunk's time for its bytes once, because its message goes one way while the other pair's message
// comes back.
func (c *calibrator) measureTrunk(ctx context.Context, a, b []int) error {
	k := min(len(a), len(b))
	data := c.noise[:min(c.Largest, 1<<20)]
	if k < 2 {
		return c.g.Barrier(ctx, Call{Tag: c.Tag})
	}
	one, err := c.across(ctx, a[:1], b[:1], data)
	if err != nil {
		return err
	}
	all, err := c.across(ctx, a[:k], b[:k], data)
	if err == nil && c.g.link.Rank() == a[0] {
		c.trunk = max(c.trunk, (all-one)/float64((k-1)*len(data)))
	}
	return err
}

// across returns the median time, including a barrier, of an exchange between all ranks of a and
// their partners in b.
func (c *calibrator) across(ctx context.Context, a, b []int, data []byte) (float64, error) {
	var times []float64
	for i := range c.Repeat + 1 {
		if err := c.g.Barrier(ctx, Call{Tag: c.Tag}); err != nil {
			return 0, err
		}
		begin := time.Now()
		for j := range a {
			if me := c.g.link.Rank(); me == a[j] || me == b[j] {
				if err := c.pingPong(ctx, a[j]+b[j]-me, me == a[j], data, 1); err != nil {
					return 0, err
				}
			}
		}
		if err := c.g.Barrier(ctx, Call{Tag: c.Tag}); err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, time.Since(begin).Seconds())
		}
	}
	return Median(times), nil
}

// model makes the model of the measurements of all ranks.
func (c *calibrator) model(rows [][]byte) (*Model, error) {
	n := len(rows)
	m := &Model{Ranks: n, Sites: c.Sites}
	for rank, data := range rows {
		row, err := Values[Pair](data, n+1)
		if err != nil {
			return nil, fmt.Errorf("the measurements of rank %d: %w", rank, err)
		}
		m.Pairs = append(m.Pairs, row[:n]...)
		m.Trunk = max(m.Trunk, row[n].Alpha)
		if rank == 0 { // all ranks must have the same value
			m.Gamma = row[n].Beta
		}
	}
	c.complete(m)
	return m, m.validate()
}

// complete adds the pairs that the other rank measured, or the first ranks of two sites.
func (c *calibrator) complete(m *Model) {
	v := bySite(c.g.shape(0), -1)
	first := make([]int, m.Ranks)
	for _, members := range v.members {
		for _, r := range members {
			first[r] = members[0]
		}
	}
	for from := range m.Ranks {
		for to := range m.Ranks {
			i, j := from, to
			if first[i] != first[j] {
				i, j = first[i], first[j]
			}
			if from == to {
				m.Pairs[from*m.Ranks+to] = Pair{}
			} else {
				m.Pairs[from*m.Ranks+to] = m.Pair(min(i, j), max(i, j))
			}
		}
	}
}

// gamma measures the time per byte of combining data.
func gamma() float64 {
	dst, src := make([]byte, 64<<10), make([]byte, 64<<10)
	var times []float64
	for range 9 {
		begin := time.Now()
		SumUint64.Combine(dst, src)
		times = append(times, time.Since(begin).Seconds()/float64(len(dst)))
	}
	return Median(times)
}

package experiment

import (
	"context"
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// sample is the result of a round: the mean time of its runs, and edges per second, 0 if
// meaningless.
type sample struct{ seconds, teps float64 }

// way runs a round of one compared way.
type way func(ctx context.Context) (sample, error)

// alternate runs the ways in turns, in reverse order every other turn, so that temporary slowness
// of the machine affects all of them. It returns the rounds of each way. The first round, with cold
// caches and models, does not count.
func (b *bench) alternate(ctx context.Context, stage string, ways []way) ([]rounds, error) {
	all := make([]rounds, len(ways))
	for turn := range b.Repeat + 1 {
		for k := range ways {
			if turn%2 == 1 {
				k = len(ways) - 1 - k
			}
			b.Progress(stage, int64(turn*len(ways)), int64((b.Repeat+1)*len(ways)))
			s, err := ways[k](ctx)
			if err != nil {
				return nil, err
			}
			if turn > 0 {
				all[k] = append(all[k], s)
			}
		}
	}
	return all, nil
}

// rounds are the samples of one way, in order.
type rounds []sample

// quartiles returns the median and the quartiles of a value over the rounds.
func (r rounds) quartiles(of func(sample) float64) (median, low, high float64) {
	var all []float64
	for _, s := range r {
		all = append(all, of(s))
	}
	return quartiles(all)
}

// quartiles returns quartiles as defined by Graph500.
func quartiles(all []float64) (median, low, high float64) {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2, (all[(n-1)/4] + all[n/4]) / 2,
		(all[n-1-(n-1)/4] + all[n-1-n/4]) / 2
}

func (r rounds) seconds() (median, low, high float64) {
	return r.quartiles(func(s sample) float64 { return s.seconds })
}

func (r rounds) teps() float64 {
	median, _, _ := r.quartiles(func(s sample) float64 { return s.teps })
	return median
}

// over returns the quartiles of the ratio to another way's time in the same turn.
func (r rounds) over(other rounds) (median, low, high float64) {
	var all []float64
	for i, s := range r {
		all = append(all, s.seconds/other[i].seconds)
	}
	return quartiles(all)
}

// volume is an amount of traffic between partitions.
type volume struct{ frames, values, bytes int }

func (v *volume) add(w volume) {
	v.frames += w.frames
	v.values += w.values
	v.bytes += w.bytes
}

// headerBytes is the size of a frame's header, as counted by transport.Frame.Size.
const headerBytes = 24

// payload returns the bytes without headers.
func (v volume) payload() int { return v.bytes - headerBytes*v.frames }

// superstep is a superstep's work in all partitions.
type superstep struct {
	scheme, direction string
	senders, messages int // messages: one per sender and edge, and those of Send
	edges             int // walked edges
	sent              map[string]volume
	all               volume
}

// traffic is a journal that sums up what supersteps sent, over all recorded runs.
type traffic struct {
	steps   []superstep
	sent    map[string]volume // by exchange
	records map[string]int    // number of partition records, by direction
	all     volume
}

// Record adds a superstep.
func (t *traffic) Record(e trace.Event) error {
	r, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	for len(t.steps) <= r.Superstep {
		t.steps = append(t.steps, superstep{sent: map[string]volume{}})
	}
	if t.sent == nil {
		t.sent, t.records = map[string]volume{}, map[string]int{}
	}
	s := &t.steps[r.Superstep]
	s.scheme, s.direction = r.Scheme, r.Delivery
	for i := range r.Partitions {
		p := &r.Partitions[i]
		t.records[r.Delivery]++
		s.senders += p.Delivered
		s.messages += p.Messages
		s.edges += p.Walked
		for _, q := range p.Peers {
			v := volume{1, q.Messages, q.Bytes}
			for _, sum := range []map[string]volume{s.sent, t.sent} {
				w := sum[q.Exchange]
				w.add(v)
				sum[q.Exchange] = w
			}
			s.all.add(v)
			t.all.add(v)
		}
	}
	return nil
}

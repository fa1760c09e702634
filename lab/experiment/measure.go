package experiment

import (
	"context"
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// sample is what a round took: the mean of its runs, and edges a second, 0 if they have no meaning.
type sample struct{ seconds, teps float64 }

// way runs a round in one of the ways that are compared.
type way func(ctx context.Context) (sample, error)

// alternate has the ways take turns, in the opposite order every other time, so that what slows the
// machine down for a while slows all of them. It returns the rounds of each; the first of each, in
// which caches and models are cold, does not count.
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

// rounds are the samples of one way, in the order of turns.
type rounds []sample

// quartiles returns the median of what of finds in the rounds, between the quartiles.
func (r rounds) quartiles(of func(sample) float64) (median, low, high float64) {
	var all []float64
	for _, s := range r {
		all = append(all, of(s))
	}
	return quartiles(all)
}

// quartiles are those of Graph500's output.
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

// over returns the quartiles of the ratio to what another way took in the same turn.
func (r rounds) over(other rounds) (median, low, high float64) {
	var all []float64
	for i, s := range r {
		all = append(all, s.seconds/other[i].seconds)
	}
	return quartiles(all)
}

// volume is what partitions sent each other.
type volume struct{ frames, values, bytes int }

func (v *volume) add(w volume) {
	v.frames += w.frames
	v.values += w.values
	v.bytes += w.bytes
}

// headerBytes is what a frame has beside its presence and values, as transport.Frame.Size counts.
const headerBytes = 24

// payload is the bytes without the frames' headers.
func (v volume) payload() int { return v.bytes - headerBytes*v.frames }

// superstep is what one did, in all partitions.
type superstep struct {
	scheme, direction string
	senders, messages int // messages: sender x edge, and those of Send
	edges             int // walked
	sent              map[string]volume
	all               volume
}

// traffic is a sink that adds up what the supersteps of the runs it records sent; those of several
// runs are added.
type traffic struct {
	steps   []superstep
	sent    map[string]volume // by exchange
	records map[string]int    // of partitions, by direction
	all     volume
}

// Record takes a superstep in.
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

package engine

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// A path of finite weights may have a length that is infinite as a float, but infinity means that
// there is no path. The loops do not check for this. If the greatest weight times the number of
// vertices is finite, there is no such path. Otherwise the partitions check at the end of the run.
// They exchange the lengths of the vertices whose edges could overflow, and the vertices that were
// not reached. Then each partition looks for edges from the former to the latter.

// measuresPaths reports whether the values are lengths of paths, and the program's Reached tells
// whether there is a path.
func (j *Job) measuresPaths() bool {
	m := j.methods
	_, ok := j.runners[0].kernel.(kernel.Bounded)
	return ok && m.traits.Monotone && m.Reached && m.program.Value == m.program.Message
}

// largest returns the largest float of the weights' type, and the type's name.
func (r *summarizer) largest() (largest float64, name string) {
	if r.job.methods.Methods.Weights == reflect.Float32 {
		return math.MaxFloat32, "float32"
	}
	return math.MaxFloat64, "float64"
}

// checkOverflow looks for vertices with a path whose length overflows. It reports in all partitions
// whether there is one. The owner of the one with the lowest input id gets a failure.
func (r *summarizer) checkOverflow(ctx context.Context) (found bool, failure, err error) {
	// the bits of floats that are not negative are in the order of the floats
	weight, err := r.leastOfAll(ctx, ^math.Float64bits(r.heaviest()))
	if err != nil {
		return false, nil, err
	}
	greatest := math.Float64frombits(^weight)
	largest, kind := r.largest()
	if greatest*float64(r.ids()) <= largest/2 { // sums are rounded
		return false, nil, nil
	}
	lengths, unreached, err := r.exchangeLengths(ctx, greatest)
	if err != nil {
		return false, nil, err
	}
	data := make([][]uint64, r.part.Of)
	for _, id := range r.overflowing(lengths, unreached) {
		owner := uint64(id) % uint64(r.part.Of)
		data[owner] = append(data[owner], uint64(id))
	}
	got, err := r.exchange.Words(ctx, data)
	if err != nil {
		return false, nil, err
	}
	own := uint64(pregel.None)
	for _, ids := range got {
		for _, id := range ids {
			own = min(own, r.label(pregel.VertexID(id)))
		}
	}
	first, err := r.leastOfAll(ctx, own)
	if found = err == nil && first != uint64(pregel.None); !found || own != first {
		return found, nil, err
	}
	return true, &bsp.ProgramError{
		Program: r.job.name, Superstep: r.command.Superstep, Vertex: own, Known: true,
		Name: r.job.vertexName(own), Method: "distance",
		Value: fmt.Errorf("a path leads there, but its length is beyond the largest %s, %.2g", kind,
			largest),
	}, nil
}

// leastOfAll returns the minimum over all partitions.
func (r *summarizer) leastOfAll(ctx context.Context, own uint64) (uint64, error) {
	got, err := r.exchange.Numbers(ctx, own)
	for _, numbers := range got {
		own = min(own, numbers[0])
	}
	return own, err
}

// heaviest returns the greatest weight of the partition's arcs.
func (r *summarizer) heaviest() float64 {
	if r.weighed == r.part {
		return r.greatest
	}
	if w, known := r.part.GreatestWeight(); known {
		return w
	}
	var single float32
	var double float64
	for _, ways := range r.layout.Blocks {
		for _, w := range ways.Pull.ByReceiver.Weights32 {
			single = max(single, w)
		}
		for _, w := range ways.Pull.ByReceiver.Weights64 {
			double = max(double, w)
		}
	}
	r.weighed, r.greatest = r.part, max(float64(single), double)
	return r.greatest
}

// exchangeLengths returns the path lengths of the vertices, in all partitions, from which an arc of
// the greatest weight would overflow. It also returns, by partition, the vertices that were not
// reached. Each partition sends:
//
//	| 1 bit for each owned vertex, in words | vertex (8) length (8) | ...
func (r *summarizer) exchangeLengths(ctx context.Context, greatest float64) (map[uint64]float64, [][]uint64, error) {
	bounded, words := r.kernel.(kernel.Bounded), bitmap.Words(r.part.Owned)
	own, pairs, values := make([]uint64, words), []uint64(nil), r.instance.Values()
	if err := r.each("Reached", func(v uint32) {
		if !r.instance.Reached(v) {
			bitmap.Set(own, v)
		} else if length := bounded.Length(values.Any(int(v))); r.overflows(length + greatest) {
			pairs = append(pairs, uint64(r.part.Global(v)), math.Float64bits(length))
		}
	}); err != nil {
		return nil, nil, err
	}
	got, err := r.exchange.Words(ctx, slices.Repeat([][]uint64{append(own, pairs...)}, r.part.Of))
	if err != nil {
		return nil, nil, err
	}
	lengths, unreached := map[uint64]float64{}, make([][]uint64, r.part.Of)
	for q, list := range got {
		words := bitmap.Words((int(r.ids()) - q + r.part.Of - 1) / r.part.Of)
		if len(list) < words {
			return nil, nil, fmt.Errorf("%d words from partition %d, expected %d", len(list), q,
				words)
		}
		unreached[q], list = list[:words], list[words:]
		for ; len(list) >= 2; list = list[2:] {
			lengths[list[0]] = math.Float64frombits(list[1])
		}
	}
	return lengths, unreached, nil
}

// overflows reports whether a length is infinite in the weights' type.
func (r *summarizer) overflows(length float64) bool {
	if r.job.methods.Methods.Weights == reflect.Float32 {
		length = float64(float32(length))
	}
	return math.IsInf(length, 1)
}

// overflowing returns the unreached vertices that an arc of the partition leads to, with a length
// that overflows.
func (r *summarizer) overflowing(lengths map[uint64]float64, unreached [][]uint64) (ids []pregel.VertexID) {
	slots, of := r.layout.Slots, uint64(r.part.Of)
	for _, ways := range r.layout.Blocks {
		l := &ways.Pull.ByReceiver.Lists
		bitmap.Each(l.Bits, func(slot uint32) {
			to := slots.ID(slot)
			if to == kernel.None || !bitmap.Get(unreached[to%of], uint32(to/of)) {
				return
			}
			for lo, hi := l.Row(slot); lo < hi; lo++ {
				weight := 0.0
				if l.Weights32 != nil {
					weight = float64(l.Weights32[lo])
				} else {
					weight = l.Weights64[lo]
				}
				if length, ok := lengths[slots.ID(l.Adj[lo])]; ok && r.overflows(length+weight) {
					ids = append(ids, pregel.VertexID(to))
					return
				}
			}
		})
	}
	return ids
}

package graphio

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
)

// graph500 writes packed tuples. If the graph has weights, it writes them to FILE.weights.
func (w *writer) graph500() error {
	if w.in.Directed {
		return fmt.Errorf("format graph500 holds undirected graphs, the graph is directed")
	}
	vertices, last, err := w.extent()
	if err != nil {
		return err
	}
	if first, ok := consecutiveLabels(w.in.Labels, vertices); !ok || first != 0 {
		return fmt.Errorf("format graph500 needs vertices 0 to n-1")
	}
	if lost := vertices - 1 - last; lost > 0 {
		w.warn("%s not written: format graph500 has vertices up to the largest with an edge",
			Counted(lost, "isolated vertex at the end is", "isolated vertices at the end are"))
	}
	if !w.in.Edges.Weighted() {
		w.stale = append(w.stale, weightsBeside(w.path))
	} else if err := w.singles(); err != nil {
		return err
	}
	out, err := w.create(w.path, plain, "")
	if err != nil {
		return err
	}
	return w.blocks(out, w.report, func(_ int, dst []byte, _ int, b *edges.Block) ([]byte, error) {
		for j := range b.N {
			dst = appendEdge(dst, b.U[j], b.V[j])
		}
		return dst, nil
	})
}

// singles writes the weights in single precision.
func (w *writer) singles() error {
	out, err := w.create(weightsBeside(w.path), plain, "")
	if err != nil {
		return err
	}
	var rounded atomic.Bool
	err = w.blocks(out, w.report, func(_ int, dst []byte, i int, b *edges.Block) ([]byte, error) {
		for j, x := range b.W[:b.N] {
			single := float32(x)
			if math.IsInf(float64(single), 0) || (single == 0 && x != 0) {
				return nil, fmt.Errorf("found the weight %v of tuple %d, expected one that "+
					"fits the single precision of format graph500", x, i*edges.BlockSize+j)
			}
			if float64(single) != x {
				rounded.Store(true)
			}
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(single))
		}
		return dst, nil
	})
	if rounded.Load() {
		w.warn("weights are rounded to single precision: format graph500 has no other")
	}
	return err
}

package graph

import (
	"errors"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// TestPlaceRefuses: a block only accepts arcs from vertices of its own processor column, and only
// as many as it has room for.
func TestPlaceRefuses(t *testing.T) {
	g := &Graph{N: 40, Weights: edges.Float32, Deal: kernel.NewDeal(4)}
	c := &cutter{a: &Builder{g: g, o: Options{Grid: Grid{2, 2}}}}
	for _, test := range []struct {
		first uint32
		ids   []uint32
		ok    bool
	}{
		{1, []uint32{2, 3, 38, 39}, true}, // partitions 2 and 3 are column 1
		{0, nil, true},
		{1, []uint32{2, 42}, false},
		{1, []uint32{2, 4}, false},
		{1, []uint32{37}, false},
		{2, []uint32{2, 3, 38, 39}, false},
		{1<<32 - 1, []uint32{2, 3}, false},
	} {
		to := &kernel.Lists{Adj: make([]uint32, 9), Weights32: make([]float32, 9)}
		data := append(wire.Bytes([]uint32{test.first}), wire.Bytes(test.ids)...)
		data = append(data, make([]byte, 4*len(test.ids))...)
		n, err := c.place(Message{0, 2, data}, to, 3, 5)
		if test.ok && (err != nil || int(n) != len(test.ids)) ||
			!test.ok && !errors.Is(err, errMessage) {
			t.Errorf("arcs %v from %d on: %d are placed, error %v", test.ids, test.first, n, err)
		}
	}
}

package graph

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// TestLinkEnds: linking and cutting end when the context ends, and the graph is freed.
func TestLinkEnds(t *testing.T) {
	for _, grid := range []Grid{{1, 1}, {3, 1}, {2, 2}} {
		meter := mem.NewBudget(1<<40, "")
		g := &Graph{N: 5, Connected: 5}
		a, err := NewBuilder(g, Options{Grid: grid, Budget: meter})
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, grid.Partitions())
		for i := range all {
			all[i] = i
		}
		a.Own(all, false)
		var ring []uint64
		for v := range uint64(5) {
			a.Vertex(pregel.VertexID(v), Facts{Label: v, Out: 1})
			ring = append(ring, v<<32|(v+1)%5)
		}
		s, err := a.Scatter(true, func(*Partition, uint32) int { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		s.putArcs(ring, WeightColumn{})
		if err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Link(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a grid of %v: error %v", grid, err)
		}
		if a.End(); meter.Use().Memory != 0 {
			t.Errorf("a grid of %v: %d bytes are still there", grid, meter.Use().Memory)
		}
	}
}

// TestMissingArcs: Finish returns an error if arcs are missing.
func TestMissingArcs(t *testing.T) {
	g := &Graph{N: 2, Connected: 2}
	a, err := NewBuilder(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	a.Own([]int{0}, false)
	s, err := a.Scatter(true, func(*Partition, uint32) int { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	s.putArcs([]uint64{0<<32 | 1}, WeightColumn{})
	if err := s.Finish(t.Context()); err == nil || !strings.HasPrefix(err.Error(),
		"received 1 arcs for rows 0 to 1 of partition 0, not 2") {
		t.Errorf("error %v", err)
	}
}

// TestArcsHoldRowAndNeighbour: for every number of vertices, an arc has enough bits for a neighbour
// and one of 64 rows.
func TestArcsHoldRowAndNeighbour(t *testing.T) {
	for idBits := uint(1); idBits <= 32; idBits++ {
		arcBits := uint(narrowBits)
		if rowBits(arcBits, idBits) < wordBits {
			arcBits = wideBits
		}
		if rows := rowBits(arcBits, idBits); rows < wordBits || rows+idBits > arcBits {
			t.Errorf("%d bits of a neighbour and %d of a row in %d", idBits, rows, arcBits)
		}
	}
}

func TestLeastBytes(t *testing.T) {
	for _, test := range []struct {
		directed bool
		o        Options
		want     int64
	}{
		{false, Options{}, 100*20 + 2000*4},
		{true, Options{}, 100*32 + 2000*4},
		{true, Options{Duplicates: SumDuplicates}, 100*32 + 1000*4},
		{false, Options{Weights: edges.Float32, Duplicates: LeastDuplicate}, 100*20 + 2000*8},
		{true, Options{Weights: edges.Float64}, 100*32 + 2000*12},
	} {
		if got := LeastBytes(100, 1000, test.directed, test.o); got != test.want {
			t.Errorf("directed %t, %+v: %d bytes, want %d", test.directed, test.o, got, test.want)
		}
	}
	if LeastBytes(math.MaxUint64, 1<<62, false, Options{}) <= 0 {
		t.Error("the number of bytes overflowed")
	}
	if mem.Available() == 0 {
		t.Skip("nobody knows how much memory there is")
	}
	if err := Enough("it", 1e18); err == nil ||
		!strings.HasPrefix(err.Error(), "it needs 888.2 PiB of memory, ") {
		t.Errorf("error %v", err)
	}
	if err := Enough("it", 1); err != nil {
		t.Error(err)
	}
}

package graph

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
)

// TestRelabel compares slots with the results of a simple lookup.
func TestRelabel(t *testing.T) {
	for parts := 2; parts <= 5; parts++ {
		n := 1000
		g := &Graph{N: n, Parts: make([]*Partition, parts), Deal: kernel.NewDeal(parts)}
		p := g.partition(1)
		p.begin(Of(parts))
		ghosts := make([][]uint64, parts)
		var lists kernel.Lists
		for id := range uint32(n) {
			q := id % uint32(parts)
			if ghosts[q] == nil && q != 1 {
				ghosts[q] = make([]uint64, bitmap.Words(owned(n, int(q), parts)))
			}
			if id%7 != 0 {
				lists.Adj = append(lists.Adj, id)
				if q != 1 {
					bitmap.Set(ghosts[q], id/uint32(parts))
				}
			}
		}
		side, err := p.side(p.Column, ghosts, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]uint32, len(lists.Adj))
		for i, id := range lists.Adj {
			q, local := id%uint32(parts), id/uint32(parts)
			if want[i] = local; q != 1 {
				want[i] = side.Groups[q].Start + side.Ghosts[q].Of(local)
			}
		}
		a := Adjacency{Lists: lists}
		if err := p.relabel(t.Context(), &a, side); err != nil || !slices.Equal(a.Adj, want) {
			t.Errorf("%d partitions: %v, got %v, want %v", parts, err, a.Adj, want)
		}
	}
}

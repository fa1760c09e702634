package kernel_test

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// TestRowsBeyond31Bits: Find finds the receivers of a range in a list whose positions need all 32
// bits.
func TestRowsBeyond31Bits(t *testing.T) {
	const arcs, few = 1<<31 + 64, 100
	if testing.Short() || mem.Available() < 12<<30 {
		t.Skip("needs 8 GiB of addresses")
	}
	var arena mem.Arena
	defer arena.Close()
	// Pages that are not written take no memory.
	l := &kernel.Lists{Bits: []uint64{3}, Rank: []uint32{0, 2}, Starts: []uint32{0, arcs - few, arcs}, Adj: mem.Make[uint32](&arena, arcs)}
	for i := range uint32(few) {
		l.Adj[arcs-few+i] = 2 * i
	}
	p := &kernel.Push{Lists: l, Present: []uint64{2}, From: 64, To: 128, Ranged: true}
	want := []kernel.Row{{From: 1, Lo: arcs - few + 32, Hi: arcs - few + 64}}
	rows := p.Senders(nil, 0)
	if p.Find(rows); !slices.Equal(rows, want) {
		t.Errorf("found %v, want %v", rows, want)
	}
}

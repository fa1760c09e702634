package kernel_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// TestSenderBeyond31Bits: the receivers of a range are found in a list whose places need all 32 bits.
func TestSenderBeyond31Bits(t *testing.T) {
	const arcs, few = 1<<31 + 64, 100
	if testing.Short() || mem.Available() < 12<<30 {
		t.Skip("needs 8 GiB of addresses")
	}
	var arena mem.Arena
	defer arena.Close()
	// Pages that are not written to take no memory.
	l := &kernel.Lists{Bits: []uint64{3}, Rank: []uint32{0, 2}, Starts: []uint32{0, arcs - few, arcs}, Adj: mem.Make[uint32](&arena, arcs)}
	for i := range uint32(few) {
		l.Adj[arcs-few+i] = 2 * i
	}
	p := &kernel.Push{Lists: l, From: 64, To: 128, Ranged: true}
	if lo, hi := p.Sender(1); lo != arcs-few+32 || hi != arcs-few+64 {
		t.Errorf("found places %d to %d, want %d to %d", lo, hi, arcs-few+32, arcs-few+64)
	}
}

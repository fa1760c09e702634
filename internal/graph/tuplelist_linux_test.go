package graph

import (
	"math"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// TestTuplesAtTheLastArcs reads a block of tuples that begins in the last arcs that a partition may
// have, and continues in the next partition.
func TestTuplesAtTheLastArcs(t *testing.T) {
	// 16 GiB of zeros, which take no memory
	data, err := syscall.Mmap(-1, 0, 4*math.MaxUint32, syscall.PROT_READ,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Munmap(data); err != nil {
			t.Error(err)
		}
	}()
	g := &Graph{N: 2, Directed: true, Order: []uint32{0, 1}}
	for i, from := range []uint32{math.MaxUint32 - 600, 0} {
		p := &Partition{Index: i, Of: 2, Owned: 1, graph: g}
		p.begin(Of(2))
		all := wire.Slice[uint32](data)
		if i == 1 {
			all = all[:1000]
		}
		a := &Adjacency{Lists: kernel.Lists{
			Adj: all, Bits: []uint64{1}, Rank: []uint32{0, 1},
			Starts: []uint32{from, uint32(len(all))},
		}}
		p.along.Pull = &Block{ByReceiver: a}
		g.Parts = append(g.Parts, p)
	}
	list, b := &tupleList{g: g}, edges.Block{}
	if n := list.Len(); n != 1600 {
		t.Fatalf("%d tuples", n)
	}
	if err := list.Read(0, &b); err != nil || b.N != edges.BlockSize || b.V[599] != 0 ||
		b.V[600] != 1 {
		t.Errorf("%d tuples, error %v", b.N, err)
	}
}

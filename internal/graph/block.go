package graph

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Block has the arcs that a grid assigns to a partition, between two sides. Messages come from the
// owners of the senders' side (expand), cross the block along its lists, and go to the owners of
// the receivers' side (fold).
//
//	             processor column                 processor row
//	owners --------- expand --------> Senders -> lists -> Receivers --------- fold --------> owners
//
// In the P x 1 grid the partition owns every receiver, so fold does nothing. In the 1 x P grid it
// owns every sender, so expand does nothing.
type Block struct {
	Senders, Receivers *Side
	// ByReceiver has the lists for pulls, BySender those for pushes. The 1 x P block has no
	// ByReceiver. The P x 1 block has no BySender until Partition.SendersView makes it.
	ByReceiver, BySender *Adjacency
}

// reversed returns the block of the reversed arcs, in a flat grid.
func (b *Block) reversed() *Block {
	return &Block{b.Receivers, b.Senders, b.BySender, b.ByReceiver}
}

// Side is one side of a block: the owned vertices, and ghosts of the other owners in a line of the
// grid. The line is the processor column of the senders, or the processor row of the receivers.
type Side struct {
	// Line has the other partitions of the line, in the order in which this partition sends to
	// them. It is empty if all vertices are owned.
	Line []int
	// Groups has the ghost slots of each partition's vertices.
	Groups []Group
	// Peers has, for each partition, the owned vertices that are ghosts there.
	Peers Peers
	// Ghosts has, for each partition q, the vertices of q that its group's slots represent. It is
	// what q has as Peers. The construction sets it only on the receivers' side in a 2D grid.
	Ghosts []bitmap.Ranked
}

// Count returns the number of ghosts.
func (s *Side) Count() int {
	n := 0
	for _, g := range s.Groups {
		n += int(g.Count)
	}
	return n
}

// Group is a range of ghost slots: Count slots from Start, which is a multiple of 64. They
// represent one owner's vertices in the order of their local indices.
type Group struct{ Start, Count uint32 }

// Words returns the group's range of words in a bitmap over slots.
func (g Group) Words() (lo, hi int) {
	return int(g.Start >> 6), int(g.Start>>6) + bitmap.Words(int(g.Count))
}

// Adjacency has a block's lists, from the slots of one side to the slots of the other.
type Adjacency struct {
	kernel.Lists
	// Chunks has the borders, in words, of chunks of rows with about equal numbers of edges. The
	// first Owned chunks have owned vertices, the others ghosts.
	Chunks []uint32
	Owned  int
	// Rising means that each list is in ascending order of slots. Otherwise it is in ascending
	// order of the neighbours' ids.
	Rising bool
}

// OwnChunks returns the borders of the chunks of owned rows. GhostChunks returns those of ghosts'
// rows.
func (a *Adjacency) OwnChunks() []uint32   { return a.Chunks[:a.Owned+1] }
func (a *Adjacency) GhostChunks() []uint32 { return a.Chunks[a.Owned:] }

// Blocks has the block for pushes and the block for pulls. In a flat grid Push is the 1 x P block
// and Pull the P x 1 block. In a 2D grid they are the same.
type Blocks struct{ Push, Pull *Block }

// Layout has the lists and slots that a job uses in a partition.
type Layout struct {
	// Blocks has the blocks of the arcs, of the reversed arcs, or of both in this order.
	Blocks []Blocks
	// Slots maps the Count slots to vertices. Count is a multiple of 64.
	Slots *kernel.Slots
	Count int
}

// Layout returns the partition's blocks for messages of a direction.
func (p *Partition) Layout(d pregel.Direction) Layout {
	if !p.graph.Directed || d == pregel.Out {
		return Layout{Blocks: []Blocks{p.along}, Slots: &p.slots, Count: p.Slots}
	}
	lists := p
	if !p.Grid.Flat() {
		lists = p.reversedPart
	}
	l := Layout{Slots: &lists.slots, Count: lists.Slots}
	if d == pregel.Both || d == pregel.Either {
		l.Blocks = append(l.Blocks, p.along)
	}
	l.Blocks = append(l.Blocks, lists.reversed)
	return l
}

// chunk cuts words of rows into chunks of about equal cost. The first owned words have owned rows.
func (a *Adjacency) chunk(owned, words int) {
	a.Chunks = []uint32{0}
	cost := 0
	cut := func(w int) {
		if last := a.Chunks[len(a.Chunks)-1]; int(last) < w {
			a.Chunks = append(a.Chunks, uint32(w))
		}
		cost = 0
	}
	for w := range words {
		if w == owned {
			cut(w)
			a.Owned = len(a.Chunks) - 1
		}
		lo, hi := a.Words(w)
		c := int(hi-lo) + 64
		if cost > 0 && cost+c > limits.chunkCost {
			cut(w)
		}
		cost += c
	}
	cut(words)
	if words <= owned {
		a.Owned = len(a.Chunks) - 1
	}
}

// heads stores the first two neighbours of each row separately.
func (a *Adjacency) heads(arena *mem.Arena) {
	a.Heads = mem.Make[uint32](arena, len(a.Starts)-1)
	for r := range a.Heads {
		a.Heads[r] = a.Adj[a.Starts[r]]
	}
	a.seconds(arena)
}

// seconds stores the second neighbours separately, next to the first ones.
func (a *Adjacency) seconds(arena *mem.Arena) {
	a.Seconds = mem.Make[uint32](arena, len(a.Heads))
	for r := range a.Seconds {
		lo, hi := a.Starts[r], a.Starts[r+1]
		a.Seconds[r] = a.Adj[min(lo+1, hi-1)]
	}
}

// SendersView returns a block's lists by sender. For the P x 1 block, the first call makes them,
// unless ctx ends before it is done.
func (p *Partition) SendersView(ctx context.Context, b *Block) (*Adjacency, error) {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	if b.BySender == nil {
		b.BySender = p.transpose(ctx, b.ByReceiver)
	}
	if b.BySender == nil {
		return nil, context.Cause(ctx)
	}
	return b.BySender, nil
}

// HasSendersView reports whether the lists of SendersView exist.
func (p *Partition) HasSendersView(b *Block) bool {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	return b.BySender != nil
}

// transpose makes lists by sender from lists by receiver. It returns nil if ctx ends.
func (p *Partition) transpose(ctx context.Context, a *Adjacency) *Adjacency {
	arena, done := &mem.Arena{Budget: p.graph.arena.Budget, Kind: mem.Graph}, false
	defer func() { p.keepLists(done, arena) }()
	counts := make([]uint32, p.Slots)
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			return nil
		}
		for _, s := range some {
			counts[s]++
		}
	}
	t := &Adjacency{Lists: bcsr(arena, counts, mem.Make[uint32](arena, len(a.Adj))), Rising: true}
	makeWeights(arena, &t.Lists, p.graph.Weights)
	from, to := weightsOf(&a.Lists), weightsOf(&t.Lists)
	var stopped atomic.Bool
	at := uint32(0)
	for s, c := range counts {
		counts[s] = at
		at += c
	}
	stop := context.AfterFunc(ctx, func() { stopped.Store(true) })
	defer stop()
	bitmap.Each(a.Bits, func(v uint32) {
		if stopped.Load() {
			return
		}
		lo, hi := a.Row(v)
		for j := lo; j < hi; j++ {
			k := counts[a.Adj[j]]
			counts[a.Adj[j]]++
			t.Adj[k] = v
			to.Put(int(k), from, int(j))
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	t.chunk(p.Words(), bitmap.Words(p.Slots))
	done = true
	return t
}

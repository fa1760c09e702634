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

// Block is the arcs that a grid assigns to a partition, between two sides. Messages come from the
// owners of the senders' side (expand), cross the block along its lists, and go on to the owners of
// the receivers' side (fold).
//
//	             processor column                 processor row
//	owners --------- expand --------> Senders -> lists -> Receivers --------- fold --------> owners
//
// In the P x 1 grid every receiver is owned, in the 1 x P grid every sender: that exchange is
// nothing.
type Block struct {
	Senders, Receivers *Side
	// ByReceiver are the lists that are pulled along, BySender those that are pushed along. The 1 x
	// P block has no ByReceiver, and the P x 1 block no BySender until Partition.SendersView makes
	// it.
	ByReceiver, BySender *Adjacency
}

// reversed returns the block of the reversed arcs, in a flat grid.
func (b *Block) reversed() *Block {
	return &Block{Senders: b.Receivers, Receivers: b.Senders, ByReceiver: b.BySender, BySender: b.ByReceiver}
}

// Side is one end of a block: the owned vertices, and ghosts of vertices of the other owners of a
// line of the grid, the processor column of the senders, the row of the receivers.
type Side struct {
	// Line is the other partitions of the line, in the order in which this one sends to them. It is
	// empty where all vertices are owned.
	Line []int
	// Groups has, for each partition, the slots of its vertices here.
	Groups []Group
	// Peers has, for each partition, the owned vertices that are ghosts of its.
	Peers Peers
	// Ghosts has, for each partition q, those of its vertices that the slots of its group stand
	// for: what q has as Peers. When the graph is built it is left to the receivers' side of a grid
	// that is not flat.
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

// Group is a run of ghost slots: Count slots from Start, which is a multiple of 64, standing for
// one owner's vertices in the order of their local indices.
type Group struct{ Start, Count uint32 }

// Words returns the group's run of words in a bitmap over slots.
func (g Group) Words() (lo, hi int) {
	return int(g.Start >> 6), int(g.Start>>6) + bitmap.Words(int(g.Count))
}

// Adjacency is a block's lists: from the slots of one side to those of the other.
type Adjacency struct {
	kernel.Lists
	// Chunks are the borders, in words, of runs of rows with about as many edges each. The first
	// Owned runs are of owned vertices, the others of ghosts.
	Chunks []uint32
	Owned  int
	// Rising says that each list rises by slot. All rise by the neighbours' ids otherwise.
	Rising bool
}

// OwnChunks returns the borders of the runs of owned rows, and GhostChunks those of ghosts'.
func (a *Adjacency) OwnChunks() []uint32   { return a.Chunks[:a.Owned+1] }
func (a *Adjacency) GhostChunks() []uint32 { return a.Chunks[a.Owned:] }

// Blocks are the blocks that messages cross: where they are pushed, and where they are pulled. In a
// flat grid push is that of 1 x P and pull that of P x 1; in others they are the same.
type Blocks struct{ Push, Pull *Block }

// Layout is what a partition's part of a job is made over.
type Layout struct {
	// Blocks are those of the arcs, of the reversed arcs, or of both, one after the other.
	Blocks []Blocks
	// Slots are the vertices that slots stand for: Count of them, a multiple of 64.
	Slots *kernel.Slots
	Count int
}

// Layout returns the partition's blocks for messages that go in a direction.
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

// chunk cuts words of rows, of which so many are owned, into runs of about the same cost.
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

// heads puts the first two neighbours of each row apart.
func (a *Adjacency) heads(arena *mem.Arena) {
	a.Heads = mem.Make[uint32](arena, len(a.Starts)-1)
	for r := range a.Heads {
		a.Heads[r] = a.Adj[a.Starts[r]]
	}
	a.seconds(arena)
}

// seconds puts the second neighbours apart where the first ones are.
func (a *Adjacency) seconds(arena *mem.Arena) {
	a.Seconds = mem.Make[uint32](arena, len(a.Heads))
	for r := range a.Seconds {
		lo, hi := a.Starts[r], a.Starts[r+1]
		a.Seconds[r] = a.Adj[min(lo+1, hi-1)]
	}
}

// SendersView returns a block's lists by sender. Those of the P x 1 block are made at the first
// call that ctx does not end.
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

// HasSendersView reports whether SendersView has been made.
func (p *Partition) HasSendersView(b *Block) bool {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	return b.BySender != nil
}

// transpose makes lists by sender of lists by receiver. It returns nil when ctx ends.
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

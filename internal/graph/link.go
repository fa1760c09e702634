package graph

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// chunkCost is about how much work a chunk of a traversal is: edges, and 64 for each word of vertices.
const chunkCost = 1 << 14

// linkGrain is how many neighbours are linked between two looks at whether to go on.
const linkGrain = 1 << 20

// link turns neighbours' ids into slots, and agrees between partitions on the lists that columns run over.
func (b *builder) link(ctx context.Context) error {
	g := b.g
	for _, p := range g.Parts {
		p.Slots = (p.Owned + 63) &^ 63
	}
	b.team.For(len(g.Parts), 1, func(_, lo, _ int) {
		p := g.Parts[lo]
		p.ghosts(ctx, p.In)
		if p.Out != p.In {
			p.ghosts(ctx, p.Out)
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("linking the partitions: %w", context.Cause(ctx))
	}
	for _, p := range g.Parts {
		p.share(p.In)
		if p.Out != p.In {
			p.share(p.Out)
		}
	}
	least := 0.0
	for _, p := range g.Parts {
		for _, w := range p.In.Weights32 {
			least = min(least, float64(w))
		}
		for _, w := range p.In.Weights64 {
			least = min(least, w)
		}
	}
	g.LeastWeight = least
	b.team.For(len(g.Parts), 1, func(_, lo, _ int) {
		p := g.Parts[lo]
		p.In.finish(g.arena, p.Words())
		if p.Out != p.In {
			p.Out.finish(g.arena, p.Words())
		}
	})
	return nil
}

// ghosts gives a slot to every vertex of another owner in the lists, and rewrites the lists to slots. It stops half-way
// when ctx ends.
func (p *Partition) ghosts(ctx context.Context, a *Adjacency) {
	g, parts := p.graph, uint32(p.Of)
	a.Slots = pregel.Slots{First: pregel.VertexID(p.Index), Stride: pregel.VertexID(parts), Ghost: uint32(p.Owned+63) &^ 63}
	a.Groups = make([]Group, parts)
	if parts == 1 {
		return
	}
	seen := make([][]uint64, parts)
	for q := range seen {
		if q != p.Index {
			seen[q] = mem.Make[uint64](g.arena, bitmap.Words(g.Parts[q].Owned))
		}
	}
	for some := range slices.Chunk(a.Adj, linkGrain) {
		if ctx.Err() != nil {
			return
		}
		for _, id := range some {
			if q := id % parts; int(q) != p.Index {
				bitmap.Set(seen[q], id/parts)
			}
		}
	}
	a.Peers = make([]bitmap.Ranked, parts) // for now those of p's own ghosts; share deals them out
	for q := range seen {
		r := bitmap.Rank(seen[q], mem.Make[uint32](g.arena, len(seen[q])+1))
		a.Peers[q] = r
		a.Groups[q] = Group{uint32(p.Slots), uint32(r.Count())}
		p.Slots += (r.Count() + 63) &^ 63
	}
	// Slots before Ghost belong to the owned; an Out block's ghosts come after the In block's, whose slots it never uses.
	base := int(a.Ghost)
	a.Ghosts = mem.Make[pregel.VertexID](g.arena, p.Slots-base)
	for i := range a.Ghosts {
		a.Ghosts[i] = pregel.None
	}
	for q, group := range a.Groups {
		at := int(group.Start) - base
		bitmap.Each(seen[q], func(local uint32) {
			a.Ghosts[at] = pregel.VertexID(local)*pregel.VertexID(parts) + pregel.VertexID(q)
			at++
		})
	}
	for some := range slices.Chunk(a.Adj, linkGrain) {
		if ctx.Err() != nil {
			return
		}
		for i, id := range some {
			q, local := id%parts, id/parts
			if int(q) == p.Index {
				some[i] = local
			} else {
				some[i] = a.Groups[q].Start + a.Peers[q].Of(local)
			}
		}
	}
}

// share runs for every adjacency after ghosts ran for all: what p knows of q's vertices becomes q's list for p.
func (p *Partition) share(a *Adjacency) {
	if p.Of == 1 {
		return
	}
	for q := p.Index + 1; q < p.Of; q++ {
		other := p.graph.Parts[q].In
		if a != p.In {
			other = p.graph.Parts[q].Out
		}
		a.Peers[q], other.Peers[p.Index] = other.Peers[p.Index], a.Peers[q]
	}
}

// finish makes what is derived from the lists: first neighbours and chunks.
func (a *Adjacency) finish(arena *mem.Arena, words int) {
	rows := len(a.Starts) - 1
	a.Heads = mem.Make[uint32](arena, rows)
	for r := range a.Heads {
		a.Heads[r] = a.Adj[a.Starts[r]]
	}
	a.Chunks = chunk(&a.Lists, words)
}

// chunk cuts words of vertices into runs of about the same cost.
func chunk(l *pregel.Lists, words int) []uint32 {
	borders := []uint32{0}
	cost := 0
	for w := range words {
		lo, hi := l.Words(w)
		c := int(hi-lo) + 64
		if cost > 0 && cost+c > chunkCost {
			borders = append(borders, uint32(w))
			cost = 0
		}
		cost += c
	}
	if words > 0 {
		borders = append(borders, uint32(words))
	}
	return borders
}

// Sender is the senders' view of a block whose lists are by receiver: for every source slot, owned or ghost, the owned
// vertices it has an edge to. Mirrored push walks it.
type Sender struct {
	pregel.Lists
	Chunks []uint32
}

// weightsOf makes the weights of n edges, of the kind that l has.
func weightsOf(arena *mem.Arena, l, like *pregel.Lists) {
	switch {
	case like.Weights32 != nil:
		l.Weights32 = mem.Make[float32](arena, len(l.Adj))
	case like.Weights64 != nil:
		l.Weights64 = mem.Make[float64](arena, len(l.Adj))
	}
}

// BySender returns the senders' view of the block that a belongs to. With one partition that is the adjacency of the
// other direction; with more it is built at the first call that ctx does not end.
func (p *Partition) BySender(ctx context.Context, a *Adjacency) (*Sender, error) {
	if p.Of == 1 {
		other := p.Out
		if a != p.In {
			other = p.In
		}
		return &Sender{other.Lists, other.Chunks}, nil
	}
	p.transposing.Lock()
	defer p.transposing.Unlock()
	if s := p.transposed(a); *s == nil {
		*s = p.transpose(ctx, a)
	}
	if s := *p.transposed(a); s != nil {
		return s, nil
	}
	return nil, context.Cause(ctx)
}

// HasBySender reports whether BySender costs nothing any more.
func (p *Partition) HasBySender(a *Adjacency) bool {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	return p.Of == 1 || *p.transposed(a) != nil
}

func (p *Partition) transposed(a *Adjacency) **Sender {
	if a == p.In {
		return &p.senders[0]
	}
	return &p.senders[1]
}

// transpose returns nil when ctx ends.
func (p *Partition) transpose(ctx context.Context, a *Adjacency) *Sender {
	arena := p.graph.arena
	counts := make([]uint32, p.Slots)
	for some := range slices.Chunk(a.Adj, linkGrain) {
		if ctx.Err() != nil {
			return nil
		}
		for _, s := range some {
			counts[s]++
		}
	}
	l := bcsr(arena, counts, mem.Make[uint32](arena, len(a.Adj)))
	weightsOf(arena, &l, &a.Lists)
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
			l.Adj[k] = v
			if l.Weights32 != nil {
				l.Weights32[k] = a.Weights32[j]
			}
			if l.Weights64 != nil {
				l.Weights64[k] = a.Weights64[j]
			}
		}
	})
	if stopped.Load() {
		return nil
	}
	return &Sender{l, chunk(&l, bitmap.Words(p.Slots))}
}

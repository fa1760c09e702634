package graph

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// degrees are counted by input vertex: for an undirected graph out alone is used, and both ends count.
type degrees struct{ out, in []uint32 }

// count reads every tuple once and counts degrees, duplicates included, and loops.
func (b *builder) count(ctx context.Context) error {
	arena := b.tmp
	if b.o.TupleDegrees {
		arena = b.g.arena
	}
	b.raw = b.newDegrees(arena)
	private := []degrees{b.raw}
	tmp := &mem.Arena{Meter: b.o.Meter}
	defer tmp.Close()
	// Counters of their own spare threads the atomics, where the memory for them is small beside the edges.
	shared := b.team.Size() > 1 && b.team.Size()*b.g.N > b.list.Len()
	for i := 1; i < b.team.Size() && !shared; i++ {
		private = append(private, degrees{mem.Make[uint32](tmp, b.g.N), mem.Make[uint32](tmp, len(b.raw.in))})
	}
	var loops atomic.Int64
	err := b.scan(ctx, "counting degrees", func(worker int, block *edges.Block) error {
		d := private[0]
		if !shared {
			d = private[worker]
		}
		found, err := b.countBlock(block, d, shared)
		loops.Add(int64(found))
		return err
	})
	if err != nil {
		return err
	}
	b.loops = int(loops.Load())
	b.team.For(b.g.N, 1<<14, func(_, lo, hi int) {
		for _, d := range private[1:] {
			for i := lo; i < hi; i++ {
				b.raw.out[i] += d.out[i]
			}
			for i := lo; i < min(hi, len(d.in)); i++ {
				b.raw.in[i] += d.in[i]
			}
		}
	})
	return nil
}

func (b *builder) newDegrees(arena *mem.Arena) degrees {
	d := degrees{out: mem.Make[uint32](arena, b.g.N)}
	if b.g.Directed {
		d.in = mem.Make[uint32](arena, b.g.N)
	}
	return d
}

func (b *builder) countBlock(block *edges.Block, d degrees, shared bool) (loops int, err error) {
	second := d.out
	if b.g.Directed {
		second = d.in
	}
	n := uint64(b.g.N)
	for i, u := range block.U[:block.N] {
		v := block.V[i]
		if u >= n || v >= n {
			return 0, fmt.Errorf("edge %d-%d: the graph has vertices 0..%d", u, v, int(n)-1)
		}
		if u == v {
			loops++
			if b.o.DropLoops {
				continue
			}
			if !b.g.Directed { // stored once
				add(d.out, u, shared)
				continue
			}
		}
		add(d.out, u, shared)
		add(second, v, shared)
	}
	return loops, nil
}

func add(d []uint32, i uint64, shared bool) {
	if shared {
		atomic.AddUint32(&d[i], 1)
	} else {
		d[i]++
	}
}

// discover sets n to one more than the largest endpoint when the input does not say how many vertices there are.
func (b *builder) discover(ctx context.Context) error {
	if b.g.N > 0 {
		return nil
	}
	largest := make([]uint64, b.team.Size())
	err := b.scan(ctx, "finding the vertices", func(worker int, block *edges.Block) error {
		m := largest[worker]
		for i, u := range block.U[:block.N] {
			m = max(m, u+1, block.V[i]+1)
		}
		largest[worker] = m
		return nil
	})
	for _, m := range largest {
		b.g.N = max(b.g.N, int(m))
	}
	return err
}

// chunkKeys is how many keys a bucket's chunk holds: 4 KiB.
const chunkKeys = 512

// keyPool hands out chunks of keys to buckets. A chunk's last word names the bucket's chunk before it.
type keyPool struct {
	words []uint64
	taken atomic.Int64
}

// distinct counts degrees without duplicates: keys of the tuples are dealt to buckets by hash, and each bucket, small
// enough for a cache, is searched with a hash table. The tuples themselves stay as they are.
func (b *builder) distinct(ctx context.Context) error {
	b.unique = b.newDegrees(&b.uniqueArena)
	copy(b.unique.out, b.raw.out)
	copy(b.unique.in, b.raw.in)
	width := uint(bits.Len64(uint64(max(b.g.N-1, 1))))
	shift := uint(64 - min(max(bits.Len(uint(b.list.Len()>>15)), 0), 11))
	buckets := 1 << (64 - shift)

	tmp := &mem.Arena{Meter: b.o.Meter}
	defer tmp.Close()
	threads := b.team.Size()
	chunks := b.list.Len()/(chunkKeys-1) + threads*buckets + 1
	pool := &keyPool{words: mem.Make[uint64](tmp, chunks*chunkKeys)}
	heads := make([][]cursor, threads)
	for i := range heads {
		heads[i] = make([]cursor, buckets)
	}
	err := b.scan(ctx, "looking for duplicates", func(worker int, block *edges.Block) error {
		mine := heads[worker]
		for i, u := range block.U[:block.N] {
			v := block.V[i]
			if u == v && b.o.DropLoops {
				continue
			}
			if v < u && !b.g.Directed {
				u, v = v, u
			}
			key := u<<width | v
			mine[mix(key)>>shift].put(pool, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	tables := make([][]uint64, threads)
	b.team.For(buckets, 1, func(worker, lo, _ int) {
		if ctx.Err() == nil {
			tables[worker] = b.searchBucket(pool, heads, lo, width, tables[worker])
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("looking for duplicates: %w", context.Cause(ctx))
	}
	if d := b.duplicate.Load(); d != nil && b.o.Duplicates == RefuseDuplicates {
		return fmt.Errorf("edge %d-%d occurs more than once", b.labels.Of(d[0]), b.labels.Of(d[1]))
	}
	return nil
}

// cursor is where a thread writes the next key of a bucket.
type cursor struct{ at, end int }

func (c *cursor) put(pool *keyPool, key uint64) {
	if c.at == c.end {
		start := int(pool.taken.Add(chunkKeys)) - chunkKeys
		before := c.end // 0 for none: chunk 0 ends at chunkKeys-1
		c.at, c.end = start, start+chunkKeys-1
		pool.words[c.end] = uint64(before)
	}
	pool.words[c.at] = key
	c.at++
}

// searchBucket takes one off the degrees of both ends of every duplicate. It returns its hash table for the next call.
func (b *builder) searchBucket(pool *keyPool, heads [][]cursor, bucket int, width uint, table []uint64) []uint64 {
	total := 0
	b.eachRun(pool, heads, bucket, func(keys []uint64) { total += len(keys) })
	bitsOf := uint(bits.Len(uint(total))) + 1
	if len(table) < 1<<bitsOf {
		table = make([]uint64, 1<<bitsOf)
	}
	table = table[:1<<bitsOf]
	clear(table)
	mask := uint64(len(table) - 1)
	low := uint64(1)<<width - 1
	dropped := 0
	b.eachRun(pool, heads, bucket, func(keys []uint64) {
		for _, key := range keys {
			i := mix(key) & mask
			for table[i] != 0 && table[i] != ^key {
				i = (i + 1) & mask
			}
			if table[i] == 0 {
				table[i] = ^key // 0 is free; no key is all ones, for width <= 32 leaves an endpoint below 2^32-1
				continue
			}
			dropped++
			b.drop(key>>width, key&low)
		}
	})
	b.dropped.Add(int64(dropped))
	return table[:cap(table)]
}

func (b *builder) drop(u, v uint64) {
	for least := b.duplicate.Load(); least == nil || u < least[0] || u == least[0] && v < least[1]; least = b.duplicate.Load() {
		if b.duplicate.CompareAndSwap(least, &[2]uint64{u, v}) {
			break
		}
	}
	atomic.AddUint32(&b.unique.out[u], ^uint32(0))
	switch {
	case b.g.Directed:
		atomic.AddUint32(&b.unique.in[v], ^uint32(0))
	case u != v:
		atomic.AddUint32(&b.unique.out[v], ^uint32(0))
	}
}

func (b *builder) eachRun(pool *keyPool, heads [][]cursor, bucket int, f func(keys []uint64)) {
	for _, mine := range heads {
		c := mine[bucket]
		for c.end != 0 {
			start := c.end - (chunkKeys - 1)
			f(pool.words[start:c.at])
			c.end = int(pool.words[c.end])
			c.at = c.end
		}
	}
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

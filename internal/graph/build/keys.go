package build

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// chunkKeys is the number of words in a chunk of a bucket: 4 KiB.
const chunkKeys = 512

// keyPool provides chunks of keys for buckets. The last word of a chunk links to the bucket's
// previous chunk.
type keyPool struct {
	words []uint64
	taken atomic.Int64
}

// cursor is the position of a thread's next key in a bucket.
type cursor struct{ at, end int }

func (c *cursor) put(pool *keyPool, key uint64) {
	if c.at == c.end {
		start := int(pool.taken.Add(chunkKeys)) - chunkKeys
		before := c.end // 0 means none, because chunk 0 ends at chunkKeys-1
		c.at, c.end = start, start+chunkKeys-1
		pool.words[c.end] = uint64(before)
	}
	pool.words[c.at] = key
	c.at++
}

// distinct subtracts duplicates from the degrees. It distributes keys of the tuples to buckets by
// hash, and then searches each bucket, which fits into a cache, with a hash table. The tuples do
// not change; sorting the lists will drop the duplicates.
func (t *tuples) distinct(ctx context.Context) error {
	b := t.b
	n := b.in.Edges.Len()
	width := uint(bits.Len64(uint64(max(b.sizes[0]-1, 1))))
	shift := uint(64 - min(max(bits.Len(uint(n>>15)), 0), 11))
	buckets := 1 << (64 - shift)

	tmp := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
	defer tmp.Close()
	threads := b.team.Size()
	chunks := n/(chunkKeys-1) + threads*buckets + 1
	pool := &keyPool{words: mem.Make[uint64](tmp, chunks*chunkKeys)}
	heads := make([][]cursor, threads)
	for i := range heads {
		heads[i] = make([]cursor, buckets)
	}
	directed, drop := b.in.Directed, b.o.DropLoops
	err := b.scan(ctx, "looking for duplicates", false, func(worker int, block *edges.Block) error {
		mine := heads[worker]
		for i, u := range block.U[:block.N] {
			v := block.V[i]
			if u == v && drop {
				continue
			}
			if v < u && !directed {
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
	var dropped atomic.Int64
	b.team.For(buckets, 1, func(worker, bucket, _ int) {
		if ctx.Err() == nil {
			dropped.Add(t.searchBucket(pool, heads, bucket, width, &tables[worker]))
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("looking for duplicates: %w", context.Cause(ctx))
	}
	b.dropped = int(dropped.Load())
	return b.refuse(ctx)
}

// searchBucket subtracts 1 from the degrees of both ends of every duplicate, and returns the number
// of duplicates. memory is reused by the next call.
func (t *tuples) searchBucket(
	pool *keyPool, heads [][]cursor, bucket int, width uint, memory *[]uint64,
) (dropped int64) {
	total := 0
	eachRun(pool, heads, bucket, func(keys []uint64) { total += len(keys) })
	size := 1 << (bits.Len(uint(total)) + 1)
	if len(*memory) < size {
		*memory = make([]uint64, size)
	}
	table := (*memory)[:size]
	clear(table)
	mask, low := uint64(len(table)-1), uint64(1)<<width-1
	eachRun(pool, heads, bucket, func(keys []uint64) {
		for _, key := range keys {
			i := mix(key) & mask
			for table[i] != 0 && table[i] != ^key {
				i = (i + 1) & mask
			}
			if table[i] == 0 {
				// 0 means free; no key is all ones, because width <= 32 and endpoints are below
				// 2^32-1
				table[i] = ^key
				continue
			}
			dropped++
			t.drop(uint32(key>>width), uint32(key&low))
		}
	})
	return dropped
}

func (t *tuples) drop(u, v uint32) {
	b := t.b
	if b.o.Duplicates == graph.RefuseDuplicates {
		b.found(uint64(u), uint64(v))
	}
	atomic.AddUint32(&b.rows.out[u], ^uint32(0))
	switch {
	case b.in.Directed:
		atomic.AddUint32(&b.rows.in[v], ^uint32(0))
	case u != v:
		atomic.AddUint32(&b.rows.out[v], ^uint32(0))
	}
}

func eachRun(pool *keyPool, heads [][]cursor, bucket int, f func(keys []uint64)) {
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

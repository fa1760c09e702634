package build

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
)

// plain reports whether plainTile can process a side's tiles; mostly it can.
func (s *deduplicator) plain(d *side) bool {
	return d.high == 0 && d.weights == 0 && s.b.o.Duplicates != graph.RefuseDuplicates
}

// plainTile does the same as tile, in one pass, for edges that have 32-bit keys and no weights.
func (s *deduplicator) plainTile(t *scratch, d *side, all chain, total int, e *tileEnds) {
	b, seen := s.b, keySet{}
	if b.o.Duplicates != graph.KeepDuplicates {
		seen = newKeySet(t, total)
	}
	here, other := e.here[e.row:], e.other[e.end:]
	shift, mask := d.otherBits&31, uint32(1)<<d.otherBits-1
	to, kept := all.first, 0 // position of the next edge that is kept
	dropped := 0
	for c := all.first; c != nil; c = c.next {
		for _, key := range c.low[:c.n] {
			u, v := key>>shift, key&mask
			if seen.table != nil && seen.has(key) {
				dropped++
				s.twice(d, e, fromRow, uint64(key))
				continue
			}
			if kept == len(to.low) {
				to.n, to, kept = kept, to.next, 0
			}
			to.low[kept] = key
			kept++
			if s.shared {
				atomic.AddUint32(&here[u], 1)
			} else {
				here[u]++
			}
			switch {
			case e.diagonal && e.row+u == e.end+v:
				s.loop(e.row + u)
			case s.shared:
				atomic.AddUint32(&other[v], 1)
			default:
				other[v]++
			}
		}
	}
	to.n = kept
	for c := to.next; c != nil; c = c.next {
		c.n = 0
	}
	s.dropped.Add(int64(dropped))
}

// keySet is a hash set of keys. A slot has the complement of a key, so 0 means free. The key of all
// ones is stored in ones.
type keySet struct {
	table []uint32 // at most half full, unless there are 2^31 or more keys
	shift uint
	ones  bool
}

// newKeySet makes an empty set for n keys with at most 2^32 different values.
func newKeySet(t *scratch, n int) keySet {
	width := min(uint(bits.Len(uint(2*n-1))), 32)
	t.table = slices.Grow(t.table[:0], 1<<width)[:1<<width]
	clear(t.table)
	return keySet{table: t.table, shift: 32 - width}
}

// has reports whether a key is in the set, and adds it.
func (s *keySet) has(key uint32) bool {
	if key == math.MaxUint32 {
		was := s.ones
		s.ones = true
		return was
	}
	mask := uint32(len(s.table) - 1)
	for at := key * 0x9e3779b1 >> s.shift; ; at++ {
		slot := &s.table[at&mask]
		if *slot == 0 {
			*slot = ^key
			return false
		}
		if *slot == ^key {
			return true
		}
	}
}

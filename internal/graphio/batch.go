package graphio

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// batch is the parsed content of a piece. Its arrays lie in a slab.
//
//	words, narrow: one word a tuple, v<<32 | u     when all ids of the piece are below 2^32
//	       wide:   two words a tuple, u then v
//	       one column: one word an id
type batch struct {
	words   []uint64
	weights []uint64 // bits of float64, or nil
	wide    bool
	n       int // tuples, or ids if lines have one column
	max     uint64
	lines   int
	remarks int      // comment lines
	bad     []*fault // malformed lines, numbered from the first line of the piece
	listed  []uint64
	balance balance
}

// tuple returns tuple i.
func (b *batch) tuple(i int) (u, v uint64) {
	if b.wide {
		return b.words[2*i], b.words[2*i+1]
	}
	return b.words[i] & math.MaxUint32, b.words[i] >> 32
}

// table is the parsed content of a file: batches in the order of its pieces.
type table struct {
	columns  int // ids in a line: 1 or 2
	weighted bool
	batches  []batch
	n        int // tuples or ids
	starts   []int
	max      uint64
	remarks  int
	spans    []edges.Span // the parts of the files that were read
	balance  balance
	slabs    slabs
	mu       sync.Mutex // guards batches until seal
}

// seal adds up the counts of the batches. It is called when all batches are stored.
func (t *table) seal() {
	t.starts = make([]int, len(t.batches)+1)
	for i := range t.batches {
		b := &t.batches[i]
		t.starts[i] = t.n
		t.n += b.n
		t.max = max(t.max, b.max)
		t.remarks += b.remarks
		t.balance.add(b.balance)
	}
	t.starts[len(t.batches)] = t.n
}

// each calls f with every id of batch i.
func (t *table) each(i int, f func(ids []uint64)) {
	b := &t.batches[i]
	if b.wide || t.columns == 1 {
		f(b.words)
		return
	}
	var ids [512]uint64
	for words := b.words; len(words) > 0; {
		n := min(len(words), len(ids)/2)
		for j, w := range words[:n] {
			ids[2*j], ids[2*j+1] = w&math.MaxUint32, w>>32
		}
		f(ids[:2*n])
		words = words[n:]
	}
}

// store copies what p parsed into the batch of an index, in memory of its own.
func (t *table) store(worker, index int, p *parser) {
	b := batch{n: len(p.ids) / t.columns, lines: p.lines, remarks: p.comments, bad: p.bad}
	b.listed, b.balance = slices.Clone(p.listed), p.balance
	for _, id := range p.ids {
		b.max = max(b.max, id)
	}
	narrow := t.columns == 2 && b.max <= math.MaxUint32
	words, weights := len(p.ids), 0
	if narrow {
		words = b.n
	}
	if t.weighted {
		weights = b.n
	}
	all := t.slabs.take(worker, index, words+weights)
	b.words = all[:words:words]
	if narrow {
		for i := range b.words {
			b.words[i] = p.ids[2*i] | p.ids[2*i+1]<<32
		}
	} else {
		b.wide = t.columns == 2
		copy(b.words, p.ids)
	}
	if t.weighted {
		b.weights = all[words:]
		for i := range b.weights {
			b.weights[i] = math.Float64bits(p.weights[i])
		}
	}
	t.put(index, b)
}

// Slabs grow from 16 KiB, on the Go heap, to 32 MiB. Batches share slabs because a mapping for each
// batch of a large file would exceed the number that the system allows.
const (
	firstSlab = 2 << 10 // words
	lastSlab  = 4 << 20
)

// slabs is the memory of batches. Each worker fills its own slabs.
type slabs struct {
	admission *admission
	mu        sync.Mutex
	all       []*slab
	using     []*slab // by worker
	bytes     int64   // of all slabs
}

type slab struct {
	arena mem.Arena
	free  []uint64
	size  int
	last  int // the last batch in it; each worker's batches have rising indices
}

// take returns n words for batch index.
func (s *slabs) take(worker, index, n int) []uint64 {
	now := s.using[worker]
	if now == nil || len(now.free) < n {
		size := firstSlab
		if now != nil {
			size = min(2*now.size, lastSlab)
		}
		now = s.grow(worker, max(n, size), size)
	}
	now.last = index
	words := now.free[:n:n]
	now.free = now.free[n:]
	return words
}

// grow allocates another slab of n words for a worker. It panics unless there is memory for this
// slab and for the unfilled slabs of the other workers.
func (s *slabs) grow(worker, n, size int) *slab {
	s.mu.Lock()
	defer s.mu.Unlock()
	need := 8 * int64(n)
	if need >= admitFrom {
		for i, other := range s.using {
			if other != nil && i != worker {
				need += 8 * int64(other.size)
			}
		}
	}
	s.admission.admit(need, fmt.Sprintf("more than the %s of its edges so far", mem.Text(s.bytes)))
	slab := &slab{size: size}
	slab.free = mem.Make[uint64](&slab.arena, n)
	s.all, s.using[worker], s.bytes = append(s.all, slab), slab, s.bytes+8*int64(n)
	return slab
}

// release frees the slabs that contain only batches before batch index.
func (s *slabs) release(index int) {
	for _, slab := range s.all {
		if slab.last < index {
			slab.arena.Close()
		}
	}
}

// close frees all slabs.
func (s *slabs) close() { s.release(math.MaxInt) }

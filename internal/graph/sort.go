package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// indexBits is the number of bits for an arc's weight index in a sort key. Buckets with
// limits.indexedArcs or more arcs are sorted by a slower method.
const indexBits = 64 - wideBits

// sorter has a thread's buffers for sorting buckets.
type sorter struct {
	arena       mem.Arena
	keys, spare []uint64
	rows        []uint32
	weights     []float64
}

// sort sorts each bucket by row and neighbour, and drops duplicates. It returns the length of every
// row, by partition.
func (s *Scatter) sort(ctx context.Context) ([][]uint32, error) {
	a := s.a
	counts := make([][]uint32, len(a.g.Parts))
	for p := range a.g.here() {
		counts[p.Index] = mem.Make[uint32](a.tmp, p.Owned)
	}
	sorters := make([]sorter, a.team.Size())
	for i := range sorters {
		sorters[i].arena.Kind = mem.Loading
		defer sorters[i].arena.Close()
	}
	a.team.For(len(s.buckets), 4, func(worker, lo, hi int) {
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			at := &s.buckets[k]
			s.sortBucket(&sorters[worker], at, counts[at.part][at.row:])
			if a.o.Progress != nil {
				a.o.Progress("sorting the lists", int64(k), int64(len(s.buckets)))
			}
		}
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("sorting the lists: %w", context.Cause(ctx))
	}
	return counts, nil
}

func (s *Scatter) sortBucket(t *sorter, b *bucket, counts []uint32) {
	n := b.size
	t.keys = mem.Grow(&t.arena, t.keys[:0], n)[:n]
	t.spare = mem.Grow(&t.arena, t.spare[:0], n)[:n]
	low := s.low[b.at : b.at+n]
	for i, x := range low {
		t.keys[i] = uint64(x)
	}
	if s.high != nil {
		for i, x := range s.high[b.at : b.at+n] {
			t.keys[i] |= uint64(x) << 32
		}
	}
	if s.a.o.Weights != edges.Unweighted {
		s.sortWeighted(t, b, counts)
		return
	}
	keys := t.byNeighbor(s.idBits, 0)
	keys = t.byRow(keys, s.idBits, int(b.rows))
	keep := s.a.o.Duplicates == KeepDuplicates
	mask := uint64(1)<<s.idBits - 1
	kept, last := 0, ^uint64(0)
	for _, key := range keys {
		if key == last && !keep {
			continue
		}
		last = key
		counts[key>>s.idBits]++
		low[kept] = uint32(key & mask)
		kept++
	}
	b.kept = kept
}

// byNeighbor sorts keys by the idBits bits from bit shift on, stably, least significant digit
// first.
func (t *sorter) byNeighbor(idBits, shift uint) []uint64 {
	from, to := t.keys, t.spare
	for done := uint(0); done < idBits; done += radixBits {
		var next [1 << radixBits]uint32
		mask := uint64(1)<<min(radixBits, idBits-done) - 1
		for _, key := range from {
			next[key>>(shift+done)&mask]++
		}
		at := uint32(0)
		for i, c := range next[:mask+1] {
			next[i] = at
			at += c
		}
		for _, key := range from {
			digit := key >> (shift + done) & mask
			to[next[digit]] = key
			next[digit]++
		}
		from, to = to, from
	}
	t.keys, t.spare = from, to
	return from
}

// byRow sorts keys by the bits from bit shift on, stably.
func (t *sorter) byRow(from []uint64, shift uint, rows int) []uint64 {
	t.rows = mem.Grow(&t.arena, t.rows[:0], rows)[:rows]
	clear(t.rows)
	for _, key := range from {
		t.rows[key>>shift]++
	}
	at := uint32(0)
	for i, c := range t.rows {
		t.rows[i] = at
		at += c
	}
	to := t.spare
	for _, key := range from {
		row := key >> shift
		to[t.rows[row]] = key
		t.rows[row]++
	}
	return to
}

// sortWeighted sorts arcs with their weights. In a bucket that is small enough, keys have the
// indices of the weights.
func (s *Scatter) sortWeighted(t *sorter, b *bucket, counts []uint32) {
	n := b.size
	t.weights = mem.Grow(&t.arena, t.weights[:0], n)[:n]
	for i := range t.weights {
		t.weights[i] = s.w.At(b.at + i)
	}
	out := merger{s: s, b: b, counts: counts, last: ^uint64(0)}
	if n >= limits.indexedArcs {
		order := mem.Make[uint32](&t.arena, n) // indices of keys and weights
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortStableFunc(order, func(i, j uint32) int {
			c := cmp.Compare(t.keys[i], t.keys[j])
			if c == 0 && s.byWeight() {
				c = cmp.Compare(t.weights[i], t.weights[j])
			}
			return c
		})
		for _, i := range order {
			out.put(t.keys[i], t.weights[i])
		}
		b.kept = out.kept
		mem.Free(&t.arena, order)
		return
	}
	for i, key := range t.keys {
		t.keys[i] = key<<indexBits | uint64(i)
	}
	keys := t.byNeighbor(s.idBits, indexBits)
	keys = t.byRow(keys, s.idBits+indexBits, int(b.rows))
	for run := 0; run < len(keys); {
		end := run + 1
		for end < len(keys) && keys[end]>>indexBits == keys[run]>>indexBits {
			end++
		}
		if s.byWeight() && end-run > 1 {
			slices.SortFunc(keys[run:end], func(x, y uint64) int {
				return cmp.Compare(t.weights[x&(1<<indexBits-1)], t.weights[y&(1<<indexBits-1)])
			})
		}
		for _, key := range keys[run:end] {
			out.put(key>>indexBits, t.weights[key&(1<<indexBits-1)])
		}
		run = end
	}
	b.kept = out.kept
}

// byWeight reports whether parallel edges are sorted by weight. They are if all are kept or the
// least is, so that the result does not depend on the order of threads. If the first is kept or all
// are added, they stay in the order of the input.
func (s *Scatter) byWeight() bool {
	d := s.a.o.Duplicates
	return d == KeepDuplicates || d == LeastDuplicate
}

// merger writes sorted arcs back, and treats duplicates by the options.
type merger struct {
	s      *Scatter
	b      *bucket
	counts []uint32
	last   uint64
	sum    float64
	kept   int
}

func (m *merger) put(key uint64, weight float64) {
	s := m.s
	if key == m.last && s.a.o.Duplicates != KeepDuplicates {
		if s.a.o.Duplicates == SumDuplicates {
			m.sum += weight
			m.store(m.kept-1, m.sum)
		}
		return
	}
	m.last, m.sum = key, weight
	m.counts[key>>s.idBits]++
	s.low[m.b.at+m.kept] = uint32(key & (1<<s.idBits - 1))
	m.store(m.kept, weight)
	m.kept++
}

func (m *merger) store(i int, weight float64) {
	m.s.w.Set(m.b.at+i, weight+0) // converts -0 to 0
}

package graph

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// staged is the number of arcs that a thread collects for a bucket before it writes them there:
	// a cache line.
	staged = 16
	// mostReserved is the largest number of places of a bucket that a thread reserves at a time.
	// The atomic addition waits for all earlier stores, which often are cache misses. With this
	// number, one addition serves many arcs.
	mostReserved = 32 * staged
)

// stage has a thread's arcs that are not yet in the buckets.
type stage struct {
	low  []uint32
	high []uint8
	w    WeightColumn
	n    []uint8
	runs []placesLeft // by bucket
	over []overflow

	weighted bool

	// Intermediate results for a block's tuples: ids, buckets, and arcs in the buckets.
	a, z       [edges.BlockSize]uint32
	inA, inZ   [edges.BlockSize]uint32
	arcA, arcZ [edges.BlockSize]uint64
}

// placesLeft is the unused rest of the places that a thread has reserved in a bucket.
type placesLeft struct{ at, end int }

// overflow is an arc whose bucket had only places that other threads have reserved.
type overflow struct {
	bucket uint32
	high   uint8
	low    uint32
	w      float64
}

// stage returns a worker's stage.
func (s *Scatter) stage(worker int) *stage {
	if s.stages[worker] == nil {
		n := len(s.buckets) * staged
		st := &stage{
			low: mem.Make[uint32](s.tmp, n), n: make([]uint8, len(s.buckets)),
			runs: mem.Make[placesLeft](s.tmp, len(s.buckets)),
			w:    MakeWeights(s.tmp, s.a.o.Weights, n), weighted: s.a.o.Weights != edges.Unweighted,
		}
		if s.high != nil {
			st.high = mem.Make[uint8](s.tmp, n)
		}
		s.stages[worker] = st
	}
	return s.stages[worker]
}

// coded has some arcs of a bucket.
type coded struct {
	low  []uint32
	high []uint8 // or nil
	w    WeightColumn
}

func (a *coded) slice(lo, hi int) coded {
	s := coded{low: a.low[lo:hi], w: a.w.Slice(lo, hi)}
	if a.high != nil {
		s.high = a.high[lo:hi]
	}
	return s
}

// flush writes the arcs that a thread has staged for a bucket into it.
func (s *Scatter) flush(st *stage, k uint32) {
	from, n := int(k)*staged, int(st.n[k])
	if n == staged && s.place(&st.runs[k], st.low[from:]) {
		return
	}
	all := coded{low: st.low, high: st.high, w: st.w}
	all = all.slice(from, from+n)
	s.write(st, k, &all)
}

// place writes a full line of arcs without high bits and weights, if the thread has reserved enough
// places. It does what most calls of write would do, but without structs: their copies wait until
// earlier stores have reached the cache.
func (s *Scatter) place(run *placesLeft, low []uint32) bool {
	at := run.at
	if run.end-at < staged || !s.plain {
		return false
	}
	*(*[staged]uint32)(s.low[at:]) = *(*[staged]uint32)(low)
	run.at = at + staged
	return true
}

// write writes arcs into their bucket.
func (s *Scatter) write(st *stage, k uint32, some *coded) {
	run, n := &st.runs[k], len(some.low)
	for from := 0; from < n; {
		if run.at == run.end && !s.reserve(&s.buckets[k], run) {
			for ; from < n; from++ {
				one := some.slice(from, from+1)
				st.overflow(k, &one)
			}
			return
		}
		part := some.slice(from, from+min(n-from, run.end-run.at))
		copy(s.low[run.at:], part.low)
		if s.high != nil {
			copy(s.high[run.at:], part.high)
		}
		s.w.Copy(run.at, part.w)
		run.at += len(part.low)
		from += len(part.low)
	}
}

// reserve reserves places in a bucket, if there are any left. It reserves fewer if few are left, so
// that little overflows while other threads have unused places.
func (s *Scatter) reserve(k *bucket, run *placesLeft) bool {
	end := k.at + k.size
	left := end - int(k.next.Load())
	if left <= 0 {
		return false
	}
	n := min(max(left/(4*len(s.stages))&^(staged-1), staged), mostReserved)
	at := int(k.next.Add(int64(n))) - n
	*run = placesLeft{min(at, end), min(at+n, end)}
	return run.at < run.end
}

// overflow stores an arc for which there is no place yet.
func (st *stage) overflow(k uint32, one *coded) {
	o := overflow{bucket: k, low: one.low[0], w: one.w.At(0)}
	if one.high != nil {
		o.high = one.high[0]
	}
	st.over = append(st.over, o)
}

// flushAll writes all staged arcs into the buckets, and checks that each bucket is full.
func (s *Scatter) flushAll() error {
	for _, st := range s.stages {
		if st == nil {
			continue
		}
		for k, n := range st.n {
			if n > 0 {
				s.flush(st, uint32(k))
				st.n[k] = 0
			}
		}
	}
	more := map[uint32]int{} // arcs without a place, by bucket
	for _, st := range s.stages {
		if st == nil {
			continue
		}
		for _, o := range st.over {
			if !s.fill(o) {
				more[o.bucket]++
			}
		}
	}
	for i := range s.buckets {
		k := &s.buckets[i]
		came := min(int(k.next.Load())-k.at, k.size) + more[uint32(i)]
		for _, st := range s.stages {
			if st != nil {
				came -= st.runs[i].end - st.runs[i].at
			}
		}
		if came != k.size {
			return fmt.Errorf("received %d arcs for rows %d to %d of partition %d, not %d", came,
				k.row, k.row+k.rows-1, k.part, k.size)
		}
	}
	return nil
}

// fill writes an arc into a place of its bucket that a thread has reserved and not used.
func (s *Scatter) fill(o overflow) bool {
	for _, st := range s.stages {
		if st == nil {
			continue
		}
		run := &st.runs[o.bucket]
		if run.at == run.end {
			continue
		}
		s.low[run.at] = o.low
		if s.high != nil {
			s.high[run.at] = o.high
		}
		s.w.Set(run.at, o.w)
		run.at++
		return true
	}
	return false
}

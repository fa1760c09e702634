package validate

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// vertexGrain and blockGrain are what a worker takes at a time, some 50 to 200 microseconds of work.
const (
	vertexGrain = 1 << 15
	blockGrain  = 16
)

// Validator judges the trees of many searches of one graph by the rules of the specification, against the edge list
// and nothing else: no structure that a search went by can hide an error. It serves one caller at a time.
type Validator struct {
	list edges.List
	n    int
	team *parallel.Team

	depth     []uint32 // of each vertex in the tree, or notReached
	tags      []uint16 // of each vertex, see tag
	confirmed []uint64 // vertices whose tree edge was met in the list
	scratch   []scratch
	arena     *mem.Arena

	// Stop, if not nil, is asked now and then; an error of it ends the validation with that error.
	Stop func() error
}

// scratch is what a worker decodes a block into. Its loops take one step each over the block - gather what the vertices
// hold, compare, look at the parents of what may be a tree edge - because a loop of few instructions has more reads
// under way at once, and one tuple in twenty is a tree edge: a branch that cannot be foretold.
type scratch struct {
	edges.Block
	tagU, tagV   [edges.BlockSize]uint16
	distU, distV [edges.BlockSize]float32
	maybe        [edges.BlockSize]uint16 // positions of tuples that may be tree edges
}

// NewValidator makes the validator of a graph of n vertices, n < 2^32 - 2, whose tuples are list. It holds 6 bytes and a
// bit a vertex until it is closed. team may be nil.
func NewValidator(list edges.List, n int, team *parallel.Team) *Validator {
	if n < 0 || n >= int(pending) {
		panic(fmt.Sprintf("graph500: validator of %d vertices", n))
	}
	a := new(mem.Arena)
	return &Validator{
		list: list, n: n, team: team, arena: a,
		depth:     mem.Make[uint32](a, n),
		tags:      mem.Make[uint16](a, n),
		confirmed: mem.Make[uint64](a, bitmap.Words(n)),
		scratch:   make([]scratch, team.Size()),
	}
}

// Close frees the validator, which must not be used afterwards. Close is idempotent.
func (v *Validator) Close() {
	v.arena.Close()
	v.depth, v.tags, v.confirmed = nil, nil, nil
}

// first keeps the error at the least position of a parallel loop, so that what is reported does not depend on timing.
type first struct {
	at  atomic.Int64
	mu  sync.Mutex
	err error
}

func newFirst() *first {
	f := new(first)
	f.at.Store(math.MaxInt64)
	return f
}

// passed reports whether an error at a lesser position makes work at position at pointless.
func (f *first) passed(at int) bool { return int64(at) > f.at.Load() }

func (f *first) report(at int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int64(at) < f.at.Load() {
		f.at.Store(int64(at))
		f.err = err
	}
}

// vertices runs body on ranges that cover the vertices. body returns the error of the first vertex at fault.
func (v *Validator) vertices(body func(lo, hi int) error) error {
	return ranges(v.team, v.n, v.stopped, body)
}

// ranges runs body on ranges that cover n vertices, and returns the error of the first. stop ends it early.
func ranges(team *parallel.Team, n int, stop func() error, body func(lo, hi int) error) error {
	f := newFirst()
	team.For(n, vertexGrain, func(_, lo, hi int) {
		if f.passed(lo) {
			return
		}
		if err := stop(); err != nil {
			f.report(lo, err)
			return
		}
		if err := body(lo, hi); err != nil {
			f.report(lo, err)
		}
	})
	return f.err
}

func (v *Validator) stopped() error {
	if v.Stop == nil {
		return nil
	}
	return v.Stop()
}

// tuples runs body on every block of the list. body returns how many tuples it counts and the position in the block of
// the first tuple at fault, or a negative one; judge then says what is wrong with that tuple.
func (v *Validator) tuples(body func(s *scratch) (count, bad int), judge func(x, y uint64, weight float64) *Violation) (int64, error) {
	f := newFirst()
	var total atomic.Int64
	v.team.For(edges.Blocks(v.list), blockGrain, func(worker, lo, hi int) {
		s, sum := &v.scratch[worker], 0
		if err := v.stopped(); err != nil {
			f.report(lo, err)
			return
		}
		for i := lo; i < hi && !f.passed(i); i++ {
			if err := v.list.Read(i, &s.Block); err != nil {
				f.report(i, fmt.Errorf("read block %d of the edge list: %w", i, err))
				break
			}
			count, bad := body(s)
			if bad >= 0 {
				f.report(i, v.fault(i*edges.BlockSize+bad, s.U[bad], s.V[bad], s.W[bad], judge))
				break
			}
			sum += count
		}
		total.Add(int64(sum))
	})
	return total.Load(), f.err
}

func (v *Validator) fault(at int, x, y uint64, weight float64, judge func(x, y uint64, weight float64) *Violation) error {
	if n := uint64(v.n); x >= n || y >= n {
		return fmt.Errorf("tuple %d of the edge list joins %d and %d: the graph has %d vertices", at, x, y, v.n)
	}
	return judge(x, y, weight)
}

// gather sets to[i] to from[at[i]] and returns the first i where there is no such vertex, or -1.
func gather[T any](to *[edges.BlockSize]T, from []T, at []uint64) int {
	for i, x := range at {
		if x >= uint64(len(from)) {
			return i
		}
		to[i&(edges.BlockSize-1)] = from[x]
	}
	return -1
}

// isZero returns 1 for zero and 0 for any other x below 1<<63, without a branch.
func isZero(x uint64) int { return int((x - 1) >> 63) }

// confirmBlock confirms the tree edges of s among the first k of s.maybe.
func (v *Validator) confirmBlock(s *scratch, k int, parent []uint32) {
	for _, i := range s.maybe[:k] {
		x, y := s.U[i&(edges.BlockSize-1)], s.V[i&(edges.BlockSize-1)]
		if parent[x] == uint32(y) {
			v.confirm(x)
		}
		if parent[y] == uint32(x) {
			v.confirm(y)
		}
	}
}

// confirm notes that the tree edge of vertex x is in the list.
func (v *Validator) confirm(x uint64) { confirm(v.confirmed, x) }

func confirm(confirmed []uint64, x uint64) {
	word, bit := &confirmed[x>>6], uint64(1)<<(x&63)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

// unconfirmed returns the least vertex, root apart, that is in the tree by an edge nobody met.
func (v *Validator) unconfirmed(reached int64) (uint64, bool) {
	if int64(bitmap.Count(v.confirmed)) == reached {
		return 0, false
	}
	for x, depth := range v.depth {
		if depth != notReached && !bitmap.Get(v.confirmed, uint32(x)) {
			return uint64(x), true
		}
	}
	return 0, false
}

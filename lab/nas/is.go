package nas

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/wire"
)

const (
	rankings = 10        // iterations of IS
	buckets  = 1 << 10   // buckets of keys, distributed to ranks
	keyBytes = 4         // of a key in a message
	isTag    = uint32(1) // of all messages of IS
)

// Sorter is a rank's part of IS. It has a part of the keys. After an iteration it has all keys in
// its range of values.
//
//	keys -> buckets by value -> counts of all ranks (allreduce) -> ranges of buckets, one a rank, of about as many keys
//	     -> each bucket to the rank of its range (alltoall) -> how many keys there are of each value -> ranks
type Sorter struct {
	size  ISSize
	group *collective.Group
	first int      // number of the first key
	keys  []uint32 // this rank's keys
	saved []uint32 // original values of keys that iterations change

	shift    int      // from a key to its bucket
	sent     []uint32 // keys by bucket
	received [][]uint32
	low      uint32 // the lowest value of the range
	counts   []int  // for each value of the range, the number of keys
	before   int    // keys below the range on all ranks
	passed   int    // passed tests on this rank
}

// NewSorter makes a rank's keys like NPB's create_seq: each is a quarter of the greatest value
// times the sum of four random numbers.
func NewSorter(size ISSize, group *collective.Group) *Sorter {
	rank, ranks := group.Link().Rank(), group.Link().Size()
	first, end := size.Keys*rank/ranks, size.Keys*(rank+1)/ranks
	s := &Sorter{size: size, group: group, first: first, keys: make([]uint32,
		end-first), sent: make([]uint32, end-first)}
	s.shift = max(bits.Len(uint(size.MaxKey-1))-bits.Len(uint(buckets-1)), 0)
	r := seed
	r.Skip(4 * uint64(first))
	for i := range s.keys {
		s.keys[i] = uint32(float64(size.MaxKey/4) * (r.Next() + r.Next() + r.Next() + r.Next()))
	}
	s.saved = slices.Clone(s.keys[:min(max(2*rankings+1-first, 0), len(s.keys))])
	return s
}

// reset restores the original keys.
func (s *Sorter) reset() {
	copy(s.keys, s.saved)
	s.passed = 0
}

// call returns the alltoall's parameters: the mean block size, with which all ranks choose the same
// algorithm without communication.
func (s *Sorter) call() collective.Call {
	ranks := s.group.Link().Size()
	return collective.Call{Tag: isTag, Bytes: max(s.size.Keys*keyBytes/(ranks*ranks), 1)}
}

// Rank performs an iteration, counted from 1: it changes two keys, ranks all keys, and tests the
// ranks of five.
func (s *Sorter) Rank(ctx context.Context, iteration int) error {
	s.set(iteration, uint32(iteration))
	s.set(iteration+rankings, uint32(s.size.MaxKey-iteration))
	var starts [buckets + 1]int
	for _, k := range s.keys {
		starts[k>>s.shift+1]++
	}
	// Besides the counts of buckets, the sum contains the tested keys. Each of them is on one rank.
	numbers := make([]uint64, buckets, buckets+len(s.size.Tests))
	for b := range numbers {
		numbers[b] = uint64(starts[b+1])
		starts[b+1] += starts[b]
	}
	for _, t := range s.size.Tests {
		numbers = append(numbers, uint64(s.get(t.Index)))
	}
	all, err := collective.Combine(ctx, s.group, collective.Call{Tag: isTag}, collective.SumUint64,
		numbers...)
	if err != nil {
		return err
	}
	next := starts
	for _, k := range s.keys {
		b := k >> s.shift
		s.sent[next[b]] = k
		next[b]++
	}
	borders := s.borders(all[:buckets])
	out := make([][]uint32, len(borders)-1)
	for q := range out {
		out[q] = s.sent[starts[borders[q]]:starts[borders[q+1]]]
	}
	if s.received, err = collective.AlltoallOf(ctx, s.group, s.call(), out); err != nil {
		return err
	}
	if err := s.count(all[:buckets], borders); err != nil {
		return err
	}
	s.test(iteration, all[buckets:])
	return nil
}

// set sets a key if it is on this rank.
func (s *Sorter) set(index int, value uint32) {
	if i := index - s.first; i >= 0 && i < len(s.keys) {
		s.keys[i] = value
	}
}

// get returns a key, or 0 if it is on another rank.
func (s *Sorter) get(index int) uint32 {
	if i := index - s.first; i >= 0 && i < len(s.keys) {
		return s.keys[i]
	}
	return 0
}

// borders returns the first bucket of each rank, and the end. All ranks get the same result. A
// rank's range ends with the bucket at which the number of keys reaches the ranks' shares so far.
func (s *Sorter) borders(sizes []uint64) []int {
	ranks := s.group.Link().Size()
	borders, sum := make([]int, 1, ranks+1), uint64(0)
	for b, n := range sizes {
		sum += n
		for len(borders) < ranks && sum >= uint64(s.size.Keys*len(borders)/ranks) {
			borders = append(borders, b+1)
		}
	}
	for len(borders) <= ranks {
		borders = append(borders, len(sizes))
	}
	return borders
}

// count counts the keys of each value in this rank's range.
func (s *Sorter) count(sizes []uint64, borders []int) error {
	rank := s.group.Link().Rank()
	from, to := borders[rank], borders[rank+1]
	s.before = 0
	for _, n := range sizes[:from] {
		s.before += int(n)
	}
	s.low = uint32(from << s.shift)
	s.counts = slices.Grow(s.counts[:0], (to-from)<<s.shift)[:(to-from)<<s.shift]
	clear(s.counts)
	for q, keys := range s.received {
		for _, k := range keys {
			if k-s.low >= uint32(len(s.counts)) {
				return fmt.Errorf("rank %d has sent key %d, which is not in the range of rank %d",
					q, k, rank)
			}
			s.counts[k-s.low]++
		}
	}
	return nil
}

// test tests the keys in this rank's range: the number of smaller keys must be the expected one.
func (s *Sorter) test(iteration int, keys []uint64) {
	for i, t := range s.size.Tests {
		at := uint32(keys[i]) - s.low
		if at >= uint32(len(s.counts)) {
			continue
		}
		less := s.before
		for _, n := range s.counts[:at] {
			less += n
		}
		if less == t.Rank+t.Rise*(iteration-t.Base) {
			s.passed++
		}
	}
}

// Verify sorts the keys in this rank's range. It returns how many tests have passed on all ranks
// since the last call. sorted reports whether the keys are sorted within and across ranks, and are
// the original keys.
func (s *Sorter) Verify(ctx context.Context) (passed int, sorted bool, err error) {
	var list []uint32
	for _, keys := range s.received {
		list = append(list, keys...)
	}
	ranked := make([]uint32, len(list))
	next, sum := make([]int, len(s.counts)), 0
	for i, n := range s.counts {
		next[i] = sum
		sum += n
	}
	for _, k := range list {
		ranked[next[k-s.low]] = k
		next[k-s.low]++
	}
	// These must be the same before and after: the number of keys, and two checksums.
	difference := func(keys []uint32) (n, add, mix uint64) {
		for _, k := range keys {
			n++
			add += uint64(k)
			x := uint64(k)*0x9e3779b97f4a7c15 + 1
			mix += x ^ x>>29
		}
		return n, add, mix
	}
	n, add, mix := difference(s.keys)
	m, add2, mix2 := difference(ranked)
	disorder := uint64(0)
	if !slices.IsSorted(ranked) {
		disorder = 1
	}
	call := collective.Call{Tag: isTag}
	numbers, err := collective.Combine(ctx, s.group, call, collective.SumUint64, uint64(s.passed),
		disorder, n-m, add-add2, mix-mix2)
	if err != nil {
		return 0, false, err
	}
	s.passed = 0
	// On successive ranks with keys, the greatest key of one must not exceed the least of the next.
	var ends []uint32
	if len(ranked) > 0 {
		ends = []uint32{ranked[0], ranked[len(ranked)-1]}
	}
	everybody, err := s.group.Allgather(ctx, collective.Call{Tag: isTag, Bytes: 2 * keyBytes},
		wire.Bytes(ends))
	if err != nil {
		return 0, false, err
	}
	var border []uint32
	for _, data := range everybody {
		border = append(border, wire.Slice[uint32](data)...)
	}
	if !slices.IsSorted(border) {
		numbers[1]++
	}
	return int(numbers[0]), cmp.Or(numbers[1], numbers[2], numbers[3], numbers[4]) == 0, nil
}

// Operations returns the number of ranked keys in all iterations, as NPB counts it.
func (s ISSize) Operations() float64 { return float64(rankings) * float64(s.Keys) }

// Passes returns the number of tests that must pass.
func (s ISSize) Passes() int { return rankings * len(s.Tests) }

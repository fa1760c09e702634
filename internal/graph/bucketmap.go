package graph

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
)

// BlockArcs is the largest number of arcs in a block for a bucket.
const BlockArcs = staged

// BucketMap maps arcs to buckets of all ranks, and to the arcs' codes in their buckets.
type BucketMap struct {
	// Rank has the rank of each bucket. They are numbered in the order of ranks. First has the
	// first bucket of each rank.
	Rank  []int32
	First []int

	idBits uint
	deal   kernel.Deal
	find   [][]uint64 // by partition and row place: bucket << 32 | the bucket's first row
	wide   bool       // some codes have more than narrowBits bits
}

// Plan describes the buckets of a Scatter: the first row of each, by partition. Wide means that an
// arc has wideBits bits.
type Plan struct {
	Wide  bool
	First map[int][]uint32
}

// Plan returns the plan of a Scatter.
func (s *Scatter) Plan() Plan {
	plan := Plan{s.arcBits == wideBits, map[int][]uint32{}}
	for p := range s.a.g.here() {
		plan.First[p.Index] = []uint32{}
	}
	for i := range s.buckets {
		k := &s.buckets[i]
		plan.First[k.part] = append(plan.First[k.part], k.row)
	}
	return plan
}

// NewBucketMap makes a BucketMap from the plans of all ranks, for a graph of n vertices.
func NewBucketMap(n int, deal kernel.Deal, plans ...Plan) (*BucketMap, error) {
	d := &BucketMap{
		idBits: idBits(n), deal: deal, find: make([][]uint64, deal.Partitions()),
	}
	for rank, plan := range plans {
		if err := d.add(n, plan); err != nil {
			return nil, fmt.Errorf("from rank %d: %w", rank, err)
		}
	}
	for p, find := range d.find {
		if find == nil {
			return nil, fmt.Errorf("%w: no plan of partition %d", errMessage, p)
		}
	}
	return d, nil
}

func (d *BucketMap) add(n int, plan Plan) error {
	d.wide = d.wide || plan.Wide
	d.First = append(d.First, len(d.Rank))
	for _, p := range slices.Sorted(maps.Keys(plan.First)) {
		first := plan.First[p]
		buckets := len(first)
		if p < 0 || p >= len(d.find) || d.find[p] != nil || len(d.Rank)+buckets > math.MaxInt32 {
			return fmt.Errorf("%w: %d buckets of partition %d", errMessage, buckets, p)
		}
		rows := d.deal.Owned(n, p)
		if buckets > 0 && (first[0] != 0 || int(first[buckets-1]) >= rows ||
			!slices.IsSorted(first)) {
			return fmt.Errorf("%w: the buckets of partition %d", errMessage, p)
		}
		d.find[p] = make([]uint64, place(uint32(rows))+1)
		k := 0
		for i := range d.find[p] {
			for row := rowOf(uint32(i)); k+1 < buckets && first[k+1] <= row; k++ {
			}
			if buckets > 0 {
				d.find[p][i] = uint64(len(d.Rank)+k)<<32 | uint64(first[k])
			}
		}
		d.Rank = append(d.Rank, slices.Repeat([]int32{int32(len(d.First) - 1)}, buckets)...)
	}
	return nil
}

// High returns the number of bytes of a code in addition to its low 32 bits.
func (d *BucketMap) High() int {
	if d.wide {
		return 1
	}
	return 0
}

// Locate finds the buckets of arcs, and their codes in the buckets. All slices have the same
// length.
func (d *BucketMap) Locate(rows, neighbors, buckets []uint32, codes []uint64) {
	neighbors, buckets, codes = neighbors[:len(rows)], buckets[:len(rows)], codes[:len(rows)]
	shift := d.idBits & 63
	if len(d.find) == 1 {
		find := d.find[0]
		for i, v := range rows {
			k := find[place(v)]
			buckets[i] = uint32(k >> 32)
			codes[i] = uint64(v-uint32(k))<<shift | uint64(neighbors[i])
		}
		return
	}
	for i, v := range rows {
		p, row := d.deal.Of(v)
		k := d.find[p][place(row)]
		buckets[i] = uint32(k >> 32)
		codes[i] = uint64(row-uint32(k))<<shift | uint64(neighbors[i])
	}
}

// Block adds arcs to one of the Scatter's buckets: the low 32 bits of their codes, another byte of
// each if BucketMap.High returns 1, and their weights, if the graph has any. The workers of the
// team may call it at the same time.
func (s *Scatter) Block(by int, bucket uint64, low []uint32, high []uint8, w WeightColumn) error {
	if bucket >= uint64(len(s.buckets)) {
		return fmt.Errorf("%w: arcs of bucket %d of %d", errMessage, bucket, len(s.buckets))
	}
	rows, n, shift := uint64(s.buckets[bucket].rows), uint64(s.a.g.N), s.idBits&63
	ids, wrong := uint64(1)<<shift-1, false
	for i, x := range low {
		code := uint64(x)
		if high != nil {
			code |= uint64(high[i]) << narrowBits
		}
		if code&ids >= n || code>>shift >= rows {
			wrong = true
		}
	}
	if wrong {
		return fmt.Errorf("%w: an arc of bucket %d", errMessage, bucket)
	}
	st := s.stage(by)
	if len(low) == staged && s.place(&st.runs[bucket], low) {
		return nil
	}
	some := coded{low: low, w: w}
	if s.high != nil {
		some.high = high
	}
	s.write(st, uint32(bucket), &some)
	return nil
}

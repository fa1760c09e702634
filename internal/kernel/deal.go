package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
)

// Deal is how vertices are dealt to partitions: one by one in turn, or in blocks of consecutive ids,
// so that vertices with near input ids belong to the same partition. Within a partition, vertices
// are in the order of their ids.
//
// Blocks are dealt by their classes: consecutive blocks with vertices of the same degree, which are
// in the order of the input. A class is cut into stripes, which go to the partitions forwards and
// backwards. So the same stripe of all classes has about the same part of the input. For example,
// of two partitions and two classes:
//
//	block       0 1 2 3 4 5 6 7 8 ... 96 97 98 99 ...
//	stripe      0 0 0 1 1 1 2 2 2 ...  0  1  2  3 ...
//	partition   0 0 0 1 1 1 1 1 1 ...  0  1  1  0 ...
type Deal struct {
	partitions uint64
	inverse    uint64 // 2^64 / partitions, rounded up
	blocks     *blocks
}

// blocks has a place for each block. The blocks after these go to the partitions in turn.
type blocks struct {
	text   string
	shift  uint8
	places []place
	of     [][]uint32 // the numbers of each partition's blocks
}

// place is a partition, and the local index of a block's first vertex.
type place struct{ partition, local uint32 }

const (
	// Stripes is the number of stripes of a class for each partition.
	Stripes = 16

	// MaxClasses is the largest number of classes.
	MaxClasses = 1024

	minBlock, maxBlock = 64, 1 << 26 // a word of vertices has consecutive ids
	maxBlocks          = 1 << 22
)

// NewDeal deals vertices one by one.
func NewDeal(partitions int) Deal {
	return Deal{partitions: uint64(partitions), inverse: math.MaxUint64/uint64(partitions) + 1}
}

// ParseDeal returns the deal with a text: the length of blocks, and the number of blocks of each
// class. Without a text vertices are dealt one by one.
//
//	512:2867,1291,230,6
func ParseDeal(partitions int, text string) (Deal, error) {
	d := NewDeal(partitions)
	if text == "" || partitions == 1 {
		return d, nil
	}
	length, classes, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < minBlock || n > maxBlock || n&(n-1) != 0 {
		return d, fmt.Errorf("found blocks of %.20q vertices, expected a power of two from %d to %d",
			length, minBlock, maxBlock)
	}
	b := &blocks{text: text, of: make([][]uint32, partitions)}
	b.shift = uint8(bits.TrailingZeros(uint(n)))
	for _, class := range strings.SplitN(classes, ",", MaxClasses) {
		n, err := strconv.Atoi(class)
		if classes == "" {
			break
		} else if err != nil || n < 1 || n > maxBlocks-len(b.places) {
			return d, errors.New("found a class with a wrong number of blocks")
		}
		b.deal(n)
	}
	d.blocks = b
	return d, nil
}

// deal deals the n blocks of a class. All partitions get the same number, or one more.
func (b *blocks) deal(n int) {
	parts, before := len(b.of), len(b.places)
	for i := range Stripes * parts {
		round, q := i/parts, i%parts
		if round%2 == 1 { // backwards, so two stripes of the last partition are one
			q = parts - 1 - q
		}
		share := n / parts
		if (q+before)%parts < n%parts {
			share++
		}
		// The round's part of the share, which is rounded up in other rounds than that of partitions
		// near q, so that all classes have their stripes at the same places. 40503 is 2^16 divided by
		// the golden ratio.
		up := q * 40503 & (1<<16 - 1)
		from, to := (round*share<<16/Stripes+up)>>16, ((round+1)*share<<16/Stripes+up)>>16
		for ; from < to; from++ {
			b.places = append(b.places, place{uint32(q), uint32(len(b.of[q])) << b.shift})
			b.of[q] = append(b.of[q], uint32(len(b.places)-1))
		}
	}
}

// Partitions returns the number of partitions.
func (d Deal) Partitions() int { return int(d.partitions) }

func (d Deal) String() string {
	if d.blocks == nil {
		return ""
	}
	return d.blocks.text
}

// Of returns the partition that owns a vertex, and the vertex's local index there. It divides with
// a multiplication (Lemire, Kaser, Kurz 2019).
func (d Deal) Of(id uint32) (partition int, local uint32) {
	if d.blocks != nil {
		return d.blocks.find(id)
	}
	if d.partitions == 1 {
		return 0, id
	}
	round, _ := bits.Mul64(d.inverse, uint64(id))
	return int(uint64(id) - round*d.partitions), uint32(round)
}

func (b *blocks) find(id uint32) (partition int, local uint32) {
	k, rest := int(id>>(b.shift&31)), id&(1<<(b.shift&31)-1)
	if k < len(b.places) {
		at := b.places[k]
		return int(at.partition), at.local | rest
	}
	k -= len(b.places)
	partition = k % len(b.of)
	return partition, uint32(len(b.of[partition])+k/len(b.of))<<b.shift | rest
}

// block returns the number of a partition's i-th block.
func (b *blocks) block(partition, i int) uint32 {
	if i < len(b.of[partition]) {
		return b.of[partition][i]
	}
	return uint32(len(b.places) + (i-len(b.of[partition]))*len(b.of) + partition)
}

// ID returns the vertex with a local index in a partition.
func (d Deal) ID(partition int, local uint32) uint64 {
	if b := d.blocks; b != nil {
		return uint64(b.block(partition, int(local>>b.shift)))<<b.shift | uint64(local&(1<<b.shift-1))
	}
	return uint64(local)*d.partitions + uint64(partition)
}

// Owned returns how many of the first n vertices belong to a partition.
func (d Deal) Owned(n, partition int) int {
	if b := d.blocks; b != nil {
		k, _ := sort.Find(n>>b.shift+1, func(i int) int {
			return n>>b.shift - int(b.block(partition, i))
		})
		return k<<b.shift + min(max(n-int(b.block(partition, k))<<b.shift, 0), 1<<b.shift)
	}
	return (n - partition + int(d.partitions) - 1) / int(d.partitions)
}

// Most bounds how many of the first n vertices belong to a partition.
func (d Deal) Most(n int) int {
	b := d.blocks
	if b == nil {
		return d.Owned(n, 0)
	}
	most := 0
	for _, of := range b.of {
		most = max(most, len(of))
	}
	return (most + max(n>>b.shift-len(b.places), 0)/len(b.of) + 1) << b.shift
}

// Slots returns the slots of a partition's vertices, of which there are owned.
func (d Deal) Slots(partition, owned int) Slots {
	s := Slots{First: uint64(partition), Stride: d.partitions, Ghost: uint32((owned + 63) &^ 63)}
	if b := d.blocks; b != nil {
		s.Stride, s.Shift = 1, b.shift
		s.Blocks = make([]uint32, (owned+1<<b.shift-1)>>b.shift) // not nil, even if it is empty
		for i := range s.Blocks {
			s.Blocks[i] = b.block(partition, i)
		}
	}
	return s
}

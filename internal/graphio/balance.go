package graphio

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// balance tells whether in lists of neighbours each edge is as often in the list of one end as in
// that of the other: a number drawn from the pair by a hash is added for the smaller end, and
// subtracted for the larger. The sums of lists that agree are 0; of others they are with a
// probability of 2^-128.
type balance [2]uint64

func (b *balance) add(c balance) {
	b[0] += c[0]
	b[1] += c[1]
}

// edge counts v in the list of u, with the weight of the edge, which must be the same in both
// lists. 0 is what edges without weights have.
func (b *balance) edge(u, v uint64, w float64) {
	h := hashPair(min(u, v), max(u, v))
	if w != 0 {
		h = hashPair(h[0]^math.Float64bits(w), h[1])
	}
	switch {
	case u < v:
		b.add(h)
	case u > v:
		b[0] -= h[0]
		b[1] -= h[1]
	}
}

// hashPair hashes two ids: multiplications of 64 by 64 bits whose halves are mixed, twice (as
// wyhash has it, W. Yi 2019).
func hashPair(u, v uint64) balance {
	mix := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	a := mix(u^0x9e3779b97f4a7c15, v^0xd1b54a32d192ed03)
	b := mix(u^0xaef17502108ef2d9, v^0x8cb92ba72f3d8dd7)
	return balance{mix(a^0xe7037ed1a0b428db, b^v), mix(b^0xa0761d6478bd642f, a^u)}
}

// bothLines is what is expected of undirected edges.
func (d lists) bothLines() string {
	text := "an undirected edge in the lines of both its ends"
	if _, metis := d.own.(metisLists); metis { // which cannot be read as directed
		return text
	}
	return text + " (--directed reads lists of one direction)"
}

// candidates is how many pairs of lists are looked up at a time to find the first that does not
// agree: their memory is bounded.
const candidates = 1 << 18

// unbalanced is the fault of the first line of lists that has a neighbour more often than it is a
// neighbour of that.
func (r *reader) unbalanced(ctx context.Context, f *file, d lists) error {
	if !f.regular { // it cannot be read again
		return fileFault(f.path, "edges that are in the line of one end alone", d.bothLines())
	}
	for seen := 0; ; {
		counts := map[[2]uint64]int{}
		var order [][4]uint64 // the line, its vertex, a neighbour, and which this is
		at := 0
		if err := eachList(f, d, func(_ int64, line int, _ []byte, u uint64, neighbors []uint64) bool {
			for i, v := range neighbors {
				if at++; at > seen && u != v {
					order = append(order, [4]uint64{uint64(line), u, v, uint64(i)})
					counts[[2]uint64{min(u, v), max(u, v)}] = 0
				}
			}
			return len(order) < candidates && ctx.Err() == nil
		}); err != nil {
			return err
		}
		seen = at
		if len(order) == 0 || ctx.Err() != nil {
			break
		}
		if err := eachList(f, d, func(_ int64, _ int, _ []byte, u uint64, neighbors []uint64) bool {
			for _, v := range neighbors {
				key := [2]uint64{min(u, v), max(u, v)}
				if n, ok := counts[key]; ok && u < v {
					counts[key] = n + 1
				} else if ok {
					counts[key] = n - 1
				}
			}
			return ctx.Err() == nil
		}); err != nil {
			return err
		}
		for _, o := range order {
			line, u, v := int(o[0]), o[1], o[2]
			if n := counts[[2]uint64{min(u, v), max(u, v)}]; n > 0 && u < v || n < 0 && u > v {
				bad := &fault{
					file: f.path, line: line, column: 1, found: fmt.Sprintf("%d among the neighbours of %d", v, u),
					expected: fmt.Sprintf("%d among those of %d as often: %s", u, v, d.bothLines()),
				}
				return cmp.Or(eachList(f, d, func(_ int64, number int, text []byte, _ uint64, _ []uint64) bool {
					if number == line {
						bad.column = d.columnOf(text, int(o[3]))
					}
					return number < line
				}), error(bad))
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, plain := d.own.(adjacencyLists); !plain && f.unchanged() == nil {
		return fileFault(f.path, "edges whose weight is another in the list of the other end", "the same weight in the lists of both ends")
	}
	return f.changed("lists that agree")
}

// endOfLists is the error of lists that have been read to their end, or why not.
func endOfLists(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

package graphio

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// balance tells whether lists of neighbours are symmetric: whether v is as often in the list of u
// as u in the list of v. A hash of the pair is added for the smaller end and subtracted for the
// larger. The sum of symmetric lists is 0. The sum of other lists is 0 with a probability of
// 2^-128.
type balance [2]uint64

func (b *balance) add(c balance) {
	b[0] += c[0]
	b[1] += c[1]
}

// edge counts v in the list of u, with the weight of the edge: the same weight must be in both
// lists. Edges without weights have w = 0.
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

// hashPair hashes two ids as wyhash does (W. Yi 2019): twice, it multiplies 64 by 64 bits and mixes
// the halves of the product.
func hashPair(u, v uint64) balance {
	mix := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	a := mix(u^0x9e3779b97f4a7c15, v^0xd1b54a32d192ed03)
	b := mix(u^0xaef17502108ef2d9, v^0x8cb92ba72f3d8dd7)
	return balance{mix(a^0xe7037ed1a0b428db, b^v), mix(b^0xa0761d6478bd642f, a^u)}
}

// To find the first unbalanced pair, pairs are divided by their hashes into hashParts parts. At
// most candidates pairs of the unbalanced parts are counted. Both bound the memory.
const hashParts, candidates = 1 << 16, 1 << 20

// unbalanced returns a function that finds the first line with an unbalanced neighbour: v is more
// often in the list of u than u in the list of v.
func (r *reader) unbalanced(x textFile) func(ctx context.Context) error {
	x.twice = false // otherwise only the lists of the smaller ends are read
	both := "an undirected edge in the lines of both its ends"
	metis := x.low == 1 // its ids begin with 1
	plain := !metis && x.columns == 2
	if !metis { // METIS graphs cannot be read as directed
		both += " (--directed reads lists of one direction)"
	}
	return func(ctx context.Context) error {
		bad := x.f.fault("edges that are in the line of one end alone", both)
		if !x.f.regular { // a pipe cannot be read again
			return bad
		}
		err := firstUnbalanced(bad, both, plain, func(do eachPair) error {
			return r.again(ctx, x, func(p *parser, _ int64, line int, text []byte) bool {
				for i := 0; i < len(p.ids); i += 2 {
					if u, v := p.ids[i], p.ids[i+1]; u != v && !do(line, text, u, v) {
						return false
					}
				}
				return ctx.Err() == nil
			})
		})
		switch {
		case err != nil || bad.line > 0:
			return cmp.Or(err, error(bad))
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !plain && x.f.unchanged(ctx) == nil:
			return x.f.fault("edges with different weights in the lists of their two ends",
				"the same weight in the lists of both ends")
		}
		return x.f.changed("lists that agree")
	}
}

// eachPair is called with a neighbour v of u, and the line of both. It returns false to end.
type eachPair func(line int, text []byte, u, v uint64) bool

// firstUnbalanced sets the place of a fault to the first pair that is not as often in the list of
// one end as in that of the other. pairs calls do with all pairs in order, until do returns false.
// The first pass computes the balance of each part, the second counts the candidates, and the third
// finds the first pair. plain means that lines are ids separated by blanks.
func firstUnbalanced(bad *fault, both string, plain bool, pairs func(do eachPair) error) error {
	parts := make([]balance, hashParts)
	part := func(u, v uint64) *balance {
		return &parts[hashPair(min(u, v), max(u, v))[0]%hashParts]
	}
	counts := map[[2]uint64]int{}
	for _, do := range []eachPair{
		func(_ int, _ []byte, u, v uint64) bool {
			part(u, v).edge(u, v, 0)
			return true
		},
		func(_ int, _ []byte, u, v uint64) bool {
			pair := [2]uint64{min(u, v), max(u, v)}
			if _, ok := counts[pair]; *part(u, v) != (balance{}) &&
				(ok || len(counts) < candidates) {
				counts[pair] += cmp.Compare(v, u)
			}
			return true
		},
		func(line int, text []byte, u, v uint64) bool {
			if counts[[2]uint64{min(u, v), max(u, v)}]*cmp.Compare(v, u) <= 0 {
				return true // not more often than in the other list
			}
			if bad.line, bad.column = line, 1; plain {
				bad.column = columnOf(text, v)
			}
			bad.found = fmt.Sprintf("%d among the neighbours of %d", v, u)
			bad.expected = fmt.Sprintf("%d among those of %d as often: %s", u, v, both)
			return false
		},
	} {
		if err := pairs(do); err != nil {
			return err
		}
	}
	if bad.line == 0 && len(counts) == candidates {
		return bad // very many pairs differ: the place is left out
	}
	return nil
}

// endOfLists returns nil at the end of the file, and any other error unchanged.
func endOfLists(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

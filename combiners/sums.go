package combiners

import (
	"math/bits"
	"unsafe"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// A sum of all in-neighbours' messages is what PageRank waits for, and one addition waits for the other. So four sums run along a list, and messages are
// read without a check of bounds, which takes a tenth: hence package unsafe, in this file alone. What is read lies in the column, for the graph's
// lists have none but its slots.

// at returns element i of a column.
func at[S any, I uint16 | uint32](column *S, i I) S {
	return *(*S)(unsafe.Add(unsafe.Pointer(column), uintptr(i)*unsafe.Sizeof(*column)))
}

// addAll adds, for all vertices of word w that have in-edges, what their in-neighbours sent, which is in read by what adj says, to in if the vertex
// is of found; else in is set. It holds no more variables than there are registers.
func addAll[M, S pregel.Number, I uint16 | uint32](l *kernel.Lists, adj []I, read []S, w int, found uint64, in *[64]M) (uint64, int) {
	rows, column := l.Bits[w], unsafe.SliceData(read)
	starts := l.Starts[l.Rank[w]:][:bits.OnesCount64(rows)+1]
	lo := starts[0]
	for _, hi := range starts[1:] {
		i, list := uint(bits.TrailingZeros64(rows))&63, adj[lo:hi]
		rows, lo = rows&(rows-1), hi
		var sum, sum1, sum2, sum3 M
		if found>>i&1 != 0 {
			sum = in[i]
		}
		j := 0
		for ; j <= len(list)-4; j += 4 {
			four := (*[4]I)(list[j:])
			sum += M(at(column, four[0]))
			sum1 += M(at(column, four[1]))
			sum2 += M(at(column, four[2]))
			sum3 += M(at(column, four[3]))
		}
		sum += sum1 + (sum2 + sum3)
		for ; j < len(list); j++ {
			sum += M(at(column, list[j]))
		}
		in[i] = sum
	}
	return found | l.Bits[w], int(lo - starts[0])
}

// addInOrder is addAll for the vertices of need, in the order of each list.
func addInOrder[M, S pregel.Number, I uint16 | uint32](l *kernel.Lists, adj []I, read []S, w int, need, found uint64, in *[64]M) (uint64, int) {
	rows, base, walked := l.Bits[w], l.Rank[w], 0
	for rest := need; rest != 0; rest &= rest - 1 {
		i := uint(bits.TrailingZeros64(rest)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		list := adj[l.Starts[r]:l.Starts[r+1]]
		walked += len(list)
		var sum M
		if found>>i&1 != 0 {
			sum = in[i]
		}
		for _, s := range list {
			sum += M(read[s])
		}
		in[i] = sum
	}
	return found | need, walked
}

// add adds what all in-neighbours of the vertices of need sent.
func add[M, S pregel.Number](p *kernel.Pull, read []S, w int, need, found uint64, in *[64]M, ordered bool) (uint64, int) {
	need &= p.Bits[w]
	some := ordered || need != p.Bits[w]
	switch {
	case need == 0:
		return found, 0
	case p.Adj16 != nil && some:
		return addInOrder(p.Lists, p.Adj16, read[p.First:], w, need, found, in)
	case p.Adj16 != nil:
		return addAll(p.Lists, p.Adj16, read[p.First:], w, found, in)
	case some:
		return addInOrder(p.Lists, p.Adj, read, w, need, found, in)
	}
	return addAll(p.Lists, p.Adj, read, w, found, in)
}

// pullAll is Pull when every in-neighbour sent.
func (k *sumKernel[T]) pullAll(p *kernel.Pull, w int, need, found uint64, in *[64]T) (uint64, int) {
	return add(p, k.Read, w, need, found, in, k.ordered)
}

// pullAll is Pull when every in-neighbour sent.
func (k *narrowSumKernel) pullAll(p *kernel.Pull, w int, need, found uint64, in *[64]float64) (uint64, int) {
	return add(p, k.Read, w, need, found, in, k.ordered)
}

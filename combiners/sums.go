package combiners

import (
	"math/bits"
	"unsafe"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// PageRank spends its time in the sum of all in-neighbours' messages, where each addition waits for
// the one before it. So four independent sums run along a list. Messages are read without bounds
// checks, which would take a tenth of the time: therefore this file uses package unsafe, alone in
// this package. All reads are in bounds, because the graph's lists contain only slots of the
// column.

// at returns element i of a column.
func at[S any, I uint16 | uint32](column *S, i I) S {
	return *(*S)(unsafe.Add(unsafe.Pointer(column), uintptr(i)*unsafe.Sizeof(*column)))
}

// sumOf adds a list's messages to sum. It is a separate function so that all variables of the loop
// fit into registers.
func sumOf[T pregel.Number, I uint16 | uint32](sum T, list []I, column *T) T {
	var sum1, sum2, sum3 T
	j := 0
	for ; j <= len(list)-4; j += 4 {
		four := (*[4]I)(list[j:])
		sum += at(column, four[0])
		sum1 += at(column, four[1])
		sum2 += at(column, four[2])
		sum3 += at(column, four[3])
	}
	sum += sum1 + (sum2 + sum3)
	for ; j < len(list); j++ {
		sum += at(column, list[j])
	}
	return sum
}

// addAll sums, for all vertices of word w that have in-edges, the in-neighbours' messages, which
// are in read. It adds the sum to in for the vertices of found, and sets in for all others.
func addAll[T pregel.Number](
	l *kernel.Lists, read []T, w int, found uint64, in *[64]T,
) (uint64, int) {
	rows, column := l.Bits[w], unsafe.SliceData(read)
	if l.Same != nil && l.Same[w]-1 < 4 {
		return found | rows, addSame(l, l.Same[w], w, found, column, in)
	}
	starts := l.Starts[l.Rank[w]:][:bits.OnesCount64(rows)+1]
	lo := starts[0]
	for _, hi := range starts[1:] {
		i, list := uint(bits.TrailingZeros64(rows))&63, l.Adj[lo:hi]
		rows, lo = rows&(rows-1), hi
		var sum T
		if found>>i&1 != 0 {
			sum = in[i]
		}
		if len(list) > 4 {
			in[i] = sumOf(sum, list, column)
			continue
		}
		for _, s := range list {
			sum += at(column, s)
		}
		in[i] = sum
	}
	return found | l.Bits[w], int(lo - starts[0])
}

// addSame is addAll for a word whose lists all have the same length, from 1 to 4.
func addSame[T pregel.Number](
	l *kernel.Lists, length uint32, w int, found uint64, column *T, in *[64]T,
) (walked int) {
	lo, adj := l.Starts[l.Rank[w]], unsafe.SliceData(l.Adj)
	for rows := l.Bits[w]; rows != 0; rows &= rows - 1 {
		i := uint(bits.TrailingZeros64(rows)) & 63
		var sum T
		if found>>i&1 != 0 {
			sum = in[i]
		}
		sum += at(column, at(adj, lo))
		if length > 1 {
			sum += at(column, at(adj, lo+1))
			if length > 2 {
				sum += at(column, at(adj, lo+2))
				if length > 3 {
					sum += at(column, at(adj, lo+3))
				}
			}
		}
		in[i] = sum
		lo += length
	}
	return bits.OnesCount64(l.Bits[w]) * int(length)
}

// addInOrder is addAll for the vertices of need. It adds in the order of each list.
func addInOrder[T pregel.Number](
	l *kernel.Lists, read []T, w int, need, found uint64, in *[64]T,
) (uint64, int) {
	rows, base, walked := l.Bits[w], l.Rank[w], 0
	for rest := need; rest != 0; rest &= rest - 1 {
		i := uint(bits.TrailingZeros64(rest)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		list := l.Adj[l.Starts[r]:l.Starts[r+1]]
		walked += len(list)
		var sum T
		if found>>i&1 != 0 {
			sum = in[i]
		}
		for _, s := range list {
			sum += read[s]
		}
		in[i] = sum
	}
	return found | need, walked
}

// pullAll is Pull if every in-neighbour sent.
func (k *sumKernel[T]) pullAll(p *kernel.Pull, w int, need, found uint64, in *[64]T) (uint64, int) {
	need &= p.Bits[w]
	switch {
	case need == 0:
		return found, 0
	case k.ordered || need != p.Bits[w]:
		return addInOrder(p.Lists, k.Read, w, need, found, in)
	}
	return addAll(p.Lists, k.Read, w, found, in)
}

// AddTile adds the messages along a tile's edges to the sums in the column being written.
func (k *sumKernel[T]) AddTile(t *kernel.Tile, w int) {
	addTile(t, k.Read, k.Write[w<<6:], k.ordered)
}

func addTile[T pregel.Number](t *kernel.Tile, read, sums []T, ordered bool) {
	column, rows, arcs := unsafe.SliceData(read[t.First:]), t.Rows, t.Arcs
	for len(rows) > 0 {
		length, receivers := int(rows[0])+1, rows[2:][:rows[1]]
		rows = rows[2+len(receivers):]
		lists := arcs[:length*len(receivers)]
		arcs = arcs[len(lists):]
		switch {
		case ordered:
			for _, i := range receivers {
				sum := sums[i]
				for _, s := range lists[:length] {
					sum += at(column, s)
				}
				sums[i], lists = sum, lists[length:]
			}
		case length == 1:
			for j, i := range receivers[:len(lists)] {
				sums[i] += at(column, lists[j])
			}
		case length == 2:
			for _, i := range receivers {
				two := (*[2]uint16)(lists)
				sums[i] += at(column, two[0]) + at(column, two[1])
				lists = lists[2:]
			}
		case length == 3:
			for _, i := range receivers {
				three := (*[3]uint16)(lists)
				sums[i] += at(column, three[0]) + at(column, three[1]) + at(column, three[2])
				lists = lists[3:]
			}
		default:
			for _, i := range receivers {
				sums[i] = sumOf(sums[i], lists[:length], column)
				lists = lists[length:]
			}
		}
	}
}

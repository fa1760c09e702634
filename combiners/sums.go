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
func sumOf[M, S pregel.Number, I uint16 | uint32](sum M, list []I, column *S) M {
	var sum1, sum2, sum3 M
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
	return sum
}

// addAll sums, for all vertices of word w that have in-edges, the in-neighbours' messages, which
// are in read. It adds the sum to in for the vertices of found, and sets in for all others.
func addAll[M, S pregel.Number](l *kernel.Lists, read []S, w int, found uint64, in *[64]M) (uint64, int) {
	rows, column := l.Bits[w], unsafe.SliceData(read)
	starts := l.Starts[l.Rank[w]:][:bits.OnesCount64(rows)+1]
	lo := starts[0]
	for _, hi := range starts[1:] {
		i, list := uint(bits.TrailingZeros64(rows))&63, l.Adj[lo:hi]
		rows, lo = rows&(rows-1), hi
		var sum M
		if found>>i&1 != 0 {
			sum = in[i]
		}
		if len(list) > 4 {
			in[i] = sumOf(sum, list, column)
			continue
		}
		for _, s := range list {
			sum += M(at(column, s))
		}
		in[i] = sum
	}
	return found | l.Bits[w], int(lo - starts[0])
}

// addInOrder is addAll for the vertices of need. It adds in the order of each list.
func addInOrder[M, S pregel.Number](l *kernel.Lists, read []S, w int, need, found uint64, in *[64]M) (uint64, int) {
	rows, base, walked := l.Bits[w], l.Rank[w], 0
	for rest := need; rest != 0; rest &= rest - 1 {
		i := uint(bits.TrailingZeros64(rest)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		list := l.Adj[l.Starts[r]:l.Starts[r+1]]
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

// add sums the messages of all in-neighbours for the vertices of need.
func add[M, S pregel.Number](p *kernel.Pull, read []S, w int, need, found uint64, in *[64]M, ordered bool) (uint64, int) {
	need &= p.Bits[w]
	switch {
	case need == 0:
		return found, 0
	case ordered || need != p.Bits[w]:
		return addInOrder(p.Lists, read, w, need, found, in)
	}
	return addAll(p.Lists, read, w, found, in)
}

// pullAll is Pull if every in-neighbour sent.
func (k *sumKernel[T]) pullAll(p *kernel.Pull, w int, need, found uint64, in *[64]T) (uint64, int) {
	return add(p, k.Read, w, need, found, in, k.ordered)
}

// pullAll is Pull if every in-neighbour sent.
func (k *narrowSumKernel) pullAll(p *kernel.Pull, w int, need, found uint64, in *[64]float64) (uint64, int) {
	return add(p, k.Read, w, need, found, in, k.ordered)
}

// AddTile adds the messages along a tile's edges to sums.
func (k *sumKernel[T]) AddTile(t *kernel.Tile, w int, sums []T) {
	if sums == nil {
		sums = k.Write
	}
	addTile(t, k.Read, sums[w<<6:], k.ordered)
}

// AddTile adds the messages along a tile's edges to sums.
func (k *narrowSumKernel) AddTile(t *kernel.Tile, w int, sums []float64) {
	addTile(t, k.Read, sums[w<<6:], k.ordered)
}

func addTile[M, S pregel.Number](t *kernel.Tile, read []S, sums []M, ordered bool) {
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
					sum += M(at(column, s))
				}
				sums[i], lists = sum, lists[length:]
			}
		case length == 1:
			for j, i := range receivers[:len(lists)] {
				sums[i] += M(at(column, lists[j]))
			}
		case length == 2:
			for _, i := range receivers {
				two := (*[2]uint16)(lists)
				sums[i] += M(at(column, two[0])) + M(at(column, two[1]))
				lists = lists[2:]
			}
		case length == 3:
			for _, i := range receivers {
				three := (*[3]uint16)(lists)
				sums[i] += M(at(column, three[0])) + M(at(column, three[1])) +
					M(at(column, three[2]))
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

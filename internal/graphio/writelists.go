package graphio

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// neighborLists has the neighbours of all vertices in one array. Those of vertex v are
// neighbors[starts[v]:starts[v+1]].
type neighborLists struct {
	starts    []int64
	neighbors []listed
}

type listed struct {
	vertex uint32
	weight float64
}

// of returns the neighbours of a vertex.
func (l *neighborLists) of(v int) []listed { return l.neighbors[l.starts[v]:l.starts[v+1]] }

// lists makes the sorted lists of n vertices: of out-neighbours, of in-neighbours if reversed is
// true, or of all neighbours in an undirected graph. A loop is in its list once, or not at all if
// loops is false.
func (w *writer) lists(n int, reversed, loops bool) (*neighborLists, error) {
	most := int64(w.in.Edges.Len())
	if !w.in.Directed {
		most *= 2
	}
	limit := admission{"writing " + w.path, mem.Room}
	limit.admit(16*most+8*int64(n), "the array of its neighbours")
	l := &neighborLists{starts: make([]int64, n+2)}
	each := func(f func(u, v uint64, x float64)) error {
		return w.inOrder(func(_ int, b *edges.Block) error {
			for j := range b.N {
				u, v := b.U[j], b.V[j]
				if u == v && !loops {
					continue
				}
				if !reversed {
					f(u, v, b.W[j])
				}
				if reversed || !w.in.Directed && u != v {
					f(v, u, b.W[j])
				}
			}
			return nil
		})
	}
	// Degrees are counted at index v+2. While the lists are filled, starts[v+1] is the position of
	// v's next neighbour. In the end it is the end of v's list.
	err := each(func(u, _ uint64, _ float64) { l.starts[u+2]++ })
	if err != nil {
		return nil, err
	}
	for v := 2; v < n+2; v++ {
		l.starts[v] += l.starts[v-1]
	}
	l.neighbors = make([]listed, l.starts[n+1])
	err = each(func(u, v uint64, x float64) {
		l.neighbors[l.starts[u+1]] = listed{uint32(v), x}
		l.starts[u+1]++
	})
	if err != nil {
		return nil, err
	}
	l.starts = l.starts[:n+1]
	w.Team.For(n, 1024, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			slices.SortFunc(l.of(v), func(a, b listed) int {
				return cmp.Or(cmp.Compare(a.vertex, b.vertex), cmp.Compare(a.weight, b.weight))
			})
		}
	})
	return l, nil
}

// metis writes a METIS graph. Its vertices are numbered from 1.
func (w *writer) metis() error {
	if w.in.Directed {
		return fmt.Errorf("format metis holds undirected graphs, the graph is directed")
	}
	vertices, err := w.fromOne()
	if err != nil {
		return err
	}
	l, err := w.lists(vertices, false, false)
	if err != nil {
		return err
	}
	n := len(l.neighbors) / 2
	if loops := w.in.Edges.Len() - n; loops > 0 {
		w.warn("%s not written: format metis has none", Counted(loops, "loop is", "loops are"))
	}
	weighted := w.in.Edges.Weighted()
	header := fmt.Sprintf("%d %d\n", vertices, n)
	if weighted {
		header = fmt.Sprintf("%d %d 001\n", vertices, n)
		if slices.ContainsFunc(l.neighbors,
			func(x listed) bool { return x.weight != math.Trunc(x.weight) || x.weight < 1 }) {
			w.warn("some weights are no whole numbers from 1 on: the program METIS takes no others")
		}
	}
	out, err := w.create(w.path, w.codec, header)
	if err != nil {
		return err
	}
	list := func(_ int, dst []byte, v int) ([]byte, error) {
		for i, x := range l.of(v) {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = strconv.AppendUint(dst, uint64(x.vertex)+1, 10)
			if weighted {
				dst = AppendFloat(append(dst, ' '), x.weight, 64)
			}
		}
		return append(dst, '\n'), nil
	}
	return ordered(w.ctx, w.Team, out, vertices, atOnce, list, nil)
}

// serialized writes a serialized graph of GAPBS. Its lists are sorted, as GAPBS' kernels require.
func (w *writer) serialized() error {
	weighted := w.format == SerializedW
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	first, ok := consecutiveLabels(w.in.Labels, vertices)
	switch {
	case !ok || first != 0:
		return fmt.Errorf("formats sg and wsg need vertices 0 to n-1")
	case vertices > math.MaxInt32:
		return fmt.Errorf("formats sg and wsg hold at most %d vertices, the graph has %d",
			math.MaxInt32, vertices)
	case weighted && !w.in.Edges.Weighted():
		return fmt.Errorf("format wsg needs weights, the graph has none: write sg")
	}
	if !weighted && w.in.Edges.Weighted() {
		w.warn("the weights are not written: format sg has none, wsg has")
	}
	out, err := w.create(w.path, plain, "")
	if err != nil {
		return err
	}
	for _, reversed := range []bool{false, true} {
		if reversed && !w.in.Directed {
			break
		}
		l, err := w.lists(vertices, reversed, true)
		if err != nil {
			return err
		}
		if !reversed {
			head := []byte{0}
			if w.in.Directed {
				head[0] = 1
			}
			head = binary.LittleEndian.AppendUint64(head, uint64(len(l.neighbors)))
			head = binary.LittleEndian.AppendUint64(head, uint64(vertices))
			if _, err := out.Write(head); err != nil {
				return err
			}
		}
		if err := w.serializedLists(out, vertices, l, weighted); err != nil {
			return err
		}
	}
	return nil
}

// serializedLists writes the offsets and the neighbours.
func (w *writer) serializedLists(out *output, n int, l *neighborLists, weighted bool) error {
	offset := func(_ int, dst []byte, v int) ([]byte, error) {
		return binary.LittleEndian.AppendUint64(dst, uint64(l.starts[v])), nil
	}
	list := func(_ int, dst []byte, v int) ([]byte, error) {
		for _, x := range l.of(v) {
			dst = binary.LittleEndian.AppendUint32(dst, x.vertex)
			if !weighted {
				continue
			}
			if x.weight != math.Trunc(x.weight) || math.Abs(x.weight) > math.MaxInt32 {
				return nil, fmt.Errorf("found the weight %v of the edge from %d to %d, expected "+
					"a whole number of 32 bits, as format wsg has", x.weight, v, x.vertex)
			}
			dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(x.weight)))
		}
		return dst, nil
	}
	if err := ordered(w.ctx, w.Team, out, n+1, atOnce, offset, nil); err != nil {
		return err
	}
	return ordered(w.ctx, w.Team, out, n, atOnce, list, nil)
}

package nas

import (
	"cmp"
	"math"
	"slices"

	"github.com/superstep-go/superstep"
)

// Matrix is a sparse matrix in CSR: row i has Values[k] in Columns[k] for k in [Starts[i],
// Starts[i+1]).
type Matrix struct {
	Starts  []int
	Columns []uint32
	Values  []float64
}

// Rows returns the number of rows.
func (m *Matrix) Rows() int { return len(m.Starts) - 1 }

// entry is an entry of a sparse vector or of a matrix row.
type entry struct {
	at    uint32
	value float64
}

const condition = 0.1 // reciprocal of the condition number, NPB's rcond

// MakeA returns the matrix of a class. It is the sum of outer products of sparse random vectors
// with themselves, with weights that fall from 1 to 0.1, plus 0.1 minus the shift on the diagonal.
// Numbers are drawn and added in NPB's order.
func MakeA(c CGSize) *Matrix {
	r := seed
	r.Next() // NPB's main program uses the first number
	vectors := make([][]entry, c.Rows)
	for i := range vectors {
		vectors[i] = sparseVector(&r, c, uint32(i))
	}
	counts := make([]int, c.Rows+1)
	for _, v := range vectors {
		for _, e := range v {
			counts[e.at+1] += len(v)
		}
	}
	for i := range c.Rows {
		counts[i+1] += counts[i]
	}
	all, next := make([]entry, counts[c.Rows]), slices.Clone(counts)
	weight, ratio := 1.0, math.Pow(condition, 1/float64(c.Rows))
	for i, v := range vectors {
		for _, row := range v {
			scale := weight * row.value
			for _, column := range v {
				x := column.value * scale
				if row.at == column.at && row.at == uint32(i) {
					x += condition - c.Shift
				}
				all[next[row.at]] = entry{column.at, x}
				next[row.at]++
			}
		}
		weight *= ratio
	}
	m := &Matrix{Starts: make([]int, 1, c.Rows+1)}
	for i := range c.Rows {
		row := all[counts[i]:counts[i+1]]
		slices.SortStableFunc(row, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
		for k, e := range row {
			if last := len(m.Columns) - 1; k > 0 && m.Columns[last] == e.at {
				m.Values[last] += e.value
				continue
			}
			m.Columns, m.Values = append(m.Columns, e.at), append(m.Values, e.value)
		}
		m.Starts = append(m.Starts, len(m.Columns))
	}
	return m
}

// sparseVector draws a vector with random entries at random positions, and sets 0.5 at its own
// position. A position is drawn below the next power of two, and drawn again if it is outside the
// matrix or already used.
func sparseVector(r *Random, c CGSize, own uint32) []entry {
	bound := 2
	for bound < c.Rows {
		bound *= 2
	}
	var v []entry
	has := func(at uint32) int { return slices.IndexFunc(v, func(e entry) bool { return e.at == at }) }
	for len(v) < c.Nonzeros {
		value := r.Next()
		at := int(float64(bound) * r.Next())
		if at < c.Rows && has(uint32(at)) < 0 {
			v = append(v, entry{uint32(at), value})
		}
	}
	if i := has(own); i >= 0 {
		v[i].value = 0.5
		return v
	}
	return append(v, entry{own, 0.5})
}

// Edges returns the matrix as a directed graph. The edge from j to i has the weight of row i and
// column j. So if all vertices send along their edges, the weighted sums are the product of the
// matrix with a vector. Both triangles are included, because the rounding of the two products in an
// outer product may differ.
func (m *Matrix) Edges() []superstep.Edge {
	edges := make([]superstep.Edge, 0, len(m.Values))
	for i := range m.Rows() {
		for k := m.Starts[i]; k < m.Starts[i+1]; k++ {
			edges = append(edges,
				superstep.Edge{From: uint64(m.Columns[k]), To: uint64(i), Weight: m.Values[k]})
		}
	}
	return edges
}

// Multiply sets product to rows [first, first+len(product)) of the matrix times a vector.
func (m *Matrix) Multiply(first int, product, x []float64) {
	for i := range product {
		from, to := m.Starts[first+i], m.Starts[first+i+1]
		sum := 0.0
		columns, values := m.Columns[from:to], m.Values[from:to]
		for k, c := range columns {
			sum += values[k] * x[c]
		}
		product[i] = sum
	}
}

package nas

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/wire"
)

// Message tags of conjugate gradients: between all ranks, in a column, and in a row of the grid.
// They differ because two ranks may be in several of these groups: a single column has all ranks.
const (
	allTag uint32 = iota + 2
	columnTag
	rowTag
)

// Solver is a rank's part of CG with collectives (Matsumoto15, figure 7). It has some rows of the
// matrix, or in a 2D grid a block of it, and a piece of each vector.
//
// In an RxC grid, rank k has piece k and is in row k/C and column k%C. The rows of its block are
// those of the pieces in its row of ranks, the columns those of the pieces in its column of ranks:
//
//	piece of p -> allgather in the column -> times the block -> alltoall in the row -> added: piece of Ap
//
// With one column, as in the paper, the allgather is between all ranks, and there is no alltoall.
type Solver struct {
	size             CGSize
	grid             graph.Grid
	rank             int
	all, column, row *collective.Group
	block            *Matrix

	x, z, r, p, ap []float64 // pieces
	whole          []float64 // the part of p that the block needs
	partial        []float64 // for the rows of the block

	// extra is the number of dot products per iteration beyond NPB's two. The paper has one more,
	// for the length of the residual.
	extra int
	// waiting is this rank's time in collectives.
	waiting time.Duration
}

// forced has the algorithms that collectives must use.
type forced map[collective.Collective]collective.Algorithm

// NewSolver returns a rank's part. The model of all ranks determines algorithms that are not
// forced.
func NewSolver(
	size CGSize, m *Matrix, grid graph.Grid, link collective.Link, model *collective.Model,
	by forced,
) (*Solver, error) {
	if grid.Partitions() != link.Size() {
		return nil, fmt.Errorf("a grid of %v for %d ranks", grid, link.Size())
	}
	s := &Solver{size: size, grid: grid, rank: link.Rank(), whole: make([]float64, size.Rows)}
	var err error
	if s.all, err = collective.NewGroup(link, model, by); err != nil {
		return nil, err
	}
	members := s.members(s.rank)
	if s.column, err = collective.NewGroup(sublink{link, members.column},
		submodel(model, members.column), by); err != nil {
		return nil, err
	}
	if s.row, err = collective.NewGroup(sublink{link, members.row}, submodel(model, members.row),
		by); err != nil {
		return nil, err
	}
	from, _ := s.piece(members.row[0])
	_, to := s.piece(members.row[len(members.row)-1])
	needed := make([]bool, size.Rows)
	for _, k := range members.column {
		for i, end := s.piece(k); i < end; i++ {
			needed[i] = true
		}
	}
	s.block = m.cut(from, to, needed)
	s.partial = make([]float64, to-from)
	first, end := s.piece(s.rank)
	for _, v := range []*[]float64{&s.x, &s.z, &s.r, &s.p, &s.ap} {
		*v = make([]float64, end-first)
	}
	return s, nil
}

func (s *Solver) members(rank int) members { return membersOf(s.grid, rank) }

// members are the ranks in the same column and in the same row.
type members struct{ column, row []int }

func membersOf(grid graph.Grid, rank int) (m members) {
	for i := range grid.Rows {
		m.column = append(m.column, i*grid.Columns+rank%grid.Columns)
	}
	for j := range grid.Columns {
		m.row = append(m.row, rank/grid.Columns*grid.Columns+j)
	}
	return m
}

// piece returns the rows of a rank's piece of vectors.
func (s *Solver) piece(rank int) (from, to int) {
	n := s.grid.Partitions()
	return s.size.Rows * rank / n, s.size.Rows * (rank + 1) / n
}

// cut returns some rows of the matrix with only the needed columns.
func (m *Matrix) cut(from, to int, needed []bool) *Matrix {
	b := &Matrix{Starts: make([]int, 1, to-from+1)}
	for i := from; i < to; i++ {
		for k := m.Starts[i]; k < m.Starts[i+1]; k++ {
			if needed[m.Columns[k]] {
				b.Columns, b.Values = append(b.Columns, m.Columns[k]), append(b.Values, m.Values[k])
			}
		}
		b.Starts = append(b.Starts, len(b.Columns))
	}
	return b
}

// pieceBytes returns the size of the largest piece, so that all ranks choose the same algorithms.
func (s *Solver) pieceBytes() int { return s.size.pieceBytes(s.grid.Partitions()) }

func (c CGSize) pieceBytes(ranks int) int { return 8 * ((c.Rows + ranks - 1) / ranks) }

// gather sends v to all ranks of the column.
func (s *Solver) gather(ctx context.Context, v []float64) error {
	defer s.wait(time.Now())
	pieces, err := s.column.Allgather(ctx, collective.Call{Tag: columnTag, Bytes: s.pieceBytes()},
		wire.Bytes(v))
	if err != nil {
		return err
	}
	for i, k := range s.members(s.rank).column {
		from, to := s.piece(k)
		if len(pieces[i]) != 8*(to-from) {
			return fmt.Errorf("%w: rank %d has sent %d bytes, expected %d", collective.ErrMessage,
				k, len(pieces[i]), 8*(to-from))
		}
		copy(s.whole[from:to], wire.Slice[float64](pieces[i]))
	}
	return nil
}

// scatter adds the partial products in the row of ranks. Each rank gets its piece.
func (s *Solver) scatter(ctx context.Context, product []float64) error {
	row := s.members(s.rank).row
	start, _ := s.piece(row[0])
	out := make([][]float64, len(row))
	for j, k := range row {
		from, to := s.piece(k)
		out[j] = s.partial[from-start : to-start]
	}
	begin := time.Now()
	in, err := collective.AlltoallOf(ctx, s.row,
		collective.Call{Tag: rowTag, Bytes: s.pieceBytes()}, out)
	s.wait(begin)
	if err != nil {
		return err
	}
	clear(product)
	for j, part := range in {
		if len(part) != len(product) {
			return fmt.Errorf("%w: rank %d has sent %d numbers, expected %d", collective.ErrMessage,
				row[j], len(part), len(product))
		}
		for i, x := range part {
			product[i] += x
		}
	}
	return nil
}

// multiply computes a piece of the product of the matrix with v.
func (s *Solver) multiply(ctx context.Context, product, v []float64) error {
	if err := s.gather(ctx, v); err != nil {
		return err
	}
	s.block.Multiply(0, s.partial, s.whole)
	return s.scatter(ctx, product)
}

// dot returns dot products of distributed vectors with one collective: of the first with the
// second, and so on.
func (s *Solver) dot(ctx context.Context, vectors ...[]float64) ([]uint64, error) {
	sums := make([]uint64, len(vectors)/2)
	for k := range sums {
		a, b, sum := vectors[2*k], vectors[2*k+1], 0.0
		for i, x := range a {
			sum += x * b[i]
		}
		sums[k] = math.Float64bits(sum)
	}
	defer s.wait(time.Now())
	return collective.Combine(ctx, s.all, collective.Call{Tag: allTag}, collective.SumFloat64,
		sums...)
}

// dotOne returns one dot product.
func (s *Solver) dotOne(ctx context.Context, a, b []float64) (float64, error) {
	sums, err := s.dot(ctx, a, b)
	return math.Float64frombits(sums[0]), err
}

// wait adds the time since a collective began.
func (s *Solver) wait(since time.Time) { s.waiting += time.Since(since) }

// solve sets z to the approximate solution of Az = x after 25 iterations.
func (s *Solver) solve(ctx context.Context) error {
	clear(s.z)
	copy(s.r, s.x)
	copy(s.p, s.x)
	rho, err := s.dotOne(ctx, s.r, s.r)
	if err != nil {
		return err
	}
	for range innerIterations {
		if err := s.multiply(ctx, s.ap, s.p); err != nil {
			return err
		}
		d, err := s.dotOne(ctx, s.p, s.ap)
		if err != nil {
			return err
		}
		alpha := rho / d
		for i := range s.z {
			s.z[i] += alpha * s.p[i]
			s.r[i] -= alpha * s.ap[i]
		}
		last := rho
		if rho, err = s.dotOne(ctx, s.r, s.r); err != nil {
			return err
		}
		for range s.extra {
			if _, err := s.dotOne(ctx, s.r, s.r); err != nil {
				return err
			}
		}
		beta := rho / last
		for i := range s.p {
			s.p[i] = s.r[i] + beta*s.p[i]
		}
	}
	return nil
}

// Power runs iterations of the inverse power method. It returns the eigenvalue and the length of
// the last residual.
func (s *Solver) Power(ctx context.Context, iterations int) (zeta, norm float64, err error) {
	for i := range s.x {
		s.x[i] = 1
	}
	for range iterations {
		if err := s.solve(ctx); err != nil {
			return 0, 0, err
		}
		if err := s.multiply(ctx, s.ap, s.z); err != nil {
			return 0, 0, err
		}
		for i := range s.r {
			s.r[i] = s.x[i] - s.ap[i]
		}
		dots, err := s.dot(ctx, s.x, s.z, s.z, s.z, s.r, s.r)
		if err != nil {
			return 0, 0, err
		}
		zeta = s.size.Shift + 1/math.Float64frombits(dots[0])
		scale := 1 / math.Sqrt(math.Float64frombits(dots[1]))
		norm = math.Sqrt(math.Float64frombits(dots[2]))
		for i, z := range s.z {
			s.x[i] = scale * z
		}
	}
	return zeta, norm, nil
}

// sublink is a link between some of the ranks of a link.
type sublink struct {
	collective.Link
	ranks []int
}

func (l sublink) Rank() int { return slices.Index(l.ranks, l.Link.Rank()) }
func (l sublink) Size() int { return len(l.ranks) }

func (l sublink) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	return l.Link.Send(ctx, l.ranks[to], tag, data)
}

func (l sublink) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
	return l.Link.Receive(ctx, l.ranks[from], tag)
}

// submodel returns the model of some of a model's ranks.
func submodel(m *collective.Model, ranks []int) *collective.Model {
	sub := &collective.Model{Ranks: len(ranks), Trunk: m.Trunk, Gamma: m.Gamma}
	for _, from := range ranks {
		for _, to := range ranks {
			sub.Pairs = append(sub.Pairs, m.Pair(from, to))
		}
		if m.Sites != nil {
			sub.Sites = append(sub.Sites, m.Sites[from])
		}
	}
	return sub
}

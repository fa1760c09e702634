package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// CG solves Ax = b by conjugate gradients (Hestenes and Stiefel 1952). A must be symmetric and
// positive definite. It is an undirected graph: weights of edges are entries, weights of loops are
// the diagonal, and parallel edges add up. The value of a vertex is its entry of x. b is the column
// CGRightSide, or all ones with Ones. The run fails if b is zero everywhere, as without a column.
//
// The run converges when |b-Ax|/|b| is at most Tolerance. It stops without convergence after
// Iterations, or when rounding errors prevent progress. At the end the residual is computed from x
// again; if it differs from the updated one, the iterations continue from x. If p'Ap <= 0 for a
// direction p, A is not positive definite, and the run fails. The preconditioner jacobi divides
// residuals by the diagonal, whose entries must be positive.
//
// An iteration has two supersteps and one message along every edge. Both sums over all vertices are
// computed at once (Chronopoulos and Gear 1989). The combiner multiplies a message by the weight
// and adds up. Sums are aggregators, and the coordinator computes with them. Matsumoto 2015 studies
// the speed between distant processors.
type CG struct {
	Tolerance      float64 `param:"tolerance" default:"1e-8" zero:"refused" help:"stop when the length of b-Ax relative to b is at most this"`
	Iterations     int     `param:"iterations" default:"1000" zero:"refused" help:"largest number of iterations"`
	Preconditioner string  `param:"preconditioner" default:"none" help:"none or jacobi, which divides by the diagonal (not in a grid with more than one row and column)"`
	Ones           bool    `param:"ones" default:"false" help:"let b be all ones, instead of the column b"`
}

// CGRightSide is the column b of CG.
var CGRightSide = pregel.NewVertexColumn[float64]("b")

// cgRow has a vertex's entries of the vectors: the residual R, the direction P, A times P (AP), A
// times M⁻¹R (AZ); and the diagonal of M.
type cgRow struct{ R, P, AP, AZ, M float64 }

// cgScalars is the state of the coordinator.
type cgScalars struct {
	Scale       float64 // residuals and directions are divided by it
	B           float64 // length of the right-hand side, divided by Scale
	Alpha, Beta float64 // length of the step along the direction; share of the last direction in it
	// r'z of the last iteration; 0 if the residual was recomputed since
	RZ        float64
	Doubtful  bool    // Alpha could not be computed, and is 0
	Started   float64 // the residual when it was last recomputed
	Iteration int
}

var (
	cgRows  = pregel.NewVertexColumn[cgRow]("rows").Private()
	cgState = pregel.NewAggregator("cg", nil,
		func(a, b cgScalars) cgScalars { return cmp.Or(a, b) }).Persistent().Unreported()
	// absolute value; NaN if any entry is NaN
	greatest = pregel.MaxOf("greatest entry of b", 0.0).Unreported()
	rr       = pregel.SumOf[float64]("r'r").Unreported()
	rz       = pregel.SumOf[float64]("r'z").Unreported()
	zAz      = pregel.SumOf[float64]("z'Az").Unreported()
	pAp      = pregel.SumOf[float64]("p'Ap").Unreported()
	noPivot  = pregel.MinOf("least row without a positive diagonal",
		uint64(math.MaxUint64)).Unreported()
	residual = pregel.MaxOf("residual", 0.0).Persistent() // |b-Ax|/|b|
	cgSteps  = pregel.MaxOf("iterations", 0).Persistent() // number of iterations so far
)

// The phases of CG, each a superstep: cgBegin, cgAnew, then cgMultiply and cgMove in turn. cgShow
// and cgAnew recompute the residual in between and at the end.
const (
	cgBegin    = iota // finds the greatest entry of b
	cgAnew            // recomputes the residual from the x received, and sends M⁻¹r
	cgMultiply        // receives AM⁻¹r
	cgMove            // moves x along the direction, and sends M⁻¹r
	cgShow            // sends x
)

// Validate checks the limits, the preconditioner, and that the matrix is symmetric.
func (p CG) Validate(g *pregel.GraphInfo) error {
	if g != nil && g.Directed {
		return errors.New("cg wants a symmetric matrix, each entry off the diagonal once: an undirected graph, or a Matrix Market file that says symmetric")
	}
	if p.Preconditioner != "" && p.Preconditioner != "none" && p.Preconditioner != "jacobi" {
		return errors.Join(checkLimits(p.Iterations, p.Tolerance, "a number above 0"),
			fmt.Errorf("preconditioner is %.80q, want none or jacobi", p.Preconditioner))
	}
	return checkLimits(p.Iterations, p.Tolerance, "a number above 0")
}

// Combiner multiplies each message by the matrix entry of its edge, and adds the products.
func (CG) Combiner() pregel.Combiner[float64] { return combiners.SumTimes[float64]() }

// Traits returns the traits. Aggregators: the relative residual and the number of iterations, and
// the sums that they are computed from. Columns: the right-hand side, and the vectors.
func (CG) Traits() pregel.Traits {
	return traits{
		Aggregators: aggregates{cgState, greatest, rr, rz, zAz, pAp, noPivot, residual, cgSteps},
		Columns:     columns{CGRightSide, cgRows},
	}
}

// Compute does the work of a row in the current phase.
func (p CG) Compute(v *pregel.Vertex[float64, float64], product float64) {
	row, s := cgRows.Of(v), cgState.Value(v)
	switch v.Phase() {
	case cgBegin:
		greatest.Add(v, math.Abs(CGRightSide.Of(v)))
		row.M = p.pivot(v)
	case cgAnew:
		b := CGRightSide.Of(v)
		if p.Ones {
			b = 1
		}
		row.R, row.P, row.AP = (b-product)/s.Scale, 0, 0
	case cgMultiply:
		row.AZ = product
		rz.Add(v, row.R*row.R/row.M)
		zAz.Add(v, row.R/row.M*row.AZ)
	case cgMove:
		row.P, row.AP = row.R/row.M+s.Beta*row.P, row.AZ+s.Beta*row.AP
		v.Set(v.Value() + s.Alpha*row.P*s.Scale)
		row.R -= s.Alpha * row.AP
		pAp.Add(v, row.P*row.AP)
	case cgShow:
		v.SendToAllNeighbors(v.Value())
	}
	if v.Phase() == cgAnew || v.Phase() == cgMove {
		rr.Add(v, row.R*row.R)
		v.SendToAllNeighbors(row.R / row.M)
	}
	cgRows.Set(v, row)
}

// pivot returns the diagonal of the preconditioner.
func (p CG) pivot(v *pregel.Vertex[float64, float64]) (diagonal float64) {
	if p.Preconditioner != "jacobi" {
		return 1
	}
	for e := range v.Edges() {
		if e.To == v.ID() {
			diagonal += e.Weight
		}
	}
	if !(diagonal > 0) {
		noPivot.Add(v, v.Label())
	}
	return diagonal
}

package nas

import (
	"errors"
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// CG is NPB's CG as a vertex program. It computes the largest eigenvalue of the inverse of a
// shifted matrix with the inverse power method. Each of its iterations solves Az = x with 25
// iterations of conjugate gradients. The edges' weights are A, each vertex has an entry of the
// vectors, and dot products are aggregators.
//
// Vertices send the residual r instead of the direction p. Since p' = r + beta p implies Ap' = Ar +
// beta Ap, a vertex that has both products needs no message between beta and the next product. So
// an iteration takes two supersteps instead of three:
//
//	superstep   0  x = z / |z|; z = 0; r = x; send r                    -> r.r
//	        1, 3.. p = r + beta p; Ap = sum of messages + beta Ap         -> p.Ap
//	        2, 4.. z += alpha p; r -= alpha Ap; send r, in the end z     -> r.r
//	           51  the sum of messages is Az                             -> |x - Az|, x.z, z.z
//
// This is repeated Iterations times.
type CG struct {
	Iterations int     `param:"iterations" help:"iterations of the inverse power method"`
	Shift      float64 `param:"shift" help:"shift of the matrix"`
}

// Row has a vertex's entries of the vectors.
type Row struct{ X, Z, R, P, AP float64 }

// innerIterations is the number of iterations of conjugate gradients in one iteration of the
// inverse power method. period is the number of their supersteps.
const (
	innerIterations = 25
	lastUpdate      = 2 * innerIterations // of z
	residualStep    = lastUpdate + 1
	period          = residualStep + 1
)

var (
	dotRR    = pregel.SumOf[float64]("r.r").Unreported()
	dotPAP   = pregel.SumOf[float64]("p.Ap").Unreported()
	dotXZ    = pregel.SumOf[float64]("x.z").Unreported()
	dotZZ    = pregel.SumOf[float64]("z.z").Unreported()
	residual = pregel.SumOf[float64]("|x-Az|^2").Unreported()
	// The coordinator's scalars.
	rho   = pregel.MaxOf("rho", 0.0).Persistent().Unreported()
	alpha = pregel.MaxOf("alpha", 0.0).Unreported()
	beta  = pregel.MaxOf("beta", 0.0).Unreported()
	scale = pregel.MaxOf("scale", 1.0).Unreported()
	// Zeta is the eigenvalue. Norm is the length of the last solution's residual.
	Zeta = pregel.MaxOf("zeta", 0.0).Persistent()
	Norm = pregel.MaxOf("rnorm", 0.0).Persistent()
)

// Validate refuses parameters with which the run would not end.
func (c CG) Validate(*pregel.GraphInfo) error {
	if c.Iterations < 1 {
		return errors.New("iterations must be 1 or more")
	}
	return nil
}

// Combiner multiplies messages by the edges' weights and adds them: a matrix row times a vector.
func (CG) Combiner() pregel.Combiner[float64] { return combiners.SumTimes[float64]() }

func (CG) Traits() pregel.Traits {
	return pregel.Traits{
		// The dot products, the coordinator's scalars, and the results.
		Aggregators: []pregel.Aggregate{dotRR, dotPAP, dotXZ, dotZZ, residual, rho, alpha, beta, scale, Zeta, Norm},
	}
}

// Coordinate computes scalars from the dot products.
func (c CG) Coordinate(to *pregel.Coordinator) {
	switch step := to.Superstep % period; {
	case to.Superstep == 0 || step == residualStep:
	case step == 0:
		Zeta.Replace(to, c.Shift+1/dotXZ.Value(to))
		Norm.Replace(to, math.Sqrt(residual.Value(to)))
		scale.Replace(to, 1/math.Sqrt(dotZZ.Value(to)))
		if to.Superstep/period == c.Iterations {
			to.Halt()
		}
	case step%2 == 0:
		alpha.Replace(to, rho.Value(to)/dotPAP.Value(to))
	default:
		now := dotRR.Value(to)
		if step > 1 {
			beta.Replace(to, now/rho.Value(to))
		}
		rho.Replace(to, now)
	}
}

// Compute performs a vertex's part of a step. product is its row times the sent vector.
func (CG) Compute(v *pregel.Vertex[Row, float64], product float64) {
	s := v.Ref()
	switch step := v.Superstep() % period; {
	case step == 0:
		if v.Superstep() == 0 {
			s.Z = 1
		}
		*s = Row{X: scale.Value(v) * s.Z}
		s.R = s.X
		dotRR.Add(v, s.R*s.R)
		v.SendToAllNeighbors(s.R)
	case step == residualStep:
		d := s.X - product
		residual.Add(v, d*d)
		dotXZ.Add(v, s.X*s.Z)
		dotZZ.Add(v, s.Z*s.Z)
	case step%2 == 1:
		b := beta.Value(v)
		s.P, s.AP = s.R+b*s.P, product+b*s.AP
		dotPAP.Add(v, s.P*s.AP)
	default:
		a := alpha.Value(v)
		s.Z += a * s.P
		s.R -= a * s.AP
		if step == lastUpdate {
			v.SendToAllNeighbors(s.Z)
			return
		}
		dotRR.Add(v, s.R*s.R)
		v.SendToAllNeighbors(s.R)
	}
}

// Operations returns NPB's count of floating-point operations.
func (c CGSize) Operations() float64 {
	n := float64(c.Nonzeros * (c.Nonzeros + 1))
	return 2 * float64(c.Iterations*c.Rows) * (3 + n + innerIterations*(5+n) + 3)
}

package algorithms

import (
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// Coordinate computes the scalars of CG from the sums of the last superstep, and sets the next
// phase.
func (p CG) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 0 {
		return
	}
	s := cgState.Value(c)
	switch c.Phase {
	case cgBegin:
		p.begin(c, &s)
	case cgAnew:
		p.judge(c, &s)
	case cgMultiply:
		s.choose(rz.Value(c), zAz.Value(c))
		c.SetPhase(cgMove)
	case cgMove:
		p.moved(c, &s)
	case cgShow:
		c.SetPhase(cgAnew)
	}
	cgState.Replace(c, s)
}

// begin scales by the power of two below the greatest entry of b. So squares of entries neither
// underflow nor overflow, and no entry is rounded.
func (p CG) begin(c *pregel.Coordinator, s *cgScalars) {
	if row := noPivot.Value(c); row != math.MaxUint64 {
		c.Fail(fmt.Errorf("row %d of the matrix has no positive entry on the diagonal, as the preconditioner jacobi wants", row))
	}
	most := greatest.Value(c)
	switch {
	case !(most <= math.MaxFloat64):
		c.Fail(fmt.Errorf(
			"the right-hand side, column b, has an entry that is %g, want finite numbers", most))
	case p.Ones && most > 0:
		c.Fail(errors.New("b is given twice: as a column, and as all ones by the parameter ones"))
	case p.Ones:
		most = 1
	case most == 0:
		c.Fail(errors.New("b is zero everywhere: give it by --column b=FILE (Options.Columns in Go), or all ones by -p ones=true"))
	}
	_, exponent := math.Frexp(most)
	s.Scale = math.Ldexp(1, exponent-1)
	c.SetPhase(cgAnew)
}

// judge ends the run if the residual, which was computed anew, is small, or if there is no more to
// be gained; else iterations begin.
func (p CG) judge(c *pregel.Coordinator, s *cgScalars) {
	limit, tolerance := p.Iterations, p.Tolerance
	if s.B == 0 { // x is 0, and the residual b
		s.B = math.Sqrt(rr.Value(c))
	}
	now := math.Sqrt(rr.Value(c)) / s.B
	residual.Replace(c, now)
	switch {
	case !(now <= math.MaxFloat64):
		c.Fail(fmt.Errorf("after %d iterations |b-Ax|/|b| is %g: numbers are too great, or too different, for 64 bits", s.Iteration, now))
	case now <= tolerance:
		c.Halt()
	case s.Iteration >= limit:
		endRun(c, false, true, true)
	case s.Iteration > 0 && !(now < s.Started/2):
		c.Stop()
	}
	s.Started, s.RZ = now, 0
	c.SetPhase(cgMultiply)
}

// choose chooses the next step from the products r'z and z'Az, of which p'Ap follows for the
// direction to come.
func (s *cgScalars) choose(rz, zAz float64) {
	along := zAz
	if s.Beta = 0; s.RZ > 0 && s.Alpha > 0 {
		s.Beta = rz / s.RZ
		along -= s.Beta * rz / s.Alpha
	}
	s.Alpha, s.RZ = rz/along, rz
	if s.Doubtful = !(along > 0 && s.Alpha <= math.MaxFloat64); s.Doubtful {
		s.Alpha = 0 // by rounding, or because A is not positive definite: p'Ap itself will tell
	}
}

// moved goes on to the next iteration unless the residual is small, by what the iterations know of
// it, or something is wrong.
func (p CG) moved(c *pregel.Coordinator, s *cgScalars) {
	s.Iteration++
	cgSteps.Replace(c, s.Iteration)
	if along := pAp.Value(c); !(along > 0) {
		c.Fail(fmt.Errorf("the matrix is not positive definite: in iteration %d p'Ap is %g for the direction p", s.Iteration, along))
	}
	limit, tolerance := p.Iterations, p.Tolerance
	now := math.Sqrt(rr.Value(c)) / s.B
	residual.Replace(c, now)
	if c.SetPhase(cgMultiply); s.Doubtful || !(now > tolerance) || s.Iteration >= limit {
		c.SetPhase(cgShow)
	}
}

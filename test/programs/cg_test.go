package programs_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// CG solves Ax = b by conjugate gradients (Hestenes, Stiefel 1952). A is symmetric and positive definite, an undirected graph: entries
// are weights of edges, those of the diagonal of loops. b is a column. With the product Ar in place of Ap an iteration adds up over
// all vertices once, not twice (Chronopoulos, Gear 1989), and takes two supersteps.
type CG struct {
	Tolerance float64 `param:"tolerance" default:"1e-10" help:"length of the residual b - Ax to end at"`
}

// System is a row of the vectors of CG: the solution, the residual and the direction, and A times the latter two.
type System struct{ X, R, P, AR, AP float64 }

var (
	rightSide = pregel.NewVertexColumn[float64]("b")
	rr        = pregel.SumOf[float64]("rr")
	rAr       = pregel.SumOf[float64]("rAr")
	// The coordinator's, from one iteration to the next: rr, and how far to go along P, of which the new one has beta times the old.
	lastRR = pregel.MinOf("last rr", math.Inf(1)).Persistent()
	alpha  = pregel.MinOf("alpha", 1.0).Persistent()
	beta   = pregel.MinOf("beta", 0.0).Persistent()
)

func (CG) Combiner() pregel.Combiner[float64] { return combiners.SumTimes[float64]() }
func (CG) Columns() []pregel.Column           { return []pregel.Column{rightSide} }
func (CG) Aggregators() []pregel.Aggregate {
	return []pregel.Aggregate{rr, rAr, lastRR, alpha, beta}
}

func (p CG) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 0 || c.Superstep%2 == 1 {
		return
	}
	now := rr.Value(c)
	if math.Sqrt(now) <= p.Tolerance {
		c.Halt()
	}
	b := now / lastRR.Value(c)
	lastRR.Replace(c, now)
	alpha.Replace(c, now/(rAr.Value(c)-b*now/alpha.Value(c)))
	beta.Replace(c, b)
}

func (CG) Compute(v *pregel.Vertex[System, float64], product float64) {
	s := v.Ref()
	switch a, b := alpha.Value(v), beta.Value(v); {
	case v.Superstep()%2 == 1:
		s.AR = product
		rr.Add(v, s.R*s.R)
		rAr.Add(v, s.R*s.AR)
		return
	case v.Superstep() == 0:
		s.R = rightSide.Of(v)
	default:
		s.P, s.AP = s.R+b*s.P, s.AR+b*s.AP
		s.X, s.R = s.X+a*s.P, s.R-a*s.AP
	}
	v.SendToAllNeighbors(s.R)
}

// Wave is a right-hand side: its values are a function of input ids, in the column as well.
type Wave struct{}

func (Wave) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Wave) Columns() []pregel.Column        { return []pregel.Column{rightSide} }
func wave(label uint64) float64              { return math.Sin(float64(label + 1)) }
func (Wave) Compute(v *pregel.Vertex[float64, bool], _ bool) {
	v.Set(wave(v.Label()))
	rightSide.Set(v, v.Value())
	v.VoteToHalt()
}

// WaveCG is CG after Wave.
type WaveCG struct{ CG }

func (WaveCG) Plan() pregel.Plan { return plan.Phase(Wave{}) }

// eliminate solves Ax = b by Gauss' elimination, with the greatest pivots.
func eliminate(a [][]float64, b []float64) []float64 {
	for k := range a {
		pivot := k
		for i := k; i < len(a); i++ {
			if math.Abs(a[i][k]) > math.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
		for i := k + 1; i < len(a); i++ {
			f := a[i][k] / a[k][k]
			for j := k; j < len(a); j++ {
				a[i][j] -= f * a[k][j]
			}
			b[i] -= f * b[k]
		}
	}
	for k := len(a) - 1; k >= 0; k-- {
		for j := k + 1; j < len(a); j++ {
			b[k] -= a[k][j] * b[j]
		}
		b[k] /= a[k][k]
	}
	return b
}

// laplacian returns the Laplacian of an undirected graph plus the identity, which is positive definite.
func laplacian(t *testing.T, g *superstep.Graph) [][]float64 {
	all := edgesOf(t, g)
	a := make([][]float64, len(all))
	for u := range a {
		a[u] = make([]float64, len(a))
		a[u][u] = 1
		for _, e := range all[u] {
			a[u][u] += e.Weight
			a[u][e.To] -= e.Weight
		}
	}
	return a
}

// matrixMarket writes a symmetric matrix to a file, whose graph has the vertices 1, 2 and so on.
func matrixMarket(t *testing.T, a [][]float64) (name string) {
	var lines []string
	for i, row := range a {
		for j, x := range row[:i+1] {
			if x != 0 {
				lines = append(lines, fmt.Sprintln(i+1, j+1, x))
			}
		}
	}
	name = filepath.Join(t.TempDir(), "a.mtx")
	head := fmt.Sprintf("%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", len(a), len(a), len(lines))
	if err := os.WriteFile(name, []byte(head+strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// solution solves Ax = b, where b is the wave.
func solution(a [][]float64) []float64 {
	b := make([]float64, len(a))
	for i := range b {
		b[i] = wave(uint64(i + 1))
	}
	return eliminate(a, b)
}

func TestCG(t *testing.T) {
	within := pregeltest.Within[float64](1e-9)
	for name, g := range pregeltest.Graphs(t, 10) {
		if g.IsDirected() {
			continue
		}
		a := laplacian(t, g)
		matrix, err := superstep.Load(t.Context(), matrixMarket(t, a))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(matrix.Close)
		res := pregeltest.Matrix(t, matrix, WaveCG{CG{Tolerance: 1e-10}}, func(a, b System) bool { return within(a.X, b.X) })
		for i, want := range solution(a) {
			if s, _ := res.At(uint64(i + 1)); !within(s.X, want) {
				t.Errorf("%s: entry %d of the solution is %g, expected %g", name, i+1, s.X, want)
			}
		}
		if !res.Converged || res.Supersteps > 2*len(a)+20 {
			t.Errorf("%s: %d supersteps for %d unknowns", name, res.Supersteps, len(a))
		}
	}
}

// TestCGOnACluster takes the right-hand side from the result of another run.
func TestCGOnACluster(t *testing.T) {
	grid, err := superstep.Load(t.Context(), "grid:rows=9,columns=11")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(grid.Close)
	a := laplacian(t, grid)
	here, there := programtest.Load(t, cluster(t), matrixMarket(t, a))
	want := solution(a)
	for _, g := range []*superstep.Graph{here, there} {
		b, err := superstep.Run(t.Context(), g, Wave{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := superstep.Run(t.Context(), g, CG{Tolerance: 1e-10}, superstep.Options{Columns: []superstep.Input{superstep.From(rightSide, b)}})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range want {
			if s, _ := res.At(uint64(i + 1)); math.Abs(s.X-x) > 1e-9 {
				t.Errorf("entry %d of the solution is %g, expected %g", i+1, s.X, x)
			}
		}
	}
}

package algorithms_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// eliminate solves Ax = b by Gaussian elimination with partial pivoting. It overwrites both.
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

// laplacian returns the Laplacian of an undirected graph plus the identity, which is positive
// definite.
func laplacian(vertices int, arcs [][2]int, weights []float64) [][]float64 {
	a := make([][]float64, vertices)
	for u := range a {
		a[u] = make([]float64, vertices)
		a[u][u] = 1
	}
	for i, e := range arcs {
		if u, v, w := e[0], e[1], weights[i]; u != v {
			a[u][u], a[v][v] = a[u][u]+w, a[v][v]+w
			a[u][v], a[v][u] = a[u][v]-w, a[v][u]-w
		}
	}
	return a
}

// matrix returns a symmetric matrix as a graph. Entries off the diagonal are split into two
// parallel edges, whose weights add up.
func matrix(t *testing.T, a [][]float64) *superstep.Graph {
	o := superstep.LoadOptions{Undirected: true, Weights: superstep.Float64}
	var list []superstep.Edge
	for i, row := range a {
		o.Vertices = append(o.Vertices, uint64(i))
		for j, x := range row[:i+1] {
			switch {
			case i == j:
				list = append(list, superstep.Edge{From: uint64(i), To: uint64(j), Weight: x})
			case x != 0:
				list = append(list, superstep.Edge{From: uint64(i), To: uint64(j), Weight: x / 2},
					superstep.Edge{From: uint64(j), To: uint64(i), Weight: x / 2})
			}
		}
	}
	return pregeltest.FromEdges(t, list, o)
}

// wave returns a right-hand side, by input id.
func wave(id uint64) float64 { return math.Sin(float64(id + 1)) }

var solved = pregeltest.Within[float64](1e-9)

func TestCG(t *testing.T) {
	for s := range samples(t) {
		if s.twin.Directed {
			continue
		}
		build := func() [][]float64 { return laplacian(s.twin.N, s.twin.Arcs, s.twin.Weights) }
		g := matrix(t, build())
		ones, waves := make([]float64, s.twin.N), make([]float64, s.twin.N)
		for v := range ones {
			ones[v], waves[v] = 1, wave(uint64(v))
		}
		check := func(what string, res *superstep.Result[float64], want []float64) {
			t.Helper()
			for v, x := range pregeltest.Values(res) {
				if !solved(x, want[v]) {
					t.Fatalf("%s, %s: entry %d of the solution is %g, want %g", s.name, what, v, x,
						want[v])
				}
			}
			if r := res.Aggregates["residual"].(float64); !res.Converged || !(r <= 1e-11) ||
				res.Supersteps > 2*s.twin.N+20 {
				t.Errorf("%s, %s: residual %g after %d supersteps, converged %t", s.name, what, r,
					res.Supersteps, res.Converged)
			}
		}
		p := algorithms.CG{Tolerance: 1e-11, Ones: true}
		check("ones", pregeltest.Matrix(t, g, p, solved), eliminate(build(), ones))
		p.Preconditioner, p.Ones = "jacobi", false
		for _, partitions := range []int{1, 3} {
			parts, err := g.Repartition(t.Context(), superstep.LoadOptions{Partitions: partitions})
			if err != nil {
				t.Fatal(err)
			}
			defer parts.Close()
			b := superstep.From(algorithms.CGRightSide, wave)
			res, err := superstep.Run(t.Context(), parts, p,
				superstep.Options{Columns: []superstep.Input{b}})
			if err != nil {
				t.Fatal(err)
			}
			check("jacobi", res, eliminate(build(), append([]float64(nil), waves...)))
		}
	}
}

// TestJacobiNeedsFewerIterations compares the iterations for a matrix with rows of different
// magnitudes.
func TestJacobiNeedsFewerIterations(t *testing.T) {
	const n = 60
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		for j := max(i-1, 0); j <= min(i+1, n-1); j++ {
			a[i][j] = -0.4 * math.Sqrt(float64((i+1)*(j+1)*(i+1)*(j+1)))
		}
		a[i][i] = float64((i + 1) * (i + 1))
	}
	g := matrix(t, a)
	steps := map[string]int{}
	for _, m := range []string{"none", "jacobi"} {
		res, err := superstep.Run(t.Context(), g, algorithms.CG{Preconditioner: m, Ones: true})
		if err != nil || !res.Converged {
			t.Fatal(err, res)
		}
		steps[m] = res.Aggregates["iterations"].(int)
	}
	if steps["jacobi"]*2 > steps["none"] {
		t.Errorf("iterations: %v", steps)
	}
}

// TestCGEnds: CG stops at its limits, and with unsuitable matrices.
func TestCGEnds(t *testing.T) {
	path := make([][2]int, 199)
	for i := range path {
		path[i] = [2]int{i, i + 1}
	}
	weights := make([]float64, len(path))
	for i := range weights {
		weights[i] = 1e6 * float64(1+i%7)
	}
	g := matrix(t, laplacian(200, path, weights))
	for _, test := range []struct {
		p          algorithms.CG
		iterations int // maximum
		ended      string
	}{
		{algorithms.CG{Iterations: 3, Tolerance: 1e-300}, 3, "iterations"},
		// stops at rounding errors
		{algorithms.CG{Tolerance: 1e-300, Iterations: 100_000}, 20_000, "stopped"},
		{algorithms.CG{Tolerance: 0.9}, 1000, "converged"},
	} {
		b := superstep.From(algorithms.CGRightSide, wave)
		res, err := superstep.Run(t.Context(), g, test.p,
			superstep.Options{Columns: []superstep.Input{b}})
		if err != nil {
			t.Fatal(err)
		}
		if n := res.Aggregates["iterations"].(int); n > test.iterations || res.Ended != test.ended {
			t.Errorf("%+v: %d iterations, ended %s, residual %v", test.p, n, res.Ended,
				res.Aggregates["residual"])
		}
	}
	run := func(p algorithms.CG, graph string) error {
		p.Ones = true
		_, err := superstep.Run(t.Context(), pregeltest.Graph(t, graph), p)
		return err
	}
	jacobi := algorithms.CG{Preconditioner: "jacobi"}
	refused(t, run(algorithms.CG{}, "0-0:1 1-1:-2"),
		"superstep 4: the matrix is not positive definite: in iteration 1 p'Ap is -1 for the direction p")
	refused(t, run(algorithms.CG{}, "0-1:1 0-0:1"),
		"the matrix is not positive definite: in iteration 2 ")
	refused(t, run(jacobi, "0-0:1 1-1:0 0-1:1"),
		"row 1 of the matrix has no positive entry on the diagonal")
	refused(t, run(jacobi, "0-0:1 0-3:1 0-2:1"),
		"row 2 of the matrix has no positive entry on the diagonal")
	refused(t, run(algorithms.CG{}, "0>1:1"), "cg wants a symmetric matrix")
	refused(t, run(algorithms.CG{Preconditioner: "ilu"}, "0-0:1"),
		`preconditioner is "ilu", want none or jacobi`)
	refused(t, run(algorithms.CG{Tolerance: math.Inf(1)}, "0-0:1"),
		"tolerance is +Inf, want a finite number")
	for message, test := range map[string]struct {
		b    float64 // the value of every entry
		ones bool
	}{
		"the right-hand side, column b, has an entry that is NaN":  {b: math.NaN()},
		"the right-hand side, column b, has an entry that is +Inf": {b: math.Inf(-1)},
		"b is zero everywhere: give it by --column b=FILE":         {},
		"b is given twice": {b: 1e-200, ones: true},
	} {
		b := superstep.From(algorithms.CGRightSide, func(uint64) float64 { return test.b })
		_, err := superstep.Run(t.Context(), g, algorithms.CG{Ones: test.ones},
			superstep.Options{Columns: []superstep.Input{b}})
		refused(t, err, message)
	}
	_, err := superstep.Run(t.Context(), g, algorithms.CG{})
	refused(t, err, "or all ones by -p ones=true")
	b := superstep.From(algorithms.CGRightSide, func(uint64) float64 { return 1e300 })
	_, err = superstep.Run(t.Context(), pregeltest.Graph(t, "0-0:1e-20"), algorithms.CG{},
		superstep.Options{Columns: []superstep.Input{b}})
	refused(t, err, "|b-Ax|/|b| is ")
}

// TestCGOfAnySize: the squares of a right-hand side may underflow or overflow. Scaling it by a
// power of two scales the solution, bit for bit.
func TestCGOfAnySize(t *testing.T) {
	g := matrix(t, laplacian(5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 3}},
		[]float64{1, 2, 3, 4, 5}))
	solve := func(scale float64) []float64 {
		b := superstep.From(algorithms.CGRightSide,
			func(id uint64) float64 { return scale * wave(id) })
		o := superstep.Options{Columns: []superstep.Input{b}, Deterministic: true}
		res, err := superstep.Run(t.Context(), g, algorithms.CG{}, o)
		if err != nil || !res.Converged {
			t.Fatal(scale, err, res)
		}
		return pregeltest.Values(res)
	}
	one := solve(1)
	// 1e-200 and 1e200 are about 2^-664 and 2^664, where squares begin to underflow or overflow
	for _, exponent := range []int{-900, -665, -3, 664, 1020} {
		scale := math.Ldexp(1, exponent)
		for v, x := range solve(scale) {
			if x != scale*one[v] {
				t.Errorf("entry %d of the solution with b times 2^%d is %g, want %g", v, exponent,
					x, scale*one[v])
			}
		}
	}
}

// TestCGOnACluster loads a matrix from a Matrix Market file.
func TestCGOnACluster(t *testing.T) {
	var arcs [][2]int
	for i := range 90 {
		arcs = append(arcs, [2]int{i, i + 1}, [2]int{i, i * i % 91})
	}
	weights := make([]float64, len(arcs))
	for i := range weights {
		weights[i] = float64(i%5) / 3
	}
	a := laplacian(91, arcs, weights)
	var lines []string
	for i, row := range a {
		for j, x := range row[:i+1] {
			if x != 0 {
				lines = append(lines, fmt.Sprintln(i+1, j+1, x))
			}
		}
	}
	name := filepath.Join(t.TempDir(), "a.mtx")
	head := fmt.Sprintf("%%%%MatrixMarket matrix coordinate real symmetric\n91 91 %d\n", len(lines))
	if err := os.WriteFile(name, []byte(head+strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	here, there := programtest.Load(t, programtest.Cluster(t, 2), name)
	for _, p := range []algorithms.CG{{}, {Preconditioner: "jacobi"}, {Iterations: 4}} {
		p.Ones = true
		programtest.Same(t, here, there, p, superstep.Options{Deterministic: true})
	}
	b := superstep.Options{Columns: []superstep.Input{superstep.From(algorithms.CGRightSide,
		wave)}, Deterministic: true}
	res := programtest.Same(t, here, there, algorithms.CG{Tolerance: 1e-12}, b)
	right := make([]float64, 91)
	for i := range right {
		right[i] = wave(uint64(i + 1))
	}
	for i, want := range eliminate(a, right) {
		if x, _ := res.At(uint64(i + 1)); !solved(x, want) {
			t.Errorf("entry %d of the solution is %g, want %g", i+1, x, want)
		}
	}
	for _, g := range []*superstep.Graph{here, there} {
		_, err := superstep.Run(t.Context(), g, algorithms.CG{Tolerance: -1})
		refused(t, err, "tolerance is -1, want a number above 0")
	}
}

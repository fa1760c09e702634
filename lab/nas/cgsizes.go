package nas

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/experiment"
)

// node is a process of the model, on a machine of its own: all have such links.
type node struct {
	collective.Pair
	barrier float64 // of a superstep
}

// values is the size of a number that is sent. A folded sum has its position with it.
const (
	valueBytes = 8
	foldBytes  = 12
)

// exchange returns the time in which a process sends a message of n bytes to each of some others,
// and receives as many.
func (d node) exchange(others int, n float64) float64 {
	if others < 1 {
		return 0
	}
	return float64(others-1)*(d.Gap+d.Alpha*n) + d.Time(n)
}

// iteration predicts an iteration on a grid of processes. Each process sends its rows to the others
// of its column. In a grid with several columns it then sends sums of rows to the others of its
// row.
func (c Costs) iteration(rows, entries float64, grid graph.Grid, d node) (t CGParts) {
	p := float64(grid.Partitions())
	t.SpMV = (c.spmv(rows, entries) + rows*float64(grid.Columns-1)*c.Send) / p
	t.Vectors = c.vectors(rows) / p
	t.Messages = d.exchange(grid.Rows-1, rows/p*valueBytes) +
		d.exchange(grid.Columns-1, rows/p*foldBytes)
	t.Barriers = 2 * d.barrier
	return t
}

// CGParts are the parts of the time of an iteration, in seconds.
type CGParts struct{ SpMV, Vectors, Messages, Barriers float64 }

func (t CGParts) total() float64 { return t.SpMV + t.Vectors + t.Messages + t.Barriers }

// networks are those of Matsumoto15 (section 4.1) and a common one. Their gap is taken as their
// latency, as Matsumoto15 does.
var networks = []struct {
	name string
	pair collective.Pair
}{
	{"TCA/PEACH2", collective.Pair{Alpha: 1 / 2.8e9, Beta: 2.1e-6, Gap: 2.1e-6}},
	{"MPI/InfiniBand", collective.Pair{Alpha: 1 / 5.4e9, Beta: 3.0e-6, Gap: 3.0e-6}},
	{"Ethernet 10G", collective.Pair{Alpha: 1 / 1.25e9, Beta: 20e-6, Gap: 20e-6}},
}

// apart returns a process on a machine of its own. Its barrier has the first worker's order and the
// reports, each by the algorithm that the model chooses.
func apart(p int, pair collective.Pair) (d node, err error) {
	m := collective.Uniform(p, pair)
	d = node{Pair: pair}
	for _, c := range []struct {
		of    collective.Collective
		bytes int
	}{{collective.Broadcast, 256}, {collective.GatherTo, 1 << 10}} {
		_, seconds, err := m.Choose(c.of, c.bytes, 0)
		if err != nil {
			return d, err
		}
		d.barrier += seconds
	}
	return d, nil
}

// compare finds the numbers of rows from which another number of processes, network or grid is the
// faster one, with as many entries in a row as the class has.
func (t *CGTime) compare() error {
	t.Sizes = &experiment.Table{Name: "sizes", Columns: []experiment.Column{
		{Name: "processes", Meaning: "P, each on a machine of its own"},
		{Name: "network", Meaning: "between them"},
		{Name: "small", Meaning: "the faster one for few rows"},
		{Name: "large", Meaning: "the faster one for many rows"},
		{Name: "rows", Meaning: "from which the second is the faster one, predicted"},
	}}
	time := func(grid graph.Grid, pair collective.Pair) (func(rows float64) float64, error) {
		d, err := apart(grid.Partitions(), pair)
		each := float64(t.Entries) / float64(t.Rows)
		return func(rows float64) float64 {
			return t.Costs.iteration(rows, rows*each, grid, d).total()
		}, err
	}
	add := func(p int, network, a, b string, of, than func(float64) float64) {
		small, large, rows := crossing(of, than)
		names := [2]string{a, b}
		t.Sizes.Rows = append(t.Sizes.Rows, []any{p, network, names[small], names[large], rows})
	}
	for _, p := range []int{2, 4, 8, 16, 64} {
		first, err := time(graph.Of(p), networks[0].pair)
		if err != nil {
			return err
		}
		second, err := time(graph.Of(p), networks[1].pair)
		if err != nil {
			return err
		}
		add(p, "", networks[0].name, networks[1].name, first, second)
		for _, n := range networks {
			one, err := time(graph.Of(1), n.pair)
			if err != nil {
				return err
			}
			column, err := time(graph.Of(p), n.pair)
			if err != nil {
				return err
			}
			add(p, n.name, "1 process", fmt.Sprintf("%d processes", p), one, column)
			if p < 4 {
				continue
			}
			square := graph.Grid{Rows: 1 << (log2(p) - log2(p)/2), Columns: 1 << (log2(p) / 2)}
			both, err := time(square, n.pair)
			if err != nil {
				return err
			}
			add(p, n.name, graph.Of(p).String(), square.String(), column, both)
		}
	}
	return nil
}

func log2(n int) int { return int(math.Log2(float64(n))) }

// mostRows is the greatest number of rows for which times are compared.
const mostRows = 1 << 40

// crossing returns which of two functions is less for few rows and for many, and from how many rows
// on.
func crossing(first, second func(rows float64) float64) (small, large int, rows string) {
	less := func(n float64) int {
		if second(n) < first(n) {
			return 1
		}
		return 0
	}
	low, high := 1.0, float64(mostRows)
	small, large = less(low), less(high)
	if small == large {
		return small, large, "all"
	}
	for high/low > 1.001 {
		if middle := math.Sqrt(low * high); less(middle) == small {
			low = middle
		} else {
			high = middle
		}
	}
	return small, large, fmt.Sprintf("%.3g", high)
}

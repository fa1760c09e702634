package delivery

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/graph"
)

// made returns a load of two partitions in one process whose senders have this number of edges.
func made(edges int) *Load {
	return &Load{
		Vertices: 1 << 20, Arcs: 1 << 24, Partitions: 2, Processes: 1, Threads: 2,
		Grid:   graph.Grid{Rows: 2, Columns: 1},
		Listed: 1 << 19, Ghosts: 1 << 19, Untransposed: 1 << 24, Bytes: 8, FoldBytes: 8,
		Senders: edges / 16, SenderEdges: edges, Unfinished: 1 << 20, UnfinishedEdges: 1 << 24,
	}
}

var someRates = Rates{
	Row: 3e-9, Probe: 1e-9, EdgeFew: 2e-9, Edge: 2e-9, EdgePresent: 2e-9, EdgeAll: 1e-9, Push: 4e-9,
	Transpose: 3e-8, Value: 3e-9, Word: 1e-9, Miss: 1e-7,
	Compute: 3e-9, Copy: 5e-11, Frame: 2e-6, ForkJoin: 2e-6, Alpha: 1e-9, Beta: 1e-3, Gap: 1e-5,
}

// TestPolicyLearnsWhatASuperstepCosts: supersteps take a fixed time, plus three times the model's
// prediction. After a few of them, the policy predicts all sizes well. Small supersteps do not make
// it predict that large ones are slow.
func TestPolicyLearnsWhatASuperstepCosts(t *testing.T) {
	const fixed, slower = 400e-6, 3.
	r := rand.New(rand.NewPCG(1, 2))
	p := Policy{Force: ChooseNaive, Rates: someRates}
	for i := range 120 {
		l := made(1 << (4 + r.IntN(16)))
		s := p.Choose(l)
		costs := someRates.Predict(l)
		took := (fixed + slower*costs[s]) * math.Exp(.1*r.NormFloat64())
		if off := math.Abs(math.Log(p.Predicted[s] / took)); i >= 50 && off > math.Log(1.5) {
			t.Errorf("superstep %d of %d edges: %.3g ms predicted, took %.3g", i, l.SenderEdges,
				p.Predicted[s]*1e3, took*1e3)
		}
		p.Learn(took)
	}
}

// TestFixedCostIsOfEveryScheme: learning from small supersteps does not change the choice.
func TestFixedCostIsOfEveryScheme(t *testing.T) {
	p, q := Policy{Rates: someRates}, Policy{Rates: someRates}
	for range 5 {
		q.Choose(made(16))
		q.Learn(1e-3)
	}
	p.Choose(made(16))
	q.Choose(made(16))
	for s := range p.Predicted {
		if more := q.Predicted[s] - p.Predicted[s]; p.Predicted[s] < math.Inf(1) &&
			(more < .5e-3 || more > 1e-3) {
			t.Errorf("%v: predicted %g, and %g when supersteps of next to no work take 1 ms",
				Scheme(s), p.Predicted[s], q.Predicted[s])
		}
	}
}

// TestSlowMachineChangesNoChoice: if everything takes three times as long as predicted, no scheme
// is chosen just because it has not been tried.
func TestSlowMachineChangesNoChoice(t *testing.T) {
	l := made(1 << 23)
	first := (&Policy{Rates: someRates}).Choose(l)
	p := Policy{Rates: someRates}
	for i := range 20 {
		s := p.Choose(l)
		if s != first {
			t.Fatalf("superstep %d: %v, after %v", i, s, first)
		}
		costs := someRates.Predict(l)
		p.Learn(3 * costs[s])
	}
}

// TestSlowestProcessDecides: a process that has the same arcs but half the threads, or rates twice
// as slow, makes all processes twice as slow.
func TestSlowestProcessDecides(t *testing.T) {
	loads := []*Load{{Arcs: 100, Threads: 2}, {Arcs: 100, Threads: 2}}
	a, b := Rates{Push: 1, Edge: 3, Beta: 5}, Rates{Push: 2, Edge: 2, Beta: 4}
	if got, want := Slowest([]Rates{a, b}, loads), (Rates{Push: 2, Edge: 3, Beta: 5}); got != want {
		t.Errorf("found %+v, expected %+v", got, want)
	}
	// With three threads: the first process's part of the work is done at 2/3 of the speed of all.
	loads[1].Threads = 1
	if got, want := Slowest([]Rates{a, a}, loads),
		(Rates{Push: 1.5, Edge: 4.5, Beta: 5}); got != want {
		t.Errorf("found %+v, expected %+v", got, want)
	}
	var every Rates // no field may be missing
	for i := range reflect.TypeFor[Rates]().NumField() {
		reflect.ValueOf(&every).Elem().Field(i).SetFloat(1)
	}
	loads[1].Threads = 2
	if got := Slowest([]Rates{every, every}, loads); got != every {
		t.Errorf("found %+v, expected 1 for all", got)
	}
	if got := Slowest([]Rates{a}, loads[1:]); got != a {
		t.Errorf("found %+v, expected %+v", got, a)
	}
}

// TestEdgesByPresence: the time of an edge is interpolated between the two nearest measurements.
func TestEdgesByPresence(t *testing.T) {
	r := Rates{Probe: 1, EdgeFew: 3, Edge: 8, EdgePresent: 4}
	for q, want := range map[float64]float64{0: 1, Few / 2: 2, Few: 3, .5: 8, .75: 6, 1: 4} {
		if got := r.edge(q); got != want {
			t.Errorf("%g of all: %g, expected %g", q, got, want)
		}
	}
}

// TestProcessesSendAtOnce: n processes with one partition each all send their part of the bytes at
// the same time.
func TestProcessesSendAtOnce(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		l := &Load{Partitions: n, Processes: n}
		if got, want := someRates.carry(l, 0, 1e6),
			1e6*someRates.Alpha/float64(n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d processes: %g, expected %g", n, got, want)
		}
	}
	if got := someRates.carry(&Load{Partitions: 4, Processes: 1}, 12,
		1e6); got != 1e6*someRates.Copy {
		t.Errorf("one process: %g", got)
	}
}

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// ages is a plan of phases. Each phase changes the graph and a column, depending on both.
type (
	ages struct{ age }
	age  struct{}
)

var seen = pregel.NewVertexColumn[int64]("seen")

func (ages) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return r.Number == 2 }, plan.Phase(age{}))
}

func (age) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (age) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, Columns: []pregel.Column{seen}}
}

func (age) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set((v.Value()*31 + sum + seen.Of(v) + int64(v.OutDegree()) +
		int64(v.NumEdges())) % 1_000_003)
	if v.Superstep() == 4 {
		seen.Set(v, v.Value())
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value())
	some := func() pregel.VertexID {
		return pregel.VertexID(uint64(v.Value()+int64(v.ID())*7) % uint64(v.Change().NextID()))
	}
	switch v.Value() % 20 {
	case 0:
		v.Change().AddEdge(v.ID(), some(), 1)
	case 1:
		v.Change().RemoveEdge(v.ID(), some())
	case 2:
		v.Change().RemoveVertex(some())
	}
}

// planned are jobs whose programs have a plan.
var planned = []job{
	{"scc", "", "uniform:vertices=150,degree=1"},
	{"closeness", "samples=20", "kronecker:scale=5"},
	{"betweenness", "samples=2", "kronecker:scale=5"},
	{"msf", "", "kronecker:scale=5"},
	{"ages", "", "kronecker:scale=6"},
}

// TestKilledInAPhase kills a worker in some superstep of a plan. The job resumes from the previous
// checkpoint, in the right phase, with the same result.
func TestKilledInAPhase(t *testing.T) {
	for _, j := range planned {
		_, supersteps := j.expected(t)
		step := max(supersteps/3, 1)
		if testing.Short() {
			step *= 2
		}
		for superstep := 4; superstep < supersteps-1; superstep += step {
			s := setting{job: j, workers: 3, delay: 2 * time.Millisecond, every: 1 + superstep%2}
			o := disturbed(t, 0, s, j.result(t), func(c *cluster) []*fault {
				at := &trap{point: faults.Computing, who: "w1", times: superstep + 1}
				return []*fault{c.trapping(at, 20*time.Second, func() { c.kill(c.workers[1], true) }, func() { c.revive(1, 0) })}
			})
			if o.bad != "" || o.result != same || o.attempts != 2 ||
				!strings.Contains(o.journal, "goes on from checkpoint") {
				t.Errorf("killed in superstep %d of %d: %v\n%s", superstep, supersteps, o,
					o.journal)
			}
		}
	}
}

// TestSimulationOfPlans runs seeds with these jobs.
func TestSimulationOfPlans(t *testing.T) {
	for i := range *seeds {
		seed := *first + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			s := settingOf(random, allKinds)
			file := s.job.ofFile()
			// A file of edges does not declare them as undirected, which msf requires.
			if s.job = planned[random.IntN(len(planned))]; file && s.job.program != "msf" {
				s.job = s.job.inFile()
			}
			s.grid = s.grid && s.job.program != "msf" // it reads edges
			want, within := usual(t, s)
			o := simulate(t, seed, s, want, within)
			if t.Log(o); o.bad != "" {
				t.Errorf("%v\nagain: go test ./test/simulation -run TestSimulationOfPlans -first %d -seeds 1 -show -v", o, seed)
			}
			if *show || o.bad != "" {
				t.Log(o.journal)
			}
		})
	}
}

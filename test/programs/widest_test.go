package programs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
)

// Widest finds, for every vertex, the path from a source whose smallest capacity is largest.
// Capacities are in a column. A vertex's value is that capacity, or 0 without a path. Edges that
// open after At are closed.
type Widest struct {
	Source id    `param:"source" help:"where the paths begin"`
	At     int64 `param:"at" default:"0" help:"the time of the paths: edges that open later are closed"`
}

var (
	capacity = pregel.NewEdgeColumn[float64]("capacity")
	opens    = pregel.NewEdgeColumn[int64]("opens")
)

func (Widest) Combiner() pregel.Combiner[float64] { return combiners.Max[float64]() }
func (Widest) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{capacity, opens}}
}

func (p Widest) Compute(v *pregel.Vertex[float64, float64], width float64) {
	switch {
	case v.Superstep() == 0 && v.ID() == p.Source:
		width = math.Inf(1)
	case !v.HasMessage():
		width = 0
	}
	if width > v.Value() {
		v.Set(width)
		for e := range v.Edges() {
			if opens.Of(e) <= p.At {
				v.Send(e.To, min(width, capacity.Of(e)))
			}
		}
	}
	v.VoteToHalt()
}

// TestWidest runs Widest on roads with a length, a capacity and a time, locally and on a cluster.
// It compares with widest paths by the Bellman-Ford algorithm.
func TestWidest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	conn := connect(t)
	for _, directed := range []bool{true, false} {
		const n = 60
		type road struct {
			from, to uint64
			capacity float64
			opens    int64
		}
		var roads []road
		var text strings.Builder
		for u := range uint64(n) {
			for v := range uint64(n) {
				if u < v && random.IntN(6) == 0 {
					r := road{u, v, float64(random.IntN(1000)) / 8, random.Int64N(10)}
					roads = append(roads, r)
					fmt.Fprintf(&text, "%d %d 1.5 %v %d\n", r.from, r.to, r.capacity, r.opens)
				}
			}
		}
		path := filepath.Join(t.TempDir(), "roads.txt")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		here, there := programtest.Load(t, conn, path,
			superstep.LoadOptions{Directed: directed, Undirected: !directed})
		source, _ := here.Vertex(roads[0].from)
		o := superstep.Options{Columns: []superstep.Input{superstep.FromFile(capacity,
			path+":4"), superstep.FromFile(opens, path+":5")}}
		res := programtest.Same(t, here, there, Widest{source, 6}, o)
		want := map[uint64]float64{roads[0].from: math.Inf(1)}
		for range n {
			for _, r := range roads {
				if r.opens > 6 {
					continue
				}
				want[r.to] = max(want[r.to], min(want[r.from], r.capacity))
				if !directed {
					want[r.from] = max(want[r.from], min(want[r.to], r.capacity))
				}
			}
		}
		reached := 0
		for label, width := range res.All() {
			if width != want[label] {
				t.Errorf("directed %v: vertex %d has %v, expected %v", directed, label, width,
					want[label])
			}
			if width > 0 {
				reached++
			}
		}
		if reached < 5 {
			t.Errorf("directed %v: %d vertices are reached: the test says little", directed,
				reached)
		}
	}
}

package library_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// strong finds strongly connected components by coloring (Orzan 2004). Forward, each vertex gets
// the lowest id from which it can be reached. Backward, the vertices that can reach the vertex of
// their color are its component, and finish.
type strong struct{}

var (
	strongColour = pregel.NewVertexColumn[pregel.VertexID]("colour")
	strongMoved  = pregel.AnyOf("moved")
)

// Phases: paint sets ids, spread propagates colors, turn begins the backward search, and search
// continues it.
const (
	paint = iota
	spread
	turn
	search
)

func (strong) Combiner() pregel.Combiner[pregel.VertexID] {
	return combiners.Min[pregel.VertexID]()
}

func (strong) Traits() pregel.Traits {
	return pregel.Traits{
		Direction:   pregel.Either,
		Aggregators: []pregel.Aggregate{strongMoved},
		Columns:     []pregel.Column{strongColour},
	}
}

func (strong) Coordinate(c *pregel.Coordinator) {
	if c.Superstep > 0 && (c.Phase == paint || c.Phase == turn || !strongMoved.Value(c)) {
		c.SetPhase((c.Phase + 1) % (search + 1))
	}
}

func (strong) Compute(v *pregel.Vertex[pregel.VertexID, pregel.VertexID], m pregel.VertexID) {
	if v.Superstep() == 0 {
		v.Set(pregel.None)
	}
	switch v.Phase() {
	case paint:
		strongColour.Set(v, v.ID())
		v.SendAlong(pregel.Out, v.ID())
	case spread:
		if m < strongColour.Of(v) {
			strongColour.Set(v, m)
			v.SendAlong(pregel.Out, m)
			strongMoved.Add(v, true)
		}
	case turn:
		if strongColour.Of(v) == v.ID() {
			strongFound(v)
		}
	case search:
		// Behind an edge the color is not greater. The greatest color wins, so the search sends the
		// complement and takes the minimum.
		if v.HasMessage() && ^m == strongColour.Of(v) {
			strongFound(v)
			strongMoved.Add(v, true)
		}
	}
}

func strongFound(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) {
	v.Set(strongColour.Of(v))
	v.SendAlong(pregel.In, ^v.Value())
	v.Finish()
}

// TestStrongComponents compares the components with reachability.
func TestStrongComponents(t *testing.T) {
	for seed := range uint64(6) {
		dice := rand.New(rand.NewPCG(seed, 3))
		n := 20 + dice.IntN(60)
		var list []superstep.Edge
		for range n + dice.IntN(n) {
			list = append(list,
				superstep.Edge{From: dice.Uint64N(uint64(n)), To: dice.Uint64N(uint64(n))})
		}
		for _, o := range []superstep.LoadOptions{{Partitions: 1}, {Partitions: 4}, {Grid: superstep.Grid{Rows: 2, Columns: 2}}} {
			o.Directed = true
			g, err := superstep.FromEdges(t.Context(), list, o)
			g = open(t, g, err)
			r, err := superstep.Run(t.Context(), g, strong{})
			if err != nil {
				t.Fatal(err)
			}
			reach := reachable(g, list)
			for v := range reach {
				// reaches v
				least := slices.IndexFunc(reach, func(from []bool) bool { return from[v] })
				for !reach[v][least] {
					least++
					least += slices.IndexFunc(reach[least:],
						func(from []bool) bool { return from[v] })
				}
				if found := r.Value(pregel.VertexID(v)); found != pregel.VertexID(least) {
					t.Fatalf("seed %d in %v: vertex %d is in component %d, expected %d", seed,
						g.Grid(), v, found, least)
				}
			}
		}
	}
}

// reachable returns which vertices each vertex reaches, including itself, by Warshall's algorithm.
func reachable(g *superstep.Graph, list []superstep.Edge) [][]bool {
	reach := make([][]bool, g.NumVertices())
	for v := range reach {
		reach[v] = make([]bool, len(reach))
		reach[v][v] = true
	}
	for _, e := range list {
		from, _ := g.Vertex(e.From)
		to, _ := g.Vertex(e.To)
		reach[from][to] = true
	}
	for k := range reach {
		for _, row := range reach {
			for j := range row {
				row[j] = row[j] || row[k] && reach[k][j]
			}
		}
	}
	return reach
}

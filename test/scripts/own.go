package scripts

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// own returns the programs of a user's binary.
func own() []pregel.Registered {
	return []pregel.Registered{
		pregel.Register("hops", Hops{}), pregel.Register("forever", Forever{}),
		pregel.Register("broken", Broken{}),
		pregel.Register("count", pregel.List(Received{})), pregel.Register("stuck", Stuck{}),
		pregel.Register("deep", Deep{}), pregel.Register("racing", Racing{}),
		pregel.Register("dice", Dice{}),
		pregel.Register("marks", Marks{}), pregel.Register("ends", pregel.List(Ends{})),
		pregel.Register("adds", Adds{}), pregel.Register("prune", Prune{}),
		pregel.Register("mixes", Mixes{}),
		pregel.Register("tolls", Tolls{}), pregel.Register("churn", Churn{}),
		pregel.Register("ages", Ages{}),
		pregel.Register("hungry", pregel.List(Hungry{})),
		pregel.Register("everywhere", pregel.List(Everywhere{})),
		pregel.Register("clusters", Clusters{}), pregel.Register("paths", Paths{}),
		pregel.Register("circles", Circles{}),
		pregel.Register("leads", Leads{}),
	}
}

type vertex = pregel.Vertex[int64, int64]

// Hops counts edges from a source, up to a limit.
type Hops struct {
	Source pregel.VertexID `param:"source" help:"vertex to count from"`
	Limit  int64           `param:"limit" default:"100" help:"how far to count"`
}

func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p Hops) Validate(*pregel.GraphInfo) error {
	if p.Limit < 1 {
		return errors.New("limit must be at least 1")
	}
	return nil
}

func (p Hops) Init(v *vertex) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (p Hops) Compute(v *vertex, hops int64) {
	if hops < v.Value() {
		v.Set(hops)
		if hops < p.Limit {
			v.SendToAllNeighbors(hops + 1)
		}
	}
	v.VoteToHalt()
}

// Prune removes vertices with fewer than K edges until all others have at least K.
type Prune struct {
	K int `param:"k" help:"least degree"`
}

func (Prune) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (Prune) Traits() pregel.Traits            { return pregel.Traits{Mutates: true} }

func (p Prune) Compute(v *vertex, _ int64) {
	if v.OutDegree() < p.K {
		v.SendToAllNeighbors(1)
		v.Change().RemoveVertex(v.ID())
	}
	v.VoteToHalt()
}

// Churn changes the graph in each of several rounds. Its values depend on everything that a vertex
// saw.
type Churn struct {
	Rounds int    `param:"rounds" default:"10" help:"supersteps"`
	While  string `param:"while" default:"" help:"file that makes supersteps slow"`
}

// slow makes a superstep take a number of times 50 ms longer while a file exists. A script removes
// the file when the run may end.
func slow(v *vertex, file string, times int) {
	if v.ID() != 0 || file == "" {
		return
	}
	for range times {
		if _, err := os.Stat(file); err != nil {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (Churn) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (Churn) Traits() pregel.Traits            { return pregel.Traits{Mutates: true} }

func (p Churn) Compute(v *vertex, sum int64) {
	v.Set((v.Value()*31 + sum + int64(v.OutDegree()) + int64(v.NumEdges())) % 1_000_003)
	if v.Superstep() >= p.Rounds {
		v.VoteToHalt()
		return
	}
	slow(v, p.While, 1)
	id := func() pregel.VertexID { return pregel.VertexID(v.Rand().Uint64N(uint64(v.Change().NextID()))) }
	switch v.Rand().IntN(200) {
	case 0:
		v.Change().AddEdge(v.ID(), id(), 1)
	case 1:
		v.Change().RemoveEdge(id(), id())
	case 2:
		if v.ID() == 0 {
			v.Change().AddVertex(v.Change().NextID(), 7)
		}
	}
	v.SendToAllNeighbors(v.Value())
}

// Mixes has values that depend on all messages to a vertex in several rounds. While the file exists,
// the last 20 rounds take 10 s.
type Mixes Churn

func (Mixes) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p Mixes) Compute(v *vertex, sum int64) {
	v.Set((v.Value()*31 + sum + int64(v.OutDegree())) % 1_000_003)
	if v.Superstep() >= p.Rounds {
		v.VoteToHalt()
		return
	}
	times := 1
	if v.Superstep() >= p.Rounds-20 { // so that few rounds suffice
		times = 10
	}
	slow(v, p.While, times)
	v.SendToAllNeighbors(v.Value())
}

// Ages runs Churn three times as phases, each on the graph and values that the previous one left,
// and then once more.
type Ages Churn

// ageOf is a phase of Ages.
type ageOf struct{ Churn }

var aged = pregel.NewVertexColumn[int64]("aged")

func (p Ages) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return r.Number == 2 },
		plan.Phase(ageOf{Churn(p)}))
}

func (Ages) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (Ages) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, Columns: []pregel.Column{aged}}
}

func (ageOf) Traits() pregel.Traits { return Ages{}.Traits() }

func (p Ages) Compute(v *vertex, sum int64) { Churn(p).Compute(v, sum+aged.Of(v)) }

func (p ageOf) Compute(v *vertex, sum int64) {
	p.Churn.Compute(v, sum+aged.Of(v))
	if v.Superstep() >= p.Rounds {
		aged.Set(v, aged.Of(v)*7+v.Value())
	}
}

// Received is a list program that counts messages.
type Received struct{}

func (Received) Compute(v *vertex, messages []int64) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(1)
	}
	v.Set(int64(len(messages)))
	v.VoteToHalt()
}

// Dice has random values.
type Dice struct{}

func (Dice) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (Dice) Compute(v *vertex, _ int64) {
	v.Set(v.Value()*10 + 1 + v.Rand().Int64N(6))
	if v.Superstep() == 9 {
		v.VoteToHalt()
	}
}

// Adds adds the initial values of its columns.
type Adds struct{}

var (
	addsA = pregel.NewVertexColumn[int64]("a")
	addsB = pregel.NewVertexColumn[int64]("b")
)

func (Adds) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (Adds) Traits() pregel.Traits {
	return pregel.Traits{Help: "adds up a and b", Columns: []pregel.Column{addsA, addsB}}
}

func (Adds) Compute(v *vertex, _ int64) {
	v.Set(int64(v.Label()) + addsA.Of(v) + addsB.Of(v))
	v.VoteToHalt()
}

// Tolls adds the initial values of a vertex's edges.
type Tolls struct{}

var toll = pregel.NewEdgeColumn[int64]("toll")

func (Tolls) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (Tolls) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{toll}}
}

func (Tolls) Compute(v *vertex, _ int64) {
	for e := range v.Edges() {
		v.Set(v.Value() + toll.Of(e))
	}
	v.VoteToHalt()
}

// Marks has list parameters. A vertex's value counts the elements that name it.
type Marks struct {
	Sources []pregel.VertexID `param:"sources" help:"vertices to count"`
	Names   []string          `param:"names" default:"a,b" help:"each counts 100 times"`
	Every   time.Duration     `param:"every" default:"1s" help:"counts 10,000 times a second"`
	Loud    bool              `param:"loud" help:"logs the names"`
}

func (Marks) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p Marks) Compute(v *vertex, _ int64) {
	for _, id := range p.Sources {
		if id == v.ID() {
			v.Set(v.Value() + 1)
		}
	}
	v.Set(v.Value() + 100*int64(len(p.Names)) + 10_000*int64(p.Every/time.Second))
	if p.Loud {
		v.Logf("%q", p.Names)
	}
	v.VoteToHalt()
}

// Ends returns the neighbours of a vertex, and writes them sorted by name.
type Ends struct {
	Wrong bool `param:"wrong" help:"asks for the label of no vertex"`
}

func (p Ends) Compute(v *pregel.Vertex[[]pregel.VertexID, bool], _ []bool) {
	for e := range v.Edges() {
		v.Set(append(v.Value(), e.To))
	}
	if p.Wrong {
		v.Set([]pregel.VertexID{pregel.None})
	}
	v.VoteToHalt()
}

func (Ends) OutputLabels(dst []byte, ends []pregel.VertexID, label func(dst []byte,
	id pregel.VertexID) []byte,
) []byte {
	ends = slices.Clone(ends)
	slices.SortFunc(ends,
		func(a, b pregel.VertexID) int { return bytes.Compare(label(nil, a), label(nil, b)) })
	dst = append(dst, "to"...)
	for _, id := range ends {
		dst = label(append(dst, ' '), id)
	}
	return dst
}

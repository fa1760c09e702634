package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

func TestMessagesSentInSAreReadInSPlus1Only(t *testing.T) {
	w := on(t, "0>1 1>2 2>0 0>2")
	w.expect(t, script{func(v talker, m int64) {
		say(v, "%d", m)
		switch {
		case v.Superstep() == 4:
			v.VoteToHalt()
		case v.Superstep() == int(v.Label()): // 0 sends in 0, 1 in 1, 2 in 2
			v.SendToAllNeighbors(int64(1 + v.Superstep()))
			v.Send(v.ID(), 100)
		}
	}}, "0 100 0 3 0", "0 1 100 0 0", "0 1 2 100 0")
}

func TestSendReachesAnyVertex(t *testing.T) {
	// to itself, to a vertex that is not a neighbour, and to isolated vertices, also in other
	// partitions
	w := on(t, "0>1 2 70")
	want := make([]string, 71)
	for i := range want {
		want[i] = "70"
	}
	want[0], want[3] = "71", "72"
	o := w.expect(t, script{func(v talker, m int64) {
		if v.Superstep() == 0 && v.Label() == 0 {
			for to := range pregel.VertexID(v.NumVertices()) {
				v.Send(to, 70)
			}
			v.Send(v.ID(), 1)
			v.Send(w.id(3), 1)
			v.Send(w.id(3), 1)
		}
		if v.Superstep() == 1 {
			say(v, "%d", m)
		}
		v.VoteToHalt()
	}}, want...)
	w.expectSupersteps(t, o, 2, 74)
}

func TestMessagesOfManyToOneAreCombined(t *testing.T) {
	w := on(t, "0>9 1>9 2>9 3>9 4>9 5>9 6>9 7>9 8>9")
	want := make([]string, 10)
	want[9] = "49"
	o := w.expect(t, script{func(v talker, m int64) {
		if v.Superstep() == 0 {
			v.Send(w.id(9), int64(v.Label())/2)
			v.SendToAllNeighbors(int64(v.Label()) - int64(v.Label())/2)
			if v.Label() == 9 {
				v.Send(v.ID(), 9)
			}
		} else {
			say(v, "%d", m)
		}
		v.VoteToHalt()
	}}, want...)
	w.expectSupersteps(t, o, 2, 9+10+1)
}

func TestSendToNoVertexFailsTheJob(t *testing.T) {
	w := on(t, "0>1 2")
	p := script{func(v talker, _ int64) {
		if v.Label() == 1 {
			v.Send(3, 1)
		}
	}}
	for _, parts := range []int{1, 2, 7} {
		wantError(t, w, pregel.Program[string, int64](p), parts,
			"program script, vertex 1, superstep 0",
			"Send to vertex 3: the graph has vertices 0..2")
	}
}

func TestSendAndSendToAllNeighborsInOneSuperstep(t *testing.T) {
	w := on(t, "0>1 0>2 3")
	o := w.expect(t, script{func(v talker, m int64) {
		if v.Superstep() == 0 && v.Label() == 0 {
			v.Send(w.id(3), 10)
			v.SendToAllNeighbors(1)
			v.Send(w.id(2), 100)
		}
		if v.Superstep() == 1 {
			say(v, "%d %t", m, v.HasMessage())
		}
		v.VoteToHalt()
	}}, "", "1 true", "101 true", "10 true")
	w.expectSupersteps(t, o, 2, 4)
}

func TestSendToAllNeighborsTwiceIsCombined(t *testing.T) {
	w := on(t, "0>1 0>2")
	o := w.expect(t, script{func(v talker, m int64) {
		if v.Superstep() == 0 {
			v.SendToAllNeighbors(1)
			v.SendToAllNeighbors(10)
			v.SendToAllNeighbors(100)
		} else {
			say(v, "%d", m)
		}
		v.VoteToHalt()
	}}, "", "111", "111")
	w.expectSupersteps(t, o, 2, 2)
}

func TestInAListProgramAllMessagesArrive(t *testing.T) {
	w := on(t, "0>1 0>2 0>2 1>2 2>2")
	o := w.expect(t, pregel.List(listener{func(v talker, messages []int64) {
		if v.Superstep() == 0 {
			v.SendToAllNeighbors(int64(v.Label()) + 1)
			v.SendToAllNeighbors(10 * int64(v.Label()+1))
			v.Send(w.id(2), 100)
			v.Send(w.id(2), 100)
		} else {
			list := slices.Clone(messages)
			slices.Sort(list)
			say(v, "%v", list)
		}
		v.VoteToHalt()
	}}), "", "[1 10]", "[1 1 2 3 10 10 20 30 100 100 100 100 100 100]")
	w.expectSupersteps(t, o, 2, 5+5+6)
}

func TestAnAwakeListVertexWithoutMessagesGetsNone(t *testing.T) {
	w := on(t, "0>1 2 3")
	w.expect(t, pregel.List(listener{func(v talker, messages []int64) {
		say(v, "%d %v %t", v.Superstep(), messages, v.HasMessage())
		if v.Superstep() == 0 && v.Label() == 0 {
			v.SendToAllNeighbors(0)
		}
		if v.Superstep() == 2 || v.Label() == 2 || v.Label() == 1 {
			v.VoteToHalt()
		}
		if v.Superstep() == 1 && v.Label() == 3 {
			v.Finish()
		}
	}}), "0 [] false 1 [] false 2 [] false", "0 [] false 1 [0] true", "0 [] false",
		"0 [] false 1 [] false")
}

// counter counts messages.
type counter struct{ script }

func (counter) Combiner() pregel.Combiner[int64] { return combiners.Count[int64]() }

func TestCountCountsMessagesWhateverTheySay(t *testing.T) {
	w := on(t, "0>1 0>2 1>2 2>2 2>2 3")
	o := w.expect(t, counter{script{func(v talker, m int64) {
		if v.Superstep() == 0 {
			v.SendToAllNeighbors(70)
			if v.Label() == 0 {
				v.SendToAllNeighbors(-5)
				v.Send(w.id(3), 1000)
				v.Send(w.id(3), 1000)
				v.Send(w.id(2), 0)
			}
		} else {
			say(v, "%d", m)
		}
		v.VoteToHalt()
	}}}, "", "2", "6", "2")
	w.expectSupersteps(t, o, 2, 5+2+3)
}

// weighing sends over the weights of edges.
type weighing struct {
	combiner pregel.Combiner[float64]
	twice    bool
	to       pregel.VertexID
}

func (p weighing) Combiner() pregel.Combiner[float64] { return p.combiner }
func (p weighing) Compute(v *pregel.Vertex[float64, float64], m float64) {
	if v.Superstep() == 0 && v.Label() == 0 {
		v.SendToAllNeighbors(8)
		if p.twice {
			v.SendToAllNeighbors(4)
		}
		v.Send(p.to, 100)
	}
	v.Set(m)
	v.VoteToHalt()
}

func TestAMessageToNeighborsCrossesTheWeightsAndOneToAVertexDoesNot(t *testing.T) {
	w := on(t, "0>1:0.5 0>2:3 0>2:2 1>0:7 3>3:1")
	for i, c := range []struct {
		combiner pregel.Combiner[float64]
		twice    bool
		want     string // for 1, for 2, which has two edges, and for 3, which is sent 100
	}{
		{combiners.MinPlus[float64](), false, "[8.5 10 100]"},
		{combiners.MinPlus[float64](), true, "[4.5 6 100]"},
		{combiners.MaxMin[float64](), false, "[0.5 3 100]"},
		{combiners.SumTimes[float64](), false, "[4 40 100]"},
		{combiners.SumTimes[float64](), true, "[6 60 100]"},
		{combiners.Sum[float64](), true, "[12 24 100]"},
	} {
		for _, s := range aFew(i, inGrids()) {
			g := w.loadAs(t, s, edges.Float64)
			got, _ := run(t, g, weighing{c.combiner, c.twice, w.id(3)}, s)
			if fmt.Sprint(got[1:]) != c.want {
				t.Fatalf("%v, twice %t, %v: %v, want %s", c.combiner, c.twice, s, got[1:], c.want)
			}
			g.Close()
		}
	}
}

func TestASemiringWantsItsWeights(t *testing.T) {
	w := on(t, "0>1:0.5")
	for kind, text := range map[edges.Weights]string{
		edges.Unweighted: "combiner MinPlus[float64] wants edge weights of type float64: the graph has no weights",
		edges.Float32:    "combiner MinPlus[float64] wants edge weights of type float64: the graph has float32 weights",
	} {
		w.kind = kind
		wantError(t, w, pregel.Program[float64,
			float64](weighing{combiner: combiners.MinPlus[float64]()}), 2, "weighing: ", text)
	}
}

// pinger sends empty messages.
type pinger struct{}

func (pinger) Combiner() pregel.Combiner[struct{}] { return combiners.First[struct{}]() }
func (pinger) Compute(v *pregel.Vertex[int, struct{}], _ struct{}) {
	v.Set(2*v.Value() + int(flag(v.HasMessage())))
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(struct{}{})
		v.Send(0, struct{}{})
	}
	v.VoteToHalt()
}

func TestMessagesMayBeOfNoSize(t *testing.T) {
	w := on(t, "0>1 1>2 3>3 4")
	for _, s := range aFew(4, inGrids()) {
		g := w.loadAs(t, s, edges.Unweighted)
		if got, _ := run(t, g, pinger{}, s); got[w.label(0)] != 1 || got[1] != 1 || got[2] != 1 ||
			got[3] != 1 || got[4] != 0 {
			t.Fatalf("%v: %v", s, got)
		}
		g.Close()
	}
}

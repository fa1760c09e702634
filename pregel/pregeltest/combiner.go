package pregeltest

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/laws"
	"github.com/superstep-go/superstep/pregel"
)

// CheckCombiner fails the test unless the combiner meets the engine's requirements: it is
// commutative and associative, its identity is neutral, it does not change its arguments, and its
// loops compute the same as its method Combine. values are the messages to test with. Give edge
// cases too, and only values that combine without rounding. For floats it adds NaN, both infinities
// and both zeros. It does not test the loops of combiners that change messages: by weights, or by
// counting.
//
// It compares messages with reflect.DeepEqual, but NaN equals NaN. CheckCombinerSame takes a
// function that compares them.
func CheckCombiner[M any](t testing.TB, c pregel.Combiner[M], values ...M) {
	t.Helper()
	CheckCombinerSame(t, c, laws.Same[M], values...)
}

// CheckCombinerSame is CheckCombiner with a function that reports whether two messages are equal.
// It is for messages with several equal forms, such as nil and the empty slice.
func CheckCombinerSame[M any](t testing.TB, c pregel.Combiner[M], same func(a,
	b M) bool, values ...M,
) {
	t.Helper()
	if len(values) < 3 {
		t.Fatalf("pregeltest.CheckCombiner: %d values; give three or more, no two alike",
			len(values))
	}
	values = append(values[:len(values):len(values)], laws.Odd[M]()...)
	k, err := c.Kernel(kernel.Binding{Sources: &kernel.Slots{Stride: 1, Ghost: 64}, Capacity: 64})
	if err == nil {
		err = laws.Check(c, asSent(k, values), same)
	}
	if err != nil {
		t.Fatalf("pregeltest.CheckCombiner: %s: %v", c, err)
	}
	if _, lifts := k.(kernel.Lifter[M]); !lifts && !k.Traits().Weighted {
		checkLoops(t, c, k, same, values)
	}
}

// asSent returns the messages that the combiner does not drop, in their normalized form.
func asSent[M any](k kernel.Kernel[M], values []M) (sent []M) {
	n, ok := k.(kernel.Normalizing[M])
	if !ok || n.Normalizer() == nil {
		return values
	}
	for _, m := range values {
		if one := [64]M{m}; n.Normalizer()(1, &one) != 0 {
			sent = append(sent, one[0])
		}
	}
	return sent
}

// relay is a program in which some vertices send messages, and every vertex keeps the message that
// it gets.
type relay[M any] struct {
	c      pregel.Combiner[M]
	values []M
}

type kept[M any] struct {
	Message M
	Any     bool
}

func (p relay[M]) Combiner() pregel.Combiner[M] { return p.c }

// of returns the message that a vertex sends, if it sends one.
func (p relay[M]) of(label uint64) (m M, sends bool) {
	return p.values[label*label%uint64(len(p.values))], label%3 != 0
}

func (p relay[M]) Compute(v *pregel.Vertex[kept[M], M], m M) {
	if v.Superstep() == 1 {
		v.Set(kept[M]{m, v.HasMessage()})
	} else if m, sends := p.of(v.Label()); sends {
		v.SendToAllNeighbors(m)
	}
	v.VoteToHalt()
}

// checkLoops sends the values over a random graph in all ways of delivery. It compares the received
// messages with the results of Combine.
func checkLoops[M any](t testing.TB, c pregel.Combiner[M], k kernel.Kernel[M], same func(a,
	b M) bool, values []M,
) {
	t.Helper()
	const n = 150
	rng := rand.New(rand.NewPCG(2, 2))
	p := relay[M]{c, values}
	want := make([]kept[M], n)
	var list []superstep.Edge
	for range 10 * n {
		e := superstep.Edge{From: rng.Uint64N(n), To: rng.Uint64N(1 + rng.Uint64N(n))}
		list = append(list, e)
		m, sends := p.of(e.From)
		if !sends {
			continue
		}
		for _, m := range asSent(k, []M{m}) {
			if to := &want[e.To]; to.Any {
				to.Message = c.Combine(to.Message, m)
			} else {
				*to = kept[M]{m, true}
			}
		}
	}
	o := superstep.LoadOptions{Directed: true}
	for v := range uint64(n) {
		o.Vertices = append(o.Vertices, v)
	}
	g, err := superstep.FromEdges(context.Background(), list, o)
	if err != nil {
		t.Fatalf("pregeltest.CheckCombiner: %v", err)
	}
	defer g.Close()
	res := Matrix(t, g, pregel.Program[kept[M], M](p), func(a, b kept[M]) bool {
		return a.Any == b.Any && (!a.Any || same(a.Message, b.Message))
	})
	for v, got := range Values(res) {
		if w := want[v]; got.Any != w.Any || w.Any && !same(got.Message, w.Message) {
			t.Fatalf("pregeltest.CheckCombiner: %s: messages combine to %s by its loops, and to %s by Combine", c, show(got.Message), show(w.Message))
		}
	}
}

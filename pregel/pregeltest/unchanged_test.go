package pregeltest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

type numbers = pregel.Vertex[[]int, []int]

// keeping sends a slice, and modifies it while others read it. If careful, it sends a copy.
type keeping struct{ single, careful bool }

func (keeping) Combiner() pregel.Combiner[[]int] {
	return combiners.Func(nil,
		func(a, b []int) []int { return slices.Sorted(slices.Values(slices.Concat(a, b))) })
}

func (p keeping) Compute(v *numbers, msg []int) {
	if v.Superstep() == 1 {
		v.Value()[0] += len(msg)
		v.VoteToHalt()
		return
	}
	m := []int{int(v.Label())}
	if v.Set(m); p.careful {
		m = slices.Clone(m)
	}
	if p.single {
		v.Send(v.ID(), m)
	} else {
		v.SendToAllNeighbors(m)
	}
}

// writing is a list program whose receivers modify a message that others receive, too.
type writing struct{ careful bool }

func (p writing) Compute(v *pregel.Vertex[int, map[string]int], msgs []map[string]int) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(map[string]int{"n": 1})
	}
	for _, m := range msgs {
		if !p.careful {
			m["n"]++
		}
		v.Set(v.Value() + m["n"])
	}
	v.VoteToHalt()
}

// TestMatrixFindsMessagesThatChange: senders and receivers modify messages after they were sent.
func TestMatrixFindsMessagesThatChange(t *testing.T) {
	path := "0-1 1-2 2-0 2-3"
	list := func(p writing) pregel.Program[int, map[string]int] { return pregel.List(p) }
	for _, single := range []bool{false, true} {
		wantFailure(t, "was changed in superstep",
			func(t testing.TB) { Matrix(t, Graph(t, path), keeping{single: single}) })
		if text := failure(t, func(t testing.TB) { Matrix(t, Graph(t, path), keeping{single: single, careful: true}) }); text != "" {
			t.Errorf("a program that copies: %s", text)
		}
	}
	wantFailure(t,
		"the message that vertex 2 sent in superstep 0 was changed in superstep 1, after it was sent: from [n:1] to [n:", func(t testing.TB) {
			Matrix(t, Graph(t, "2>0 2>1 2>3"), list(writing{}))
		})
	if text := failure(t, func(t testing.TB) { Matrix(t, Graph(t, path), list(writing{careful: true})) }); text != "" {
		t.Errorf("a program that only reads: %s", text)
	}
}

// sendingOn forwards its value, and repeats it in Resend. If lies is true, Resend sends another
// value.
type sendingOn struct{ lies bool }

func (sendingOn) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (sendingOn) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*3 + sum + int64(v.Label()))
	if v.Superstep() == 4 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 100)
}

func (p sendingOn) Resend(v *pregel.Vertex[int64, int64]) {
	m := v.Value() % 100
	if p.lies && v.Superstep() == 3 {
		m++
	}
	v.SendToAllNeighbors(m)
}

// TestMatrixFindsAResendThatLies: Resend sends other messages than Compute did.
func TestMatrixFindsAResendThatLies(t *testing.T) {
	path := "0-1 1-2 2-0 2-3"
	wantFailure(t, "Resend, after superstep 3, sends other messages than were sent",
		func(t testing.TB) { Matrix(t, Graph(t, path), sendingOn{lies: true}) })
	if text := failure(t, func(t testing.TB) { Matrix(t, Graph(t, path), sendingOn{}) }); text != "" {
		t.Errorf("a program that sends the same again: %s", text)
	}
}

// phased alternates between phases, and supports Resend. Its aggregate has the total of the
// previous superstep.
type phased struct{}

var sent = pregel.SumOf[int64]("sent")

func (phased) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (phased) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{sent}}
}
func (phased) Coordinate(c *pregel.Coordinator)      { c.SetPhase(1 + c.Superstep%2) }
func (phased) Resend(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(v.Value() % 100) }

func (p phased) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	if want := 1 + v.Superstep()%2; v.Phase() != want {
		panic(fmt.Sprintf("superstep %d: found phase %d, expected %d", v.Superstep(), v.Phase(),
			want))
	}
	v.Set(v.Value()*3 + sum + sent.Value(v) + int64(v.Label()))
	if v.Superstep() == 4 {
		v.VoteToHalt()
		return
	}
	sent.Add(v, 1)
	p.Resend(v)
}

// TestMatrixLeavesThePhase: checking Resend does not change what Compute sees afterwards.
func TestMatrixLeavesThePhase(t *testing.T) {
	if text := failure(t, func(t testing.TB) { Matrix(t, Graph(t, "0-1 1-2 2-0 2-3"), phased{}) }); text != "" {
		t.Error(text)
	}
}

// stepping has a Coordinate method that modifies a field of the program. The field is the
// coordinator's own state in ownStepping.
type (
	stepping struct {
		Width int
		steps
	}
	steps       struct{ taken []int }
	ownStepping struct{ stepping }
)

func (*stepping) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }

func (p *stepping) Coordinate(c *pregel.Coordinator) { p.taken = append(p.taken, c.Superstep) }

func (p *stepping) Compute(v *pregel.Vertex[int, int], _ int) {
	v.Set(len(p.taken))
	if v.Superstep() == 2 {
		v.VoteToHalt()
	}
}

func (*ownStepping) MarshalBinary() ([]byte, error) { return nil, nil }
func (*ownStepping) UnmarshalBinary([]byte) error   { return nil }

// TestMatrixFindsAFieldThatCoordinateChanges: the error names the field. State that belongs to the
// coordinator is accepted.
func TestMatrixFindsAFieldThatCoordinateChanges(t *testing.T) {
	wantFailure(t,
		"Coordinate changed the program's field taken, from [] to [0]: no vertex sees that",
		func(t testing.TB) {
			Matrix(t, Graph(t, "0>1"), &stepping{Width: 3})
		})
	if text := failure(t, func(t testing.TB) { Matrix(t, Graph(t, "0>1"), &ownStepping{}) }); text != "" {
		t.Errorf("state of its own: %s", text)
	}
}

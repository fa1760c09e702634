package engine_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// names stores a vertex's neighbours, and writes them.
type names struct{}

func (names) Compute(v *pregel.Vertex[[]pregel.VertexID, bool], _ []bool) {
	for e := range v.Edges() {
		v.Set(append(v.Value(), e.To))
	}
	v.VoteToHalt()
}

func (names) OutputLabels(dst []byte, v []pregel.VertexID, label func(dst []byte,
	id pregel.VertexID) []byte,
) []byte {
	for _, id := range v {
		dst = append(label(append(dst, '<'), id), '>')
	}
	return dst
}

type both struct{ names }

func (both) Output(dst []byte, _ []pregel.VertexID) []byte { return dst }

type misnamed struct{ names }

func (misnamed) OutputLabels(dst []byte, _ []pregel.VertexID) []byte { return dst }

// unequal has InputIDs, although its values are not integers.
type unequal struct{ names }

func (unequal) Traits() pregel.Traits { return pregel.Traits{InputIDs: true} }

func TestOutputLabelsWritesWhatTheInputHas(t *testing.T) {
	w := on(t, "0>3 3>1 3>2 3>3 2>0")
	for _, parts := range []int{1, 3} {
		j, err := engine.NewJob(t.Context(), w.load(t, parts, 0),
			pregel.Erase(pregel.List(names{})), engine.Options{})
		check(t, err)
		defer j.Close()
		_, err = j.Run(t.Context())
		check(t, err)
		if !j.MayHaveVertices() {
			t.Error("lines do not name vertices")
		}
		for label, want := range []string{"<3>", "", "<0>", "<3><2><1>"} {
			if got := string(j.Append(nil, w.id(uint64(label)))); got != want {
				t.Errorf("%d partitions: vertex %d is written %q, expected %q", parts, label, got,
					want)
			}
		}
		name := func(dst []byte, label uint64) []byte {
			return append(dst, []string{"a b", `;c\\`, "d:", "e"}[label]...)
		}
		if got, want := string(j.AppendAs(nil, w.id(3), w.label, name)),
			`<e><d\:><\;c\\\\>`; got != want {
			t.Errorf("%d partitions: with names %s is written, expected %s", parts, got, want)
		}
	}
	for want, p := range map[string]pregel.ListProgram[[]pregel.VertexID, bool]{
		"both: Output and OutputLabels do the same: a program has one of them": both{},
		"misnamed: method OutputLabels is func([]uint8, []pregel.VertexID) []uint8, " +
			"want func([]uint8, []pregel.VertexID, func([]uint8, pregel.VertexID) []uint8) []uint8": misnamed{},
		"unequal: InputIDs is for values of type uint64": unequal{},
	} {
		for range 2 { // what was rejected once is rejected again
			if _, err := engine.NewProgram(pregel.Erase(pregel.List(p))); err == nil ||
				err.Error() != want {
				t.Errorf("the error is %v, expected %s", err, want)
			}
		}
	}
}

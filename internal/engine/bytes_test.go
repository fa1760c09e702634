package engine_test

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// wordy sends lists of words to all neighbours, or to a vertex.
type wordy struct{ single bool }

func (p wordy) Compute(v *pregel.Vertex[int, []string], msgs [][]string) {
	v.Set(v.Value() + len(msgs))
	if v.VoteToHalt(); v.Superstep() > 1 {
		return
	}
	words := []string{strings.Repeat("a", 1000), strings.Repeat("b", 500), strings.Repeat("c", 500)}
	if p.single {
		v.Send(pregel.VertexID((uint64(v.ID())+1)%v.NumVertices()), words)
	} else {
		v.SendToAllNeighbors(words)
	}
}

// TestBytesOfMessagesWithPointers counts what lists and strings take when they travel, not what a pointer to them does.
func TestBytesOfMessagesWithPointers(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-0 0-2")
	for _, single := range []bool{false, true} {
		p := pregel.List(wordy{single})
		g := w.load(t, 2, 0)
		program, err := engine.Erase(p)
		check(t, err)
		check(t, program.Ready(t.Context(), g, nil))
		j, err := program.Bind(g, engine.Options{})
		check(t, err)
		o, err := j.Run(t.Context())
		check(t, err)
		j.Close()
		if least := 2000 * o.Sent; o.Sent == 0 || o.Bytes < least || o.Bytes > least+least/10 {
			t.Errorf("single %t: %d bytes of %d messages of 2,000 each", single, o.Bytes, o.Sent)
		}
	}
}

package engine_test

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// wordy sends lists of words, with this number of bytes in all, to all neighbours, or to one
// vertex.
type wordy struct {
	single bool
	bytes  int
}

func (p wordy) Compute(v *pregel.Vertex[int, []string], msgs [][]string) {
	v.Set(v.Value() + len(msgs))
	if v.VoteToHalt(); v.Superstep() > 1 {
		return
	}
	words := []string{strings.Repeat("a", p.bytes/2), strings.Repeat("b",
		p.bytes/4), strings.Repeat("c", p.bytes/4)}
	if p.single {
		v.Send(pregel.VertexID((uint64(v.ID())+1)%v.NumVertices()), words)
	} else {
		v.SendToAllNeighbors(words)
	}
}

// TestBytesOfMessagesWithPointers: lists and strings count with their encoded size, not with the
// size of a pointer.
func TestBytesOfMessagesWithPointers(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-0 0-2")
	for _, single := range []bool{false, true} {
		p := pregel.List(wordy{single, 2000})
		g := w.load(t, 2, 0)
		program, err := engine.NewProgram(pregel.Erase(p))
		check(t, err)
		j, err := program.Bind(t.Context(), g, engine.Options{})
		check(t, err)
		o, err := j.Run(t.Context())
		check(t, err)
		j.Close()
		if least := 2000 * o.Sent; o.Sent == 0 || o.Bytes < least || o.Bytes > least+least/10 {
			t.Errorf("single %t: %d bytes of %d messages of 2,000 each", single, o.Bytes, o.Sent)
		}
	}
}

// TestPredictionsFollowBytes: if bytes between processes are expensive, predictions grow with the
// size of the messages sent first. For messages as large as a number, the predictions are those for
// numbers.
func TestPredictionsFollowBytes(t *testing.T) {
	g := on(t, "0-1 1-2 2-3 3-0 0-2").load(t, 2, 0)
	predicted := func(bytes int) float64 {
		var j journal
		o := engine.Options{Alpha: 1, Delivery: delivery.ChooseNaive, Trace: &j}
		all, d := apart(t, g, pregel.List(wordy{bytes: bytes}), o, alone(g))
		local := transport.NewLocal(2)
		_, err := all.run(t.Context(), d, local.Endpoint, local.Close)
		check(t, err)
		return j.records[2].Predicted["pull"]
	}
	small, large := predicted(8), predicted(8000)
	if ratio := large / small; ratio < 100 || ratio > 2000 {
		t.Errorf("messages of 8,000 bytes are predicted to take %.0f times as long as those of 8",
			ratio)
	}
}

package delivery

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// forger is a transport that delivers one frame, made by the test.
type forger struct{ frame transport.Frame }

func (*forger) Send(*transport.Frame) error { return nil }

func (*forger) Distant(int) bool { return false }

func (*forger) SendAhead(*transport.Frame) (bool, error) { return false, nil }

func (*forger) Claim(*transport.Frame) {}

func (*forger) Flush(context.Context) error { return nil }

func (*forger) Release(*transport.Frame) {}

func (*forger) End(context.Context, int) (*transport.Account, error) { return nil, nil }

func (f *forger) Poll(transport.Kind) (*transport.Frame, error) { return nil, nil }

func (f *forger) Receive(context.Context, transport.Kind) (*transport.Frame, error) {
	return &f.frame, nil
}

// FuzzFrames delivers frames with arbitrary content: each is rejected or accepted, without damage.
func FuzzFrames(f *testing.F) {
	in := &edges.Input{Name: "pairs", Vertices: 200, Directed: true}
	var tuples [][2]uint64
	for i := range uint64(600) {
		tuples = append(tuples, [2]uint64{i * 7 % 200, i * i % 200})
	}
	in.Edges = edges.Pack(200, tuples, nil)
	g, err := build.Local(context.Background(), in, graph.Options{Partitions: 2})
	if err != nil {
		f.Fatal(err)
	}
	p := g.Parts[0]
	layout := p.Layout(pregel.Out)
	senders, receivers := layout.Blocks[0].Pull.Senders, layout.Blocks[0].Push.Receivers
	listed := int(senders.Groups[1].Count)
	f.Add(uint8(Bitmap), 1, 1, 0, []byte{1, 0, 0, 0, 0, 0, 0, 0}, []byte{1, 2, 3, 4})
	f.Add(uint8(All), listed, 1, 0, []byte{}, make([]byte, 4*listed))
	f.Add(uint8(Sparse), 1, 1, 0, []byte{0, 0, 0, 0, 3, 0}, []byte{1, 2, 3, 4})
	f.Add(uint8(Pairs), 1, 1, 0, []byte{5, 0, 0, 0}, []byte{1, 2, 3, 4})
	f.Add(uint8(Pairs), 1, 1, 0, []byte{9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0},
		[]byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, encoding uint8, count, from, superstep int, presence, raw []byte) {
		k, err := combiners.Sum[uint32]().Kernel(
			kernel.Binding{Sources: layout.Slots, Capacity: p.Slots})
		if err != nil {
			t.Fatal(err)
		}
		x := NewExchange(p, new(kernel.Vec[uint32]), Experiment{})
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		forged := transport.Frame{From: from, To: 0, Superstep: superstep, Encoding: encoding, Count: count, Presence: presence, Raw: raw}
		x.Connect(&forger{forged}, gate)
		frontier := bitmap.NewFrontier(make([]uint64, p.Slots/64))
		inbox := &kernel.Inbox[uint32]{Msg: make([]uint32,
			p.Slots), Has: bitmap.NewFrontier(make([]uint64, p.Slots/64))}
		erased := Inbox{&kernel.Vec[uint32]{Data: inbox.Msg}, inbox.Has}
		fold := func(to []uint32, messages kernel.Column) {
			k.Fold(to, kernel.Elements[uint32](messages), inbox)
		}
		got := 0
		sink := func(to []uint32, messages kernel.Column) {
			if n := len(kernel.Elements[uint32](messages)); len(to) != n {
				t.Fatalf("%d messages to %d vertices", n, len(to))
			}
			for _, v := range to {
				if int(v) >= p.Owned {
					t.Fatalf("a message to vertex %d of %d", v, p.Owned)
				}
			}
			got += len(to)
		}
		outbox := []kernel.Sends{kernel.NewOutbox[uint32](kernel.NewDeal(2), false)}
		_, err1 := x.Expand(t.Context(), senders, k, frontier, 0, 0, nil)
		err2 := x.Fold(t.Context(), receivers, erased, fold, 0, nil)
		err3 := x.Uncombined(t.Context(), receivers, layout.Slots.Ghost, nil, sink, 0)
		err4 := x.Send(t.Context(), outbox, nil, sink)
		err5 := x.SendInOrder(t.Context(), outbox, sink)
		if (err1 == nil || err2 == nil) && (err3 == nil || err4 == nil || err5 == nil) {
			t.Fatalf("taken for a column and for pairs: %v", forged)
		}
		if err1 == nil && bitmap.Count(frontier.Words) != count || (err3 == nil || err4 == nil) &&
			got < count {
			t.Fatalf("%d messages, %d said", got, count)
		}
		for i := p.Owned; i < int(layout.Slots.Ghost); i++ {
			if bitmap.Get(frontier.Words, uint32(i)) || bitmap.Get(inbox.Has.Words, uint32(i)) {
				t.Fatalf("a bit for slot %d, which is none", i)
			}
		}
	})
}

var _ transport.Endpoint = (*forger)(nil)

func TestFramesOfAnotherSuperstepAreRefused(t *testing.T) {
	g, err := build.Local(t.Context(), &edges.Input{Name: "pair", Edges: edges.Pack(2,
		[][2]uint64{{0, 1}}, nil), Vertices: 2}, graph.Options{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	x := NewExchange(g.Parts[0], new(kernel.Vec[uint32]), Experiment{})
	gate := make(chan struct{}, 1)
	gate <- struct{}{}
	x.Connect(&forger{transport.Frame{From: 1, Superstep: 4}}, gate)
	x.Begin(5)
	line := []int{1}
	if _, err := x.receive(t.Context(), transport.Fold, line); err == nil ||
		errors.Is(err, transport.ErrClosed) {
		t.Fatal(err)
	}
	for _, from := range []int{-1, 0, 2} { // the receiver itself, and partitions that do not exist
		x.Connect(&forger{transport.Frame{From: from, Superstep: 5}}, gate)
		if _, err := x.receive(t.Context(), transport.Fold, line); err == nil ||
			!strings.Contains(err.Error(), "reached partition 0") {
			t.Errorf("from partition %d: %v", from, err)
		}
	}
}

// TestPartsOfAColumnComeOnce: a part that arrives twice is an error, and so is a part that does not
// exist.
func TestPartsOfAColumnComeOnce(t *testing.T) {
	in := &edges.Input{Name: "circle", Vertices: 600}
	var tuples [][2]uint64
	for i := range uint64(600) {
		tuples = append(tuples, [2]uint64{i, (i + 1) % 600})
	}
	in.Edges = edges.Pack(600, tuples, nil)
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	p := g.Parts[0]
	senders := p.Layout(pregel.Out).Blocks[0].Pull.Senders
	for part, want := range map[uint8]string{0: "part 0 of 4", 4: "part 4 of 4"} {
		k, err := combiners.Sum[uint32]().Kernel(
			kernel.Binding{Sources: p.Layout(pregel.Out).Slots, Capacity: p.Slots})
		if err != nil {
			t.Fatal(err)
		}
		x := NewExchange(p, new(kernel.Vec[uint32]), Experiment{})
		x.partBytes = 1
		x.Begin(1)
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		x.Connect(&forger{transport.Frame{From: 1, Superstep: 1, Encoding: uint8(Sparse) | part<<4}}, gate)
		_, err = x.Expand(t.Context(), senders, k, bitmap.NewFrontier(make([]uint64, p.Slots/64)),
			0, 0, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("part %d: %v, want an error of %s", part, err, want)
		}
	}
}

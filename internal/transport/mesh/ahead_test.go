package mesh

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// slowed is a connection that isMemory does not recognize, so it counts as a network.
type slowed struct{ net.Conn }

func slowedDial(_ int, o *Options) { wrapDial(o, func(c net.Conn) net.Conn { return slowed{c} }) }

// word returns a frame with one byte for partition 1.
func word(superstep int, kind transport.Kind, b byte) *transport.Frame {
	return &transport.Frame{To: 1, Superstep: superstep, Kind: kind, Count: 1, Raw: []byte{b}}
}

// TestFramesSentAheadComeInTheirSuperstep: each superstep receives only its own frames, in any
// order of arrival. Claimed frames are in both accounts. Other frames sent ahead are dropped.
func TestFramesSentAheadComeInTheirSuperstep(t *testing.T) {
	meshes, a, b := pair(t, slowedDial)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ahead := func(f *transport.Frame) {
		t.Helper()
		taken, err := a.SendAhead(f)
		if !taken || err != nil {
			t.Fatalf("taken %t: %v", taken, err)
		}
	}
	receive := func(want byte) {
		t.Helper()
		f, err := b.Receive(ctx, transport.Expand)
		fail(err)
		if f.Raw[0] != want {
			t.Fatalf("received %d, want %d", f.Raw[0], want)
		}
	}
	end := func(superstep int) {
		t.Helper()
		accounts := make([]*transport.Account, 2)
		for i, p := range []*Port{a, b} {
			x, err := p.End(ctx, superstep)
			fail(err)
			accounts[i] = x
		}
		fail(transport.Balance(accounts))
	}
	// Sent before the frame of the current superstep: it is not received yet.
	next := word(1, transport.Expand, 2)
	ahead(next)
	fail(a.Flush(ctx))
	fail(a.Send(word(0, transport.Expand, 1)))
	receive(1)
	if f, err := b.Poll(transport.Expand); f != nil || err != nil {
		t.Fatalf("a frame of the next superstep: %v, %v", f, err)
	}
	end(0)
	a.Claim(next)
	receive(2)
	// These two are never claimed. One arrives after its superstep has ended.
	ahead(word(2, transport.Expand, 3))
	ahead(word(2, transport.ExpandReversed, 4))
	end(1)
	fail(a.Flush(ctx))
	end(2)
	fail(a.Send(word(3, transport.Expand, 5)))
	receive(5)
	end(3)
	for _, m := range meshes {
		if s := m.Stats(); s.Broken > 0 || s.StaleJob+s.StaleIncarnation+s.Misrouted > 0 {
			t.Errorf("%+v", s)
		}
	}
}

// TestASessionThatBeginsLater: a run resumed from a checkpoint begins at a later superstep. In it,
// only this superstep's frames are received, not those sent ahead for the next one.
func TestASessionThatBeginsLater(t *testing.T) {
	for _, first := range []int{1, 2, 7} {
		_, a, b := pair(t, slowedDial)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a.session.Begin(first)
		b.session.Begin(first)
		if taken, err := a.SendAhead(word(first+1, transport.Expand, 2)); !taken || err != nil {
			t.Fatalf("taken %t: %v", taken, err)
		}
		if err := a.Send(word(first, transport.Expand, 1)); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Receive(ctx, transport.Expand); err != nil || f.Raw[0] != 1 {
			t.Fatalf("first superstep %d: received %v, %v", first, f, err)
		}
	}
}

// TestLaterRuns runs three runs over one session. A later run counts its supersteps from 0, and
// sends nothing ahead if it must not.
func TestLaterRuns(t *testing.T) {
	meshes, peers := cluster(t, 2, slowedDial)
	// worker 0 has partitions 0 and 2, worker 1 has 1 and 3
	sessions := openAll(t, meshes, 1, 1, dealt(peers, 4), nil)
	for run, to := range []int{1, 2, 1} {
		past, near := 3*run, run == 2
		a, b := sessions[0].Endpoint(0, past, near), sessions[to%2].Endpoint(to, past, near)
		if want := run == 0; a.Distant(to) != want {
			t.Errorf("run %d: partition %d is distant: %t", run, to, !want)
		}
		for superstep := range 3 {
			sent := &transport.Frame{To: to, Kind: transport.Fold, Superstep: superstep, Count: 7}
			if err := a.Send(sent); err != nil {
				t.Fatal(err)
			}
			f, err := b.Receive(t.Context(), transport.Fold)
			if err != nil || f.Superstep != superstep || f.Count != 7 {
				t.Errorf("run %d, superstep %d: received %+v, %v", run, superstep, f, err)
			}
			for _, e := range []transport.Endpoint{a, b} {
				account, err := e.End(t.Context(), superstep)
				if err != nil || account.Superstep != superstep {
					t.Errorf("run %d: the account of superstep %d is %+v, %v", run, superstep,
						account, err)
				}
			}
		}
	}
}

// TestDistantPartitions: partitions of the same worker, and partitions reached by loopback, are not
// distant.
func TestDistantPartitions(t *testing.T) {
	_, plain, _ := pair(t, nil)
	_, slow, _ := pair(t, slowedDial)
	if plain.Distant(1) || slow.Distant(0) || !slow.Distant(1) {
		t.Errorf("over loopback %t, itself %t, over a network %t", plain.Distant(1),
			slow.Distant(0), slow.Distant(1))
	}
	for _, f := range []*transport.Frame{{To: 0}, {To: 2}, {To: -1}, {To: 1, Ref: []string{"x"}, Count: 1}} {
		if taken, err := slow.SendAhead(f); taken || err == nil {
			t.Errorf("to %d: taken %t", f.To, taken)
		}
	}
}

// TestFramesSentAheadDoNotHoldUpOthers sends more than the window ahead to a partition whose
// superstep has ended. Another partition of the same worker still receives its frame.
func TestFramesSentAheadDoNotHoldUpOthers(t *testing.T) {
	meshes, peers := cluster(t, 2, func(i int, o *Options) {
		o.Window = 64 << 10
		slowedDial(i, o)
	})
	// worker 0 has partitions 0 and 2, worker 1 has 1 and 3
	sessions := openAll(t, meshes, 1, 1, dealt(peers, 4), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := sessions[1].Port(1).End(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions[0].Port(0).SendAhead(&transport.Frame{To: 1, Superstep: 1, Raw: make([]byte, 1<<20)}); err != nil {
		t.Fatal(err)
	}
	if err := sessions[0].Port(2).Send(&transport.Frame{From: 2, To: 3, Raw: []byte{7}}); err != nil {
		t.Fatal(err)
	}
	if f, err := sessions[1].Port(3).Receive(ctx, transport.Expand); err != nil || f.Raw[0] != 7 {
		t.Fatal(f, err)
	}
}

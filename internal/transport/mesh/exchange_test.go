package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/transport"
)

// instead is run by this process in place of the tests, unless it is nil.
var instead func() error

func TestMain(m *testing.M) {
	if instead != nil {
		if err := instead(); err != nil {
			fmt.Fprintln(os.Stderr, "receiver:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const token = "a token of the tests"

// cluster returns n meshes of one cluster. They are closed at the end of the test.
func cluster(t testing.TB, n int, change func(i int, o *Options)) ([]*Mesh, []Peer) {
	t.Helper()
	var all []*Mesh
	var peers []Peer
	for i := range n {
		o := Options{Name: fmt.Sprintf("w%d", i), Incarnation: uint64(i + 1), Token: token}
		if secureAll {
			o.TLS = shared()
		}
		if change != nil {
			change(i, &o)
		}
		m, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		all, peers = append(all, m), append(peers, m.Self())
	}
	return all, peers
}

// dealt returns a layout in which partition i belongs to worker i modulo the number of workers.
func dealt(peers []Peer, partitions int) Layout {
	l := Layout{Workers: peers}
	for i := range partitions {
		l.Owner = append(l.Owner, i%len(peers))
	}
	return l
}

// openAll opens a session at every mesh.
func openAll(
	t testing.TB, meshes []*Mesh, job uint64, epoch uint32, l Layout, c transport.Codec,
) []*Session {
	t.Helper()
	sessions := make([]*Session, len(meshes))
	for i, m := range meshes {
		s, err := m.Open(t.Context(), job, epoch, l, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		sessions[i] = s
	}
	return sessions
}

// player is a partition that exchanges frames whose content the receiver can check.
type player struct {
	port     *Port
	of       int
	release  bool
	presence [][]byte // by receiver
	raw      [][]byte
}

// pattern fills b with data that only this frame has. Between some partitions it is compressible.
func pattern(b []byte, from, to, superstep int, kind transport.Kind) {
	seed := uint64(from)<<48 ^ uint64(to)<<32 ^ uint64(superstep)<<8 ^ uint64(kind)
	whole := b[:len(b)&^7]
	clear(b[len(whole):])
	var part [4 << 10]byte
	for i := 0; i < len(whole); i += len(part) {
		fillPart(&part, seed+uint64(i), 40*uint((from+to)%2))
		copy(whole[i:], part[:])
	}
}

// fillPart computes a part of a pattern. The race detector watches the copy of it.
//
//go:norace
func fillPart(part *[4 << 10]byte, seed uint64, shift uint) {
	for i := 0; i < len(part); i += 8 {
		x := (seed + uint64(i)) * 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(part[i:], x>>shift)
	}
}

// size returns the sizes of a frame's presence and values. Sender and receiver compute the same
// sizes.
func size(from, to, superstep int, kind transport.Kind, most int) (presence, values int) {
	r := rand.New(rand.NewPCG(uint64(from*1000+to), uint64(superstep*10)+uint64(kind)))
	switch r.IntN(4) {
	case 0:
		return 0, 0
	case 1:
		return 4 * r.IntN(20), 8 * r.IntN(50)
	}
	return 4 * r.IntN(most/64), 8 * r.IntN(most/8)
}

// step exchanges the frames of a superstep.
func (p *player) step(ctx context.Context, superstep, most int, kinds ...transport.Kind) error {
	i := p.port.index
	for _, kind := range kinds {
		for step := 1; step < p.of; step++ {
			to := (i + step) % p.of
			a, b := size(i, to, superstep, kind, most)
			slot := to*transport.Kinds + int(kind)
			p.presence[slot], p.raw[slot] = room(p.presence[slot], a), room(p.raw[slot], b)
			pattern(p.presence[slot], i, to, superstep, kind)
			pattern(p.raw[slot], i, to, superstep, kind)
			f := &transport.Frame{
				From: i, To: to, Superstep: superstep, Kind: kind, Count: b / 8, Encoding: 3,
				Presence: p.presence[slot], Raw: p.raw[slot],
			}
			if err := p.port.Send(f); err != nil {
				return err
			}
		}
		for range p.of - 1 {
			f, err := p.port.Receive(ctx, kind)
			if err != nil {
				return err
			}
			if err := check(f, i, superstep, kind, most); err != nil {
				return err
			}
			if p.release {
				p.port.Release(f)
			}
		}
	}
	return nil
}

func room(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func check(f *transport.Frame, to, superstep int, kind transport.Kind, most int) error {
	a, b := size(f.From, to, superstep, kind, most)
	presence, raw := make([]byte, a), make([]byte, b)
	pattern(presence, f.From, to, superstep, kind)
	pattern(raw, f.From, to, superstep, kind)
	if f.To != to || f.Superstep != superstep || f.Kind != kind || f.Encoding != 3 ||
		f.Count != b/8 ||
		string(f.Presence) != string(presence) || string(f.Raw) != string(raw) {
		return fmt.Errorf("partition %d got another frame than partition %d sent in superstep %d",
			to, f.From, superstep)
	}
	return nil
}

// play runs supersteps in all partitions and compares their accounts.
func play(t testing.TB, sessions []*Session, supersteps, most int, kinds ...transport.Kind) {
	t.Helper()
	of := len(sessions[0].layout.Owner)
	players := make([]*player, of)
	for i := range players {
		players[i] = &player{
			port: sessions[sessions[0].layout.Owner[i]].Port(i), of: of, release: i%2 == 0,
			presence: make([][]byte, of*transport.Kinds), raw: make([][]byte, of*transport.Kinds),
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for superstep := range supersteps {
		accounts := make([]*transport.Account, of)
		var group sync.WaitGroup
		for i, p := range players {
			group.Go(func() {
				if err := p.step(ctx, superstep, most, kinds...); err != nil {
					t.Errorf("superstep %d, partition %d: %v", superstep, i, err)
					cancel()
				}
				a, err := p.port.End(ctx, superstep)
				if err != nil {
					t.Errorf("superstep %d, partition %d: %v", superstep, i, err)
					return
				}
				accounts[i] = a
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		if err := transport.Balance(accounts); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryPairExchangesOverManySupersteps(t *testing.T) {
	for _, c := range []struct {
		workers, partitions, supersteps, most, window int
		kinds                                         []transport.Kind
	}{
		{2, 2, 50, 4 << 10, 0, []transport.Kind{transport.Expand}},
		{4, 4, 30, 64 << 10, 0, []transport.Kind{transport.Expand, transport.Fold}},
		{3, 7, 20, 256 << 10, 0, []transport.Kind{transport.Sends, transport.Expand, transport.ExpandReversed}},
		// frames exceed the window
		{2, 8, 10, 256 << 10, 64 << 10, []transport.Kind{transport.Expand, transport.Fold, transport.FoldReversed}},
		// > 64 MB
		{3, 3, 6, 8 << 20, 1 << 20, []transport.Kind{transport.Expand, transport.Fold}},
		// workers without partitions
		{4, 2, 10, 64 << 10, 0, []transport.Kind{transport.Expand}},
		{1, 3, 10, 64 << 10, 0, []transport.Kind{transport.Expand}},
	} {
		t.Run(fmt.Sprintf("%dof%d", c.partitions, c.workers), func(t *testing.T) {
			if os.Getenv("SUPERSTEP_SOAK") == "" {
				c.supersteps = max(c.supersteps/3, 3)
			}
			meshes, peers := cluster(t, c.workers, func(_ int, o *Options) { o.Window = c.window })
			sessions := openAll(t, meshes, 7, 1, dealt(peers, c.partitions), nil)
			play(t, sessions, c.supersteps, c.most, c.kinds...)
			for _, m := range meshes {
				if s := m.Stats(); s.Stale() > 0 || s.Broken > 0 {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestSessionsFollowEachOtherOnTheSameConnections(t *testing.T) {
	meshes, peers := cluster(t, 3, func(_ int, o *Options) { o.Window = 32 << 10 })
	for job := range uint64(20) {
		sessions := openAll(t, meshes, job, 0, dealt(peers, 4), nil)
		play(t, sessions, 3, 64<<10, transport.Expand)
		for _, s := range sessions {
			s.Close()
		}
	}
	for _, m := range meshes {
		if len(m.sessions) != 0 || len(m.outs) != 2 || len(m.ins) != 2 {
			t.Errorf("%d sessions, %d and %d connections", len(m.sessions), len(m.outs), len(m.ins))
		}
	}
}

// TestFlushWaitsForTheWriter: after Flush, even in the middle of a superstep, the sender may reuse
// the buffers of sent frames.
func TestFlushWaitsForTheWriter(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	sessions := openAll(t, meshes, 7, 1, dealt(peers, 2), nil)
	from, to := sessions[0].Port(0), sessions[1].Port(1)
	raw, want := make([]byte, 4<<20), make([]byte, 4<<20)
	for i := range 8 {
		pattern(raw, 0, 1, i, transport.Fold)
		f := &transport.Frame{From: 0, To: 1, Kind: transport.Fold, Count: len(raw) / 8, Raw: raw}
		if err := from.Send(f); err != nil {
			t.Fatal(err)
		}
		received := make(chan *transport.Frame, 1)
		go func() {
			in, err := to.Receive(t.Context(), transport.Fold)
			if err != nil {
				t.Error(err)
			}
			received <- in
		}()
		if err := from.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		clear(raw)
		in := <-received
		if pattern(want, 0, 1, i, transport.Fold); in == nil || !bytes.Equal(in.Raw, want) {
			t.Fatalf("frame %d is not what was sent", i)
		}
		to.Release(in)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sessions[0].Close()
	if err := from.Flush(ctx); err == nil {
		t.Error("flushed though the session is closed")
	}
}

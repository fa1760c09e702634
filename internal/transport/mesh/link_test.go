package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport"
)

// links opens a session without partitions at n workers.
func links(t testing.TB, n int, change func(i int, o *Options)) ([]*Mesh, []*Link) {
	t.Helper()
	meshes, peers := cluster(t, n, change)
	var all []*Link
	for _, s := range openAll(t, meshes, 3, 1, dealt(peers, 0), nil) {
		all = append(all, s.Link())
	}
	return meshes, all
}

// crew is calls at the same time.
type crew struct {
	group sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

func (c *crew) Go(f func() error) {
	c.group.Go(func() {
		err := f()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs = append(c.errs, err)
	})
}

func (c *crew) Wait() error {
	c.group.Wait()
	return errors.Join(c.errs...)
}

// blob is n bytes that tell who sent them.
func blob(seed uint64, n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// results is what every rank gets from every collective by an algorithm.
func results(t *testing.T, links []collective.Link, c collective.Collective, a collective.Algorithm, n int) [][]byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	model := collective.Uniform(len(links), collective.Unmeasured)
	for i := range links {
		model.Sites = append(model.Sites, i%2)
	}
	out := make([][]byte, len(links))
	var group crew
	for rank, l := range links {
		group.Go(func() error {
			g, err := collective.NewGroup(l, model, nil)
			if err != nil {
				return err
			}
			out[rank], err = result(ctx, g, c, collective.Call{Tag: 9, Algorithm: a, Bytes: n}, n)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("%s by %s: %v", c, a, err)
	}
	return out
}

func result(ctx context.Context, g *collective.Group, c collective.Collective, call collective.Call, n int) ([]byte, error) {
	rank, size := g.Link().Rank(), g.Link().Size()
	own := blob(uint64(rank), n)
	switch c {
	case collective.Barrier:
		return nil, g.Barrier(ctx, call)
	case collective.Broadcast:
		return g.Broadcast(ctx, call, size-1, own)
	case collective.Gather:
		all, err := g.Gather(ctx, call, 0, own)
		return bytes.Join(all, nil), err
	case collective.Allgather:
		all, err := g.Allgather(ctx, call, own)
		return bytes.Join(all, nil), err
	case collective.Reduce:
		err := g.Reduce(ctx, call, 0, own, collective.SumUint64)
		if rank > 0 {
			return nil, err // partial sums, by the order of arrival
		}
		return own, err
	case collective.Allreduce:
		return own, g.Allreduce(ctx, call, own, collective.SumUint64)
	}
	var blocks [][]byte
	for to := range size {
		blocks = append(blocks, blob(uint64(rank*size+to), n))
	}
	all, err := g.Alltoall(ctx, call, blocks)
	return bytes.Join(all, nil), err
}

func TestCollectivesAsInMemory(t *testing.T) {
	for _, p := range []int{2, 3, 4, 7} {
		window := 0
		if p == 3 {
			window = 20 << 10
		}
		_, real := links(t, p, func(_ int, o *Options) { o.Window = window })
		memory := collective.NewMemory(p, nil)
		var over, twin []collective.Link
		for i, l := range real {
			over, twin = append(over, l), append(twin, memory.Link(i))
		}
		for _, c := range collective.Collectives {
			for _, a := range collective.Algorithms(c) {
				for _, n := range []int{0, 8, 5000, 600 << 10} {
					if n > 5000 && (testing.Short() || p == 7) {
						continue
					}
					got, want := results(t, over, c, a, n), results(t, twin, c, a, n)
					for rank := range got {
						if !bytes.Equal(got[rank], want[rank]) {
							t.Fatalf("P=%d: %s by %s of %d bytes: rank %d got something else than in memory", p, c, a, n, rank)
						}
					}
				}
			}
		}
	}
}

func TestMessagesKeepOrderUnderManyTagsBothWays(t *testing.T) {
	const ranks, tags, each = 3, 4, 40
	seed := uint64(7)
	_, all := links(t, ranks, func(_ int, o *Options) { o.Window, o.Chunk = 40<<10, 7000 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	size := func(from, to, tag, i int) int {
		r := rand.New(rand.NewPCG(seed, uint64(((from*ranks+to)*tags+tag)*each+i)))
		return []int{0, 1, r.IntN(100), r.IntN(9000), r.IntN(200 << 10)}[r.IntN(5)]
	}
	var group crew
	for from := range ranks {
		for to := range ranks {
			if from == to {
				continue
			}
			for tag := range tags {
				name := func(i int) uint64 { return uint64(((from*ranks+to)*tags+tag)*each + i) }
				group.Go(func() error {
					var data []byte // the same memory for all
					for i := range each {
						data = append(data[:0], blob(name(i), size(from, to, tag, i))...)
						if err := all[from].Send(ctx, to, uint32(tag), data); err != nil {
							return err
						}
					}
					return nil
				})
				group.Go(func() error {
					for i := range each {
						got, err := all[to].Receive(ctx, from, uint32(tag))
						if err != nil {
							return err
						}
						if !bytes.Equal(got, blob(name(i), size(from, to, tag, i))) {
							return fmt.Errorf("message %d of rank %d to %d under tag %d is another", i, from, to, tag)
						}
						if i%2 == 0 {
							all[to].Release(got)
						}
					}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func TestLargeMessagesBothWays(t *testing.T) {
	n := 200 << 20
	if testing.Short() || raced {
		n = 40 << 20
	}
	_, all := links(t, 2, func(_ int, o *Options) { o.Window = 1 << 20 })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	data := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		data[i] = byte(i >> 12)
	}
	var group crew
	for rank, l := range all {
		group.Go(func() error { return l.Send(ctx, 1-rank, 0, data) })
		group.Go(func() error {
			got, err := l.Receive(ctx, 1-rank, 0)
			if err == nil && !bytes.Equal(got, data) {
				err = errors.New("it is another")
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestUnaskedMessagesStopTheirSenderAlone: a flood under one tag takes a window, and holds up neither another tag nor frames.
func TestUnaskedMessagesStopTheirSenderAlone(t *testing.T) {
	const window, n = 100 << 10, 10 << 10
	meshes, peers := cluster(t, 2, func(_ int, o *Options) { o.Window = window })
	sessions := openAll(t, meshes, 3, 1, dealt(peers, 2), nil)
	a, b := sessions[0].Link(), sessions[1].Link()
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan int, 1)
	go func() {
		i := 0
		for ; a.Send(ctx, 1, 1, make([]byte, n)) == nil; i++ {
		}
		sent <- i
	}()
	until(t, func() bool { return meshes[1].Stats().BytesIn >= window })
	for range 50 {
		if err := a.Send(t.Context(), 1, 2, []byte("past it")); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Receive(t.Context(), 0, 2); err != nil || string(got) != "past it" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if err := sessions[0].Port(0).Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte, 3*window)}); err != nil {
		t.Fatal(err)
	}
	if f, err := sessions[1].Port(1).Receive(t.Context(), transport.Expand); err != nil || len(f.Raw) != 3*window {
		t.Fatal(err)
	}
	cancel()
	if i := <-sent; i < window/n-1 || i > window/n+2 {
		t.Errorf("%d messages of %d bytes went into a window of %d", i, n, window)
	}
}

// TestMessagesPassHeldFrames: frames for a busy partition fill the window; messages pass them.
func TestMessagesPassHeldFrames(t *testing.T) {
	const window = 64 << 10
	meshes, peers := cluster(t, 2, func(_ int, o *Options) { o.Window = window })
	sessions := openAll(t, meshes, 3, 1, dealt(peers, 2), nil)
	if err := sessions[0].Port(0).Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte, 10*window)}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return meshes[1].Stats().BytesIn >= window })
	want := blob(1, 5*window)
	var group crew
	group.Go(func() error { return sessions[0].Link().Send(t.Context(), 1, 1, want) })
	got, err := sessions[1].Link().Receive(t.Context(), 0, 1)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestDeadPeerEndsAllWaitingOfALinkWithOneError(t *testing.T) {
	meshes, all := links(t, 3, func(_ int, o *Options) { o.Window = 64 << 10 })
	errs := make(chan error)
	calls := []func() error{
		func() error { _, err := all[0].Receive(t.Context(), 2, 1); return err },
		func() error { _, err := all[0].Receive(t.Context(), 1, 1); return err }, // of one who lives
		func() error { return all[0].Send(t.Context(), 2, 2, make([]byte, 1<<20)) },
		func() error { return all[0].Send(t.Context(), 1, 2, make([]byte, 1<<20)) },
	}
	for _, call := range calls {
		go func() { errs <- call() }()
	}
	until(t, func() bool { return meshes[1].Stats().BytesIn > 64<<10 && meshes[2].Stats().BytesIn > 64<<10 })
	meshes[2].Close()
	var broken *BrokenError
	first := <-errs
	if !errors.As(first, &broken) || broken.From != "w2" && broken.To != "w2" {
		t.Error(first)
	}
	for range len(calls) - 1 {
		if err := <-errs; err == nil || err.Error() != first.Error() {
			t.Errorf("%v, and then %v", first, err)
		}
	}
	if err := all[0].Send(t.Context(), 1, 5, nil); err == nil || err.Error() != first.Error() {
		t.Errorf("later: %v", err)
	}
}

func TestCancelledSends(t *testing.T) {
	const window = 64 << 10
	meshes, all := links(t, 2, func(_ int, o *Options) { o.Window, o.Chunk = window, window/8 })
	begun, cancelBegun := context.WithCancelCause(t.Context())
	waits, cancelWaits := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	errs := make(chan error)
	go func() { errs <- all[0].Send(begun, 1, 1, make([]byte, 4*window)) }()
	until(t, func() bool { return meshes[1].Stats().BytesIn >= window })
	go func() { errs <- all[0].Send(waits, 1, 1, make([]byte, window)) }()
	cancelWaits(why)
	if err := <-errs; !errors.Is(err, why) {
		t.Fatal(err)
	}
	cancelBegun(why)
	if err := <-errs; !errors.Is(err, why) {
		t.Fatal(err)
	}
	if err := all[0].Send(t.Context(), 1, 1, nil); err == nil { // the receiver waits for the rest of the first
		t.Error("a message went after half of another")
	}
	if err := all[0].Send(t.Context(), 1, 2, nil); err != nil {
		t.Error(err)
	}
	if _, err := all[1].Receive(waits, 0, 1); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestCloseWritesWhatWasSent(t *testing.T) {
	for range 20 {
		_, all := links(t, 2, nil)
		for i := range 30 {
			if err := all[0].Send(t.Context(), 1, uint32(i%3), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		all[0].session.Close()
		for i := range 30 {
			if got, err := all[1].Receive(t.Context(), 0, uint32(i%3)); err != nil || got[0] != byte(i) {
				t.Fatalf("message %d: %v, %v", i, got, err)
			}
		}
	}
}

func TestMessagesOfOthersAreRefusedAndCounted(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	s, err := meshes[0].Open(t.Context(), 3, 1, dealt(peers, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Link().Send(t.Context(), 1, 0, make([]byte, 1<<20)); err != nil { // the other has not opened it
		t.Fatal(err)
	}
	until(t, func() bool { return meshes[1].Stats().StaleJob > 0 })
	for _, to := range []int{-1, 0, 2} {
		if err := s.Link().Send(t.Context(), to, 0, nil); err == nil {
			t.Errorf("sent to rank %d", to)
		}
		if _, err := s.Link().Receive(t.Context(), to, 0); err == nil {
			t.Errorf("received from rank %d", to)
		}
	}
	s.mesh.options.MaxFrame = 100
	if err := s.Link().Send(t.Context(), 1, 0, make([]byte, 101)); err == nil {
		t.Error("a message longer than the limit was sent")
	}
}

// TestChunksOutOfPlaceAreCorrupt gives a link chunks that are not the next of their message.
func TestChunksOutOfPlaceAreCorrupt(t *testing.T) {
	l := &Link{boxes: map[address]*box{}}
	chunk := func(offset, length int, total uint64) error {
		h := &header{identity: identity{kind: kindMessage, contents: total}, offset: uint64(offset), length: uint32(length)}
		_, m, err := l.place(nil, h)
		if err == nil {
			l.placed(m, h)
		}
		return err
	}
	for _, step := range []struct {
		offset, length int
		total          uint64
		corrupt        bool
	}{
		{5, 5, 10, true},
		{0, 5, 10, false},
		{0, 5, 10, true},
		{6, 4, 10, true},
		{5, 4, 9, true},
		{5, 5, 10, false},
		{5, 5, 10, true},
		{0, 0, 0, false},
		{0, 1, 1, false},
	} {
		if err := chunk(step.offset, step.length, step.total); errors.Is(err, errCorrupt) != step.corrupt {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// TestMemoryOfMessagesFollowsWhatComes begins a message that says it is of 1 TB.
func TestMemoryOfMessagesFollowsWhatComes(t *testing.T) {
	m := &message{total: 1 << 40}
	for m.have < sudden {
		m.grow(1 << 18)
		m.have += 1 << 18
		if cap(m.data) > sudden {
			t.Fatalf("%d bytes of memory for %d that came", cap(m.data), m.have)
		}
	}
}

// TestTagsLeaveNothingBehind: a new tag for each message, as for each superstep.
func TestTagsLeaveNothingBehind(t *testing.T) {
	meshes, all := links(t, 2, func(_ int, o *Options) { o.Silence = 2 * time.Second })
	var group sync.WaitGroup
	for rank, l := range all {
		group.Go(func() {
			for tag := range uint32(2000) {
				if err := l.Send(t.Context(), 1-rank, tag, make([]byte, tag%100)); err != nil {
					t.Error(err)
					return
				}
				if _, err := l.Receive(t.Context(), 1-rank, tag); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	for i, m := range meshes {
		out := m.outs[fmt.Sprintf("w%d", 1-i)]
		until(t, func() bool {
			out.mu.Lock()
			defer out.mu.Unlock()
			return len(out.lanes) == 0
		})
		if n := len(all[i].boxes); n > 0 {
			t.Errorf("%d boxes are left", n)
		}
	}
}

func FuzzCredit(f *testing.F) {
	f.Add(appendCredit(nil, credit{bytes: 77}))
	f.Add(appendCredit(nil, credit{true, laneKey{key{1, 2}, 3}, 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCredit(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again := appendCredit(nil, c); !bytes.HasPrefix(b, again) {
			t.Errorf("%x reads as %+v, which is written %x", b, c, again)
		}
	})
}

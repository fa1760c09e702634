package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
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

// crew runs functions concurrently and collects their errors.
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

// noise has random bytes.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b)
	return b
})

// blob returns n bytes that depend on seed.
func blob(seed uint64, n int) []byte {
	at := int(seed*7919) % (4<<20 - n)
	return slices.Clone(noise()[at : at+n])
}

// results returns the result of a collective at every rank, by one algorithm.
func results(
	t *testing.T, links []collective.Link, c collective.Collective, a collective.Algorithm, n int,
) [][]byte {
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

func result(
	ctx context.Context, g *collective.Group, c collective.Collective, call collective.Call, n int,
) ([]byte, error) {
	rank, size := g.Link().Rank(), g.Link().Size()
	own := blob(uint64(rank), n)
	switch c {
	case collective.Barrier:
		return nil, g.Barrier(ctx, call)
	case collective.Broadcast:
		return g.Broadcast(ctx, call, size-1, own)
	case collective.Allgather:
		all, err := g.Allgather(ctx, call, own)
		return bytes.Join(all, nil), err
	case collective.GatherTo:
		all, err := g.Gather(ctx, call, size-1, own)
		return bytes.Join(all, nil), err
	case collective.Reduce:
		err := g.Reduce(ctx, call, size-1, own, collective.SumUint64)
		if rank != size-1 {
			own = nil // of no meaning
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
		if testing.Short() && p != 3 && p != 4 {
			continue
		}
		window := 0
		if p == 3 {
			window = 20 << 10
		}
		_, real := links(t, p, func(_ int, o *Options) { o.Window = window })
		memory := memlink.New(p, nil)
		var over, twin []collective.Link
		for i, l := range real {
			over, twin = append(over, l), append(twin, memory.Link(i))
		}
		for _, c := range collective.Collectives {
			for _, a := range collective.Algorithms(c) {
				for _, n := range []int{0, 8, 5000, 600 << 10} {
					if n > 5000 && (testing.Short() || p > 3) {
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
					var data []byte // the same memory for all messages
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
							return fmt.Errorf("message %d of rank %d to %d under tag %d is another",
								i, from, to, tag)
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
	n := 8 << 20 // 8 windows
	if os.Getenv("SUPERSTEP_SOAK") != "" {
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

// TestUnaskedMessagesStopTheirSenderAlone: many messages under one tag fill its window. They block
// neither another tag nor frames.
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
	if err := sessions[0].Port(0).Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte,
		3*window)}); err != nil {
		t.Fatal(err)
	}
	if f, err := sessions[1].Port(1).Receive(t.Context(), transport.Expand); err != nil ||
		len(f.Raw) != 3*window {
		t.Fatal(err)
	}
	cancel()
	if i := <-sent; i < window/n-1 || i > window/n+2 {
		t.Errorf("%d messages of %d bytes went into a window of %d", i, n, window)
	}
}

// TestMessagesPassHeldFrames: frames for a busy partition fill the window, but messages are still
// delivered.
func TestMessagesPassHeldFrames(t *testing.T) {
	const window = 64 << 10
	meshes, peers := cluster(t, 2, func(_ int, o *Options) { o.Window = window })
	sessions := openAll(t, meshes, 3, 1, dealt(peers, 2), nil)
	if err := sessions[0].Port(0).Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte,
		10*window)}); err != nil {
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

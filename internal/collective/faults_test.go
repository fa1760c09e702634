package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestCancelEndsEveryWait: one rank never calls the collective. The others return when ctx ends,
// and leave no goroutine, which synctest checks.
func TestCancelEndsEveryWait(t *testing.T) {
	const p = 6
	for _, c := range Collectives {
		for _, a := range Algorithms(c) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				m := memlink.New(p, costs(Uniform(p, slow)))
				var group sync.WaitGroup
				ended := make([]error, p)
				for rank := range p - 1 {
					group.Go(func() {
						g, err := NewGroup(rendezvous{m.Link(rank)}, nil, nil)
						if err != nil {
							t.Error(err)
							return
						}
						ended[rank] = call(ctx, g, c, Call{Algorithm: a, Bytes: 8})
					})
				}
				group.Wait()
				timeouts := 0
				for _, err := range ended {
					if errors.Is(err, context.DeadlineExceeded) {
						timeouts++
					} else if err != nil {
						t.Errorf("%s %s: %v", c, a, err)
					}
				}
				if timeouts == 0 {
					t.Errorf("%s %s: nobody missed the rank that did not come", c, a)
				}
			})
		}
	}
}

// call runs a collective of 8 bytes with root 0.
func call(ctx context.Context, g *Group, c Collective, how Call) error {
	data := make([]byte, 8)
	var err error
	switch c {
	case Barrier:
		err = g.Barrier(ctx, how)
	case Broadcast:
		_, err = g.Broadcast(ctx, how, 0, data)
	case GatherTo:
		_, err = g.Gather(ctx, how, 0, data)
	case Allgather:
		_, err = g.Allgather(ctx, how, data)
	case Reduce:
		err = g.Reduce(ctx, how, 0, data, SumUint64)
	case Allreduce:
		err = g.Allreduce(ctx, how, data, SumUint64)
	case Alltoall:
		blocks := make([][]byte, g.Link().Size())
		for i := range blocks {
			blocks[i] = data
		}
		_, err = g.Alltoall(ctx, how, blocks)
	}
	return err
}

// rendezvous is a link whose Send waits until the message is received. No link may be stricter.
type rendezvous struct{ Link }

const acknowledgement = 1 << 31

func (r rendezvous) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	if err := r.Link.Send(ctx, to, tag, data); err != nil {
		return err
	}
	_, err := r.Link.Receive(ctx, to, tag|acknowledgement)
	return err
}

func (r rendezvous) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
	data, err := r.Link.Receive(ctx, from, tag)
	if err != nil {
		return nil, err
	}
	return data, r.Link.Send(ctx, from, tag|acknowledgement, nil)
}

// TestLinksMayWaitInSend: no algorithm requires that messages are buffered.
func TestLinksMayWaitInSend(t *testing.T) {
	for _, p := range []int{2, 5, 8, 9} {
		if testing.Short() && p%2 == 0 {
			continue
		}
		for _, c := range Collectives {
			for _, a := range append(Algorithms(c), Auto) {
				synctest.Test(t, func(t *testing.T) {
					m := memlink.New(p, nil)
					together(t, m, TwoLevel(blocksOf(p, 2), slow, slow), func(g *Group) error {
						g.link = rendezvous{g.link}
						if err := call(t.Context(), g, c, Call{Algorithm: a}); err != nil {
							return fmt.Errorf("%s %s: %w", c, a, err)
						}
						return nil
					})
				})
			}
		}
	}
}

// TestFailedSendEndsTheCall: the call returns the link's error, not the error of a wait that it
// ended.
func TestFailedSendEndsTheCall(t *testing.T) {
	cut := errors.New("link is cut")
	for _, a := range []Algorithm{Pairwise, Linear, Bruck} {
		synctest.Test(t, func(t *testing.T) {
			g, err := NewGroup(broken{memlink.New(3, nil).Link(0), cut}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := call(t.Context(), g, Alltoall, Call{Algorithm: a}); !errors.Is(err, cut) {
				t.Errorf("%s: got %v", a, err)
			}
		})
	}
}

type broken struct {
	Link
	err error
}

func (b broken) Send(context.Context, int, uint32, []byte) error { return b.err }

// TestRanksThatDoNotAgree: different sizes cause an error, never a panic or a wrong sum.
func TestRanksThatDoNotAgree(t *testing.T) {
	for _, a := range Algorithms(Allreduce) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			m := memlink.New(2, nil)
			var group sync.WaitGroup
			errs := make([]error, 2)
			for rank := range 2 {
				group.Go(func() {
					g, _ := NewGroup(m.Link(rank), nil, nil)
					errs[rank] = g.Allreduce(ctx, Call{Algorithm: a, Bytes: 8},
						make([]byte, 16+16*rank), SumUint64)
				})
			}
			group.Wait()
			if err := errors.Join(errs...); !errors.Is(err, ErrMessage) {
				t.Errorf("%s: got %v", a, err)
			}
		})
	}
}

func TestBadCalls(t *testing.T) {
	g, err := NewGroup(memlink.New(2, nil).Link(0), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	two := [][]byte{nil, nil}
	_, broadcast := g.Broadcast(ctx, Call{Algorithm: Pairwise}, 0, nil)
	_, root := g.Broadcast(ctx, Call{Bytes: 1}, 2, nil)
	_, blocks := g.Alltoall(ctx, Call{}, two[:1])
	_, model := NewGroup(g.link, Uniform(3, slow), nil)
	_, forced := NewGroup(g.link, nil, map[Collective]Algorithm{Alltoall: Chain})
	_, none := NewGroup(g.link, nil, map[Collective]Algorithm{"scan": Chain})
	for want, err := range map[string]error{
		`no algorithm "pairwise" of broadcast; there are binomial, flat, chain, sites`: broadcast,
		"found root 2, expected one of 2 ranks":                                        root,
		"1 blocks for 2 ranks":                                                         blocks,
		"5 bytes are not a multiple of an element's 8": g.Allreduce(ctx, Call{},
			make([]byte, 5), SumUint64),
		"model of 3 ranks for a link of 2":                   model,
		`no algorithm "chain" of alltoall`:                   forced,
		`no collective "scan"; there are barrier, broadcast`: none,
		"rank 0 has no link to rank 7":                       g.link.Send(ctx, 7, 0, nil),
		"rank 0 has no link to rank 0":                       g.link.Send(ctx, 0, 0, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	m := machine{slots: [][]byte{[]byte("abc"), nil, make([]byte, 300)}}
	f.Add(m.pack([]int{0, 1, 2}), 3)
	f.Add(binary.AppendUvarint(nil, 1<<63), 2)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		k = max(k, 0) % 1000
		parts, err := unpack(data, k)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatal(err)
			}
			return
		}
		total := 0
		for _, p := range parts {
			total += len(p)
		}
		if len(parts) != k || total > len(data) {
			t.Fatalf("%d blocks with %d bytes from %d", len(parts), total, len(data))
		}
		// Varints may have been padded, so packing again gives at most as many bytes. These unpack
		// to the same parts.
		again, err := unpack((&machine{slots: parts}).pack(numbers(k)), k)
		if err := differs(err, again, parts); err != nil {
			t.Fatal(err)
		}
	})
}

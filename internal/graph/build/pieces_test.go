package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// pieceBuilders returns the builders of some ranks, each with another size of pieces.
func pieceBuilders(t *testing.T, ranks int) []*builder {
	t.Helper()
	m := memlink.New(ranks, nil)
	all := make([]*builder, ranks)
	for rank := range all {
		group, err := collective.NewGroup(m.Link(rank), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[rank] = &builder{group: group, rank: rank, ranks: ranks, piece: leastPiece << rank}
	}
	return all
}

// TestSendReceive: data of any size arrive, in pieces of the smallest size that a rank accepts.
func TestSendReceive(t *testing.T) {
	const ranks = 3
	for _, sizes := range [][ranks]int{{}, {1, 0, 7}, {leastPiece, leastPiece - 1, leastPiece + 1}, {10, 5 * leastPiece, 3*leastPiece + 5}} {
		for step := 1; step < ranks; step++ {
			var all [ranks][]byte
			for rank, n := range sizes {
				all[rank] = make([]byte, n)
				random := rand.NewChaCha8([32]byte{byte(rank), byte(step)})
				_, _ = random.Read(all[rank]) // it cannot fail
			}
			var done sync.WaitGroup
			for _, b := range pieceBuilders(t, ranks) {
				done.Go(func() {
					arena := &mem.Arena{}
					defer arena.Close()
					got, err := b.sendReceive(t.Context(), step, all[b.rank], arena)
					if want := all[(b.rank-step+ranks)%ranks]; err != nil ||
						!bytes.Equal(got, want) {
						t.Errorf("%v, step %d, rank %d: %d bytes, %v, expected %d", sizes, step,
							b.rank, len(got), err, len(want))
					}
				})
			}
			done.Wait()
		}
	}
}

// TestSendReceiveOfALiar: an invalid message of a rank is an error.
func TestSendReceiveOfALiar(t *testing.T) {
	for _, said := range []string{
		"", "7", fmt.Sprintf(`{"Bytes":%d,"Piece":%d}`, mostSent+1, leastPiece),
		fmt.Sprintf(`{"Bytes":-1,"Piece":%d}`, leastPiece),
		fmt.Sprintf(`{"Bytes":10,"Piece":%d}`, leastPiece-1),
		fmt.Sprintf(`{"Bytes":10,"Piece":%d}`, leastPiece),
	} {
		all := pieceBuilders(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			for _, data := range [][]byte{[]byte(said), make([]byte, 11)} {
				if _, err := all[1].group.Alltoall(ctx, all[1].call(),
					[][]byte{data, nil}); err != nil {
					return // no rank waits any more
				}
			}
		})
		arena := &mem.Arena{}
		_, err := all[0].sendReceive(t.Context(), 1, nil, arena)
		if !errors.Is(err, collective.ErrMessage) {
			t.Errorf("%s: %v", said, err)
		}
		cancel()
		done.Wait()
		arena.Close()
	}
}

// TestIDSet compares a set with a map, with and without moves of its slots to a list.
func TestIDSet(t *testing.T) {
	arena := &mem.Arena{}
	defer arena.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{leastSlots, 4 * leastSlots, 1 << 62} {
		for _, n := range []int{0, 1, leastSlots / 2, 10 * leastSlots} {
			s, twin := idSet{arena: arena, most: most}, map[uint64]bool{}
			for range n {
				id := random.Uint64N(uint64(3*n)) * 1000003
				s.add(id)
				twin[id] = true
			}
			got, want := s.rising(), slices.Sorted(maps.Keys(twin))
			if !slices.Equal(got, want) {
				t.Errorf("%d ids, at most %d slots: %d ids, expected %d", n, most, len(got),
					len(want))
			}
			mem.Free(arena, got)
		}
	}
}

// TestUnion: lists with no, some or all elements in common.
func TestUnion(t *testing.T) {
	for _, k := range [][3][]uint64{{}, {{1}, nil, {1}}, {nil, {1}, {1}}, {{1, 3}, {2, 3, 9}, {1, 2, 3, 9}}, {{5, 6}, {1, 2}, {1, 2, 5, 6}}, {{1, 2}, {1, 2}, {1, 2}}} {
		if got := merge(nil, k[0], k[1]); !slices.Equal(got, k[2]) {
			t.Errorf("%v and %v: %v", k[0], k[1], got)
		}
		if got := union(nil, k[0], k[1]); !slices.Equal(got, k[2]) {
			t.Errorf("%v and %v: %v", k[0], k[1], got)
		}
	}
}

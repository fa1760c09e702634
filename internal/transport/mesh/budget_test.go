package mesh

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// tight returns a budget that is used up to its soft limit and spills to dir.
func tight(t *testing.T, dir string) *mem.Budget {
	t.Helper()
	b := mem.NewBudget(16<<20, dir)
	a := &mem.Arena{Kind: mem.Graph, Budget: b}
	t.Cleanup(a.Close)
	mem.Make[byte](a, int(b.Free()*7/8))
	return b
}

// TestAllToAllInABudget: all partitions exchange frames that exceed their workers' memory. The
// frames are spilled to files and arrive intact.
func TestAllToAllInABudget(t *testing.T) {
	dir := t.TempDir()
	if mem.SpillDir(dir) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	const workers, partitions, size = 3, 6, 5 << 20
	var budgets [workers]*mem.Budget
	meshes, peers := cluster(t, workers, func(i int, o *Options) {
		budgets[i] = tight(t, dir)
		o.Budget, o.Window, o.Chunk = budgets[i], 256<<10, 64<<10
	})
	sessions := openAll(t, meshes, 1, 1, dealt(peers, partitions), nil)
	data := bytes.Repeat([]byte("columns."), size/8)
	var spilled [workers]int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exchange := func(p, superstep int) error {
		e := sessions[p%workers].Port(p)
		for to := range partitions {
			if to == p {
				continue
			}
			if err := e.Send(&transport.Frame{From: p, To: to, Superstep: superstep, Kind: transport.Expand, Count: size / 8, Raw: data}); err != nil {
				return err
			}
		}
		for range partitions - 1 {
			f, err := e.Receive(ctx, transport.Expand)
			if err != nil {
				return err
			}
			if !bytes.Equal(f.Raw, data) {
				return errors.New("other bytes")
			}
		}
		if p < workers { // the first partition of each worker
			spilled[p] = max(spilled[p], budgets[p].Use().Spilled)
		}
		_, err := e.End(ctx, superstep)
		return err
	}
	// Supersteps begin together, because frames between partitions of a worker are passed by
	// reference.
	supersteps := 2
	if testing.Short() {
		supersteps = 1
	}
	for superstep := range supersteps {
		var group sync.WaitGroup
		for p := range partitions {
			group.Go(func() {
				if err := exchange(p, superstep); err != nil {
					t.Errorf("partition %d, superstep %d: %v", p, superstep, err)
					stop()
				}
			})
		}
		group.Wait()
	}
	for i, n := range spilled {
		if n < size {
			t.Errorf("worker %d has spilled %d bytes: %v", i, n, budgets[i].Use())
		}
	}
}

// TestNoMemoryForAFrame: there is no room for a frame in memory or in files. Its session ends with
// an error that has the sizes, and another session continues.
func TestNoMemoryForAFrame(t *testing.T) {
	meshes, peers := cluster(t, 2, func(i int, o *Options) {
		if i == 1 {
			o.Budget = tight(t, "")
		}
	})
	one := openAll(t, meshes, 1, 1, dealt(peers, 2), nil)
	two := openAll(t, meshes, 2, 1, dealt(peers, 2), nil)
	send := func(sessions []*Session, size int) error {
		f := &transport.Frame{From: 0, To: 1, Kind: transport.Expand, Count: size, Raw: make([]byte,
			size)}
		if err := sessions[0].Port(0).Send(f); err != nil {
			t.Fatal(err)
		}
		_, err := sessions[1].Port(1).Receive(t.Context(), transport.Expand)
		return err
	}
	err := send(one, 4<<20)
	if mem.IsExhausted(err) == nil || !strings.Contains(err.Error(),
		"a frame of partition 0 to 1: not enough memory: ") || !strings.Contains(err.Error(),
		"are requested for frames") {
		t.Errorf("error %v", err)
	}
	if err := send(two, 1<<10); err != nil {
		t.Error(err)
	}
}

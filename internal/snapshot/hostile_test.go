package snapshot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// forge changes one element of an array, or how many there are.
func forge(rng *rand.Rand) func(name string, array []byte) []byte {
	next := rng.IntN(25)
	return func(_ string, array []byte) []byte {
		if next--; next >= 0 || len(array) == 0 {
			return array
		}
		next = 1 << 30
		at := rng.IntN(len(array)) &^ 3
		old := binary.LittleEndian.Uint32(array[at:])
		value := []uint32{0, 1, old + 1, old - 1, old ^ 1<<rng.IntN(32), 1<<32 - 1, 1 << 31, rng.Uint32(), uint32(rng.IntN(100))}[rng.IntN(9)]
		switch rng.IntN(8) {
		case 0:
			return array[:at]
		case 1:
			return append(array, array[:at]...)
		}
		binary.LittleEndian.PutUint32(array[at:], value)
		return array
	}
}

// TestForged: a snapshot with arrays that somebody made up, under right checksums, is refused, or
// is a graph on which programs run: nothing panics.
func TestForged(t *testing.T) {
	rounds := 120
	if testing.Short() {
		rounds = 50
	}
	refused := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		g := random(t, uint64(i), 10+rng.IntN(200), 300, i%2 == 0, i%3 == 0,
			graph.Options{Grid: grids[i%5], Weights: 2, UnitWeights: i%7 != 0})
		dir := t.TempDir()
		s := openStore(t, dir)
		m, err := snapshot.Save(t.Context(), s, g, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := append(m.Parts, m.Index[0])
		if err := snapshot.ForgeFile(dir, all[rng.IntN(len(all))].Name, forge(rng)); err != nil {
			t.Fatal(err)
		}
		opened, err := superstep.Load(t.Context(), dir)
		if err != nil {
			refused++
			continue
		}
		if err := use(t.Context(), opened); err != nil &&
			strings.Contains(err.Error(), "runtime error") {
			t.Errorf("round %d: %v", i, err)
		}
		opened.Close()
	}
	if refused < rounds/2 {
		t.Errorf("only %d of %d were refused", refused, rounds)
	}
}

// use runs programs of several kinds on a graph.
func use(ctx context.Context, g *superstep.Graph) error {
	var source algorithms.ID
	for _, delivery := range []superstep.Delivery{superstep.Auto, superstep.Push, superstep.Pull} {
		o := superstep.Options{Threads: 2, Delivery: delivery, MaxSupersteps: 20}
		if _, err := superstep.Run(ctx, g, algorithms.BFS{Source: source}, o); err != nil {
			return fmt.Errorf("bfs: %w", err)
		}
		if _, err := superstep.Run(ctx, g, algorithms.PageRank{Iterations: 3}, o); err != nil {
			return fmt.Errorf("pagerank: %w", err)
		}
		if _, err := superstep.Run(ctx, g, algorithms.WCC{}, o); err != nil {
			return fmt.Errorf("wcc: %w", err)
		}
		if _, err := superstep.Run(ctx, g, algorithms.SSSP[float64]{Source: source},
			o); err != nil {
			return fmt.Errorf("sssp: %w", err)
		}
	}
	other, err := g.Repartition(ctx, superstep.LoadOptions{Partitions: 2})
	if err == nil {
		other.Close()
	}
	return err
}

// bytesStore has one object.
type bytesStore struct {
	store.Store
	data []byte
}

func (b bytesStore) GetRange(_ context.Context, _ store.Object, off int64, p []byte) error {
	_, err := bytes.NewReader(b.data).ReadAt(p, off)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (b bytesStore) String() string { return "fuzzed" }

// FuzzPart: whatever a partition's file has in it, checksums apart, it is refused or is a
// partition.
func FuzzPart(f *testing.F) {
	for i, grid := range grids[:5] {
		dir := f.TempDir()
		s := openStore(f, dir)
		m, err := snapshot.Save(f.Context(), s, random(f, uint64(i), 20, 40, i%2 == 0, i%3 == 0,
			graph.Options{Grid: grid, Weights: 1}), snapshot.Options{})
		if err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, m.Parts[0].Name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data, file, err := snapshot.Forge(data, func(_ string, array []byte) []byte { return array })
		if err != nil {
			return
		}
		file.Name = "part"
		g, err := snapshot.RestorePart(t.Context(), bytesStore{data: data}, file,
			snapshot.IDOf(data))
		if err == nil {
			g.Close()
		}
	})
}

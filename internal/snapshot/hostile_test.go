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

// forge changes one element of an array, or the length of the array.
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

// TestForged: a snapshot with changed arrays and right checksums is refused, or programs run on it
// without a panic.
func TestForged(t *testing.T) {
	rounds := 50
	if os.Getenv("SUPERSTEP_SOAK") != "" {
		rounds = 120
	}
	refused := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		g := random(t, uint64(i), 10+rng.IntN(200), 300, i%2 == 0, i%3 == 0,
			graph.Options{Grid: grids[i%5], Weights: 2, UnitWeights: i%7 != 0, Deal: []string{"", "64:", "64:1,40"}[i%3]})
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

// arrays has the arrays of a partition's file, by name.
type arrays map[string][]byte

func (a arrays) word(name string, i int) uint64 { return binary.LittleEndian.Uint64(a[name][8*i:]) }
func (a arrays) half(name string, i int) int {
	return int(binary.LittleEndian.Uint32(a[name][4*i:]))
}

func (a arrays) setWord(name string, i int, x uint64) {
	binary.LittleEndian.PutUint64(a[name][8*i:], x)
}

func (a arrays) setHalf(name string, i, x int) {
	binary.LittleEndian.PutUint32(a[name][4*i:], uint32(x))
}

// TestForgedGhosts tests each rule for the ghosts of a partition, and for the lists of its vertices
// that are ghosts elsewhere.
func TestForgedGhosts(t *testing.T) {
	const groups, first, members = "senders.groups", "senders.peers.first", "senders.peers.members"
	for what, c := range map[string]struct {
		want string
		// changes a partition; its ghosts of partition 1 are at indices from to to-1
		forge func(a arrays, from, to int)
	}{
		"of another partition": {"ghosts of partition", func(a arrays, from, _ int) { a.setWord("ghosts", from, a.word("ghosts", from)+1) }},
		"beyond all":           {"ghosts of partition", func(a arrays, _, to int) { a.setWord("ghosts", to-1, a.word("ghosts", to-1)+3*2000) }},
		"twice":                {"ghosts of partition", func(a arrays, from, _ int) { a.setWord("ghosts", from+1, a.word("ghosts", from)) }},
		"another":              {"the ghosts differ from the shared vertices", func(a arrays, _, to int) { a.setWord("ghosts", to-1, a.word("ghosts", to-1)+3) }},
		"between groups":       {"in a slot of no partition", func(a arrays, _, to int) { a.setWord("ghosts", to, 1) }},
		"more": {"the ghosts differ from the shared vertices", func(a arrays, from, to int) {
			a.setHalf(groups, 3, to-from+1)
			a.setWord("ghosts", to, a.word("ghosts", to-1)+3)
		}},
		"among the owned":     {"ghosts of partition", func(a arrays, _, _ int) { a.setHalf(groups, 2, a.half(groups, 2)-64) }},
		"not at a word":       {"ghosts of partition", func(a arrays, _, _ int) { a.setHalf(groups, 2, a.half(groups, 2)+1) }},
		"too many":            {"ghosts of partition", func(a arrays, _, _ int) { a.setHalf(groups, 3, 1<<31) }},
		"of two":              {"ghosts of partition", func(a arrays, _, _ int) { a.setHalf(groups, 4, a.half(groups, 2)) }},
		"groups":              {"shared vertices are invalid", func(a arrays, _, _ int) { a[groups] = a[groups][:16] }},
		"ranks":               {"shared vertices are invalid", func(a arrays, _, _ int) { a.setHalf("senders.peers.ranks", 0, 1) }},
		"another set":         {"shared vertices are invalid", func(a arrays, _, _ int) { a.setWord("senders.peers.words", 0, ^a.word("senders.peers.words", 0)) }},
		"a vertex too large":  {"shared vertices are invalid", func(a arrays, _, _ int) { a.setHalf(members, 0, 1<<30) }},
		"a vertex of the set": {"shared vertices are invalid", func(a arrays, _, _ int) { a.setHalf(members, 0, 0) }},
		"no beginning":        {"shared vertices are invalid", func(a arrays, _, _ int) { a.setHalf(first, 0, 1) }},
		"ends before":         {"shared vertices are invalid", func(a arrays, _, _ int) { a.setHalf(first, 2, 1<<20) }},
		"no words":            {"shared vertices are invalid", func(a arrays, _, _ int) { a["senders.peers.words"] = nil }},
	} {
		dir, a := "", arrays{}
		m, g := &snapshot.Manifest{}, &graph.Graph{}
		for seed := uint64(0); len(a[members]) == 0; seed++ { // most graphs have none
			dir = t.TempDir()
			g = random(t, seed, 2000, 150, true, false,
				graph.Options{Grid: graph.Grid{Rows: 3, Columns: 1}})
			var err error
			if m, err = snapshot.Save(t.Context(), openStore(t, dir), g, snapshot.Options{}); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, m.Parts[0].Name))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := snapshot.Forge(data, func(name string, array []byte) []byte {
				a[name] = bytes.Clone(array)
				return array
			}); err != nil {
				t.Fatal(err)
			}
		}
		ghost := (g.Parts[0].Owned + 63) &^ 63
		from := a.half(groups, 2) - ghost
		c.forge(a, from, from+a.half(groups, 3))
		if err := snapshot.ForgeFile(dir, m.Parts[0].Name,
			func(name string, _ []byte) []byte { return a[name] }); err != nil {
			t.Fatal(err)
		}
		opened, err := superstep.Load(t.Context(), dir)
		if err == nil {
			opened.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found %v, expected %q", what, err, c.want)
		}
	}
}

// use runs several programs on a graph.
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

// bytesStore is a store with one object.
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

// FuzzPart: any content of a partition's file is refused or is a valid partition. Checksums are not
// tested.
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
		data, file, err := snapshot.Forge(data,
			func(_ string, array []byte) []byte { return array })
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

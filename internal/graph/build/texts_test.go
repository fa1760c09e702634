package build

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
)

// someName returns a random name: one of few, one of many with a long common prefix, one in several
// scripts, one with quotes, or a long one.
func someName(rng *rand.Rand) string {
	switch rng.IntN(7) {
	case 0:
		return fmt.Sprint("n", rng.IntN(20))
	case 1:
		return fmt.Sprintf("https://example.org/a/long/way/%d", rng.IntN(1<<20))
	case 2:
		return string(rune(0x4e00+rng.IntN(2000))) + string(rune(0x1f600+rng.IntN(50)))
	case 3:
		return fmt.Sprintf("Rue \"de\" Rivoli, %d", rng.IntN(100))
	case 4:
		return strings.Repeat("ab", rng.IntN(300)) + "x"
	default:
		return fmt.Sprintf("%x", rng.Uint64N(1<<uint(rng.IntN(60)+1)))
	}
}

// vertexFile writes a table of vertices: the given ones, each once, in any order, and others that
// are in no edge.
func vertexFile(t *testing.T, rng *rand.Rand, some []string, name func() string) string {
	t.Helper()
	for range rng.IntN(200) {
		some = append(some, name())
	}
	slices.Sort(some)
	some = slices.Compact(some)
	rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	path := filepath.Join(t.TempDir(), "vertices.csv")
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	if err := w.Write([]string{"id"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range some {
		if err := w.Write([]string{id}); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTextsTwin: if several ranks read a table with names, the graph and the names are the same as
// if one process read it. This also holds for tables with numbers, dense or sparse, and with an
// additional table of vertices.
func TestTextsTwin(t *testing.T) {
	usual := limits
	defer func() { limits = usual }()
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for seed := range rounds(60, 30, 15) {
		rng := rand.New(rand.NewPCG(seed, 4))
		limits.textRound = []int{1, 100, 4000, usual.textRound}[rng.IntN(4)]
		ranks := 1 + rng.IntN(5)
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		name, ids := func() string { return someName(rng) }, "name"
		switch seed % 5 {
		case 0:
			name, ids = func() string { return fmt.Sprint(rng.IntN(900)) }, "number"
		case 1:
			name, ids = func() string { return fmt.Sprint(rng.Uint64N(1<<62) >> (2 * rng.IntN(30))) }, "number"
		}
		few := []string{name(), name(), name()}
		for range 1 + rng.IntN(1+rng.IntN(2000)) {
			row := []string{name(), name(), fmt.Sprint(rng.IntN(9))}
			if rng.IntN(3) == 0 {
				row[rng.IntN(2)] = few[rng.IntN(3)]
			}
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		path := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		header := false
		read := graphio.ReadOptions{Team: team, Weights: edges.Float64, Columns: graphio.Columns{Header: &header, IDs: ids, Delimiter: ","}}
		if seed%5 < 3 {
			read.Columns.Vertices = vertexFile(t, rng, few, name)
		}
		in, err := graphio.Read(t.Context(), path, read)
		if err != nil {
			t.Fatal(err)
		}
		owner := make([]int, 1+rng.IntN(5))
		for i := range owner {
			owner[i] = rng.IntN(ranks)
		}
		o := graph.Options{Partitions: len(owner), Weights: edges.Float64, Duplicates: graph.Duplicates(rng.IntN(4)), DropLoops: rng.IntN(2) == 0}
		want, err := Local(t.Context(), in, o)
		if err != nil {
			t.Fatal(err)
		}
		var shares []*edges.RankInput
		for rank := range ranks {
			s, err := graphio.ReadRank(t.Context(), path, rank, ranks, read)
			if err != nil {
				t.Fatal(err)
			}
			shares = append(shares, s)
		}
		got := buildOver(t, t.Context(), shares, owner, func(int) graph.Options { return o })
		text := fmt.Sprintf("seed %d: %d vertices, %d ranks, rounds of %d", seed, want.N, ranks,
			limits.textRound)
		for rank, b := range got {
			if b.err != nil {
				t.Fatalf("%s: rank %d: %v", text, rank, b.err)
			}
			if err := compareShare(rank, b.g, want, owner); err != nil {
				t.Fatalf("%s: rank %d: %v", text, rank, err)
			}
		}
		if err := compareDirectory(t, rng, got, want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if ids == "name" {
			if err := compareNames(t, rng, got, want.Names); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		want.Close()
		in.Close()
		closeAll(got)
	}
}

// compareNames looks up names in all possible ways.
func compareNames(t *testing.T, rng *rand.Rand, got []built, want *names.Dictionary) error {
	for label := range uint64(want.Len()) {
		name, knows := want.Name(label), 0
		for rank, b := range got {
			here, ok := b.d.Names.Append(nil, label)
			at, found := b.d.Names.Find(name)
			if ok != found || ok && (string(here) != name || at != label) {
				return fmt.Errorf("rank %d has %q, %t, and %d, %t, of %d: %q", rank, here, ok, at,
					found, label, name)
			}
			if ok {
				knows++
			}
		}
		if knows != 1 {
			return fmt.Errorf("%d ranks have the name of %d", knows, label)
		}
	}
	asked, errs := make([][]uint64, len(got)), make([]error, len(got))
	for rank := range asked {
		for label := range uint64(want.Len()) {
			if rng.IntN(2) == 0 && rank != 1 {
				asked[rank] = append(asked[rank], label)
			}
		}
		rng.Shuffle(len(asked[rank]),
			func(i, j int) { asked[rank][i], asked[rank][j] = asked[rank][j], asked[rank][i] })
	}
	everywhere(t, len(got), func(rank int, group *collective.Group) {
		var came []uint64
		err := got[rank].d.Names.Fetch(t.Context(), group, collective.Call{Tag: 70}, asked[rank],
			func(label uint64, name []byte) {
				if came = append(came, label); want.Name(label) != string(name) {
					errs[rank] = fmt.Errorf("the name of %d is %q, expected %q", label, name,
						want.Name(label))
				}
			})
		slices.Sort(came)
		slices.Sort(asked[rank])
		if !slices.Equal(came, asked[rank]) {
			err = errors.Join(err, fmt.Errorf("rank %d got the names of %v, expected %v", rank,
				came, asked[rank]))
		}
		errs[rank] = errors.Join(errs[rank], err)
	})
	return errors.Join(errs...)
}

// TestNoRankHasAllNames: if a file has evenly distributed names, each rank stores about its share
// of them.
func TestNoRankHasAllNames(t *testing.T) {
	const ranks = 4
	got := buildOver(t, t.Context(), someShares(ranks, edges.Texts, true), []int{0, 1, 2, 3},
		func(int) graph.Options { return graph.Options{Partitions: ranks} })
	defer closeAll(got)
	for rank, b := range got {
		if b.err != nil {
			t.Fatal(b.err)
		}
		if own, _ := b.d.Names.Share(); own.Len() > 2*5000/ranks || own.Len() < 5000/ranks/2 {
			t.Errorf("rank %d has %d names of %d", rank, own.Len(), b.d.Names.Len())
		}
	}
}

// FuzzTextMessages decodes arbitrary bytes as messages of numberNames and Fetch.
func FuzzTextMessages(f *testing.F) {
	var b names.Builder
	for _, name := range []string{"Ada", "Grace", "Grace Hopper", "東京"} {
		if err := b.Add([]byte(name)); err != nil {
			f.Fatal(err)
		}
	}
	d := b.Dictionary()
	f.Add(d.AppendPiece(nil, 0, 4))
	points, err := json.Marshal(sampleNames(d))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(points)
	f.Add([]byte("\x00\x01\x01\x02"))
	f.Add([]byte("\x01a\x02bc"))
	f.Add(appendWord(appendWord(nil, 1), 2))
	x := &Names{starts: []uint64{0, 4}, own: d}
	f.Fuzz(func(t *testing.T, data []byte) {
		var points []textPoint
		if json.Unmarshal(data, &points) == nil {
			for ranks := 1; ranks < 4; ranks++ {
				if cuts := cutPoints(points, ranks); (len(cuts)+1)%ranks != 0 {
					t.Fatalf("%d cuts for %d ranks", len(cuts), ranks)
				}
			}
		}
		var to names.Builder
		if back, err := mergePieces(&to, [][]byte{data, d.AppendPiece(nil, 1, 3)}); err == nil {
			places := make([]uint32, 2)
			if err := decodePlaces(places, back[1]); err != nil {
				t.Fatal(err)
			}
			if all := to.Dictionary(); all.Name(uint64(places[0])) != "Grace" ||
				all.Name(uint64(places[1])) != "Grace Hopper" {
				t.Fatalf("places %v of %d names", places, all.Len())
			}
		}
		if decodePlaces(make([]uint32, 3), data) == nil && len(data) < 3 {
			t.Fatal("three places in", len(data), "bytes")
		}
		_, _ = eachAnswer(data, []int{3, 1}, func(int, []byte) error { return nil })
		_, _, _ = answers([][]byte{data}, func(label uint64) bool { return x.Owner(label) == 0 },
			func(dst []byte, label uint64) []byte {
				dst, ok := x.Append(dst, label)
				if !ok {
					t.Fatal("no name of", label)
				}
				return dst
			})
	})
}

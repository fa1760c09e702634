package delivery

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/transport"
)

// An exchange rejects a frame whose parts contradict each other or the graph. These tests record
// the frames that one partition sends another, change them, and deliver them.

// refusal is a change of a frame after which it must be rejected.
type refusal struct {
	name   string
	change func(f *transport.Frame)
}

// sparseOf encodes positions as a sparse column, even if they are invalid.
func sparseOf(positions ...uint32) (b []byte) {
	for _, i := range positions {
		b = binary.LittleEndian.AppendUint16(b, uint16(i>>16))
		b = binary.LittleEndian.AppendUint16(b, 0)
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
	}
	return b
}

// refusals returns the changes for an exchange, based on a valid frame.
func (tr *traffic[M]) refusals(f transport.Frame) []refusal {
	n := tr.list(f.From)
	all := []refusal{
		{"from itself", func(f *transport.Frame) { f.From = 0 }},
		{"from nobody", func(f *transport.Frame) { f.From = -1 }},
		{"from beyond the last", func(f *transport.Frame) { f.From = len(tr.g.Parts) }},
		{"of the superstep before", func(f *transport.Frame) { f.Superstep-- }},
		{"to another", func(f *transport.Frame) { f.To = 1 }},
		{"one more said", func(f *transport.Frame) { f.Count++ }},
		{"one less said", func(f *transport.Frame) { f.Count-- }},
		{"less than nothing", func(f *transport.Frame) { f.Count = -1 }},
		{"more than there can be", func(f *transport.Frame) { f.Count = math.MaxInt }},
		{"encoding auto", func(f *transport.Frame) { f.Encoding = uint8(Auto) }},
		{"no encoding", func(f *transport.Frame) { f.Encoding = uint8(Pairs) + 1 }},
		{"a byte behind", func(f *transport.Frame) { f.Presence = append(f.Presence, 0) }},
	}
	if tr.values && f.Ref == nil {
		all = append(all,
			refusal{"a value short", func(f *transport.Frame) { f.Raw = f.Raw[:len(f.Raw)-4] }},
			refusal{"a byte short", func(f *transport.Frame) { f.Raw = f.Raw[:len(f.Raw)-1] }},
			refusal{"a byte too many", func(f *transport.Frame) { f.Raw = append(f.Raw, 0) }},
			refusal{"no values", func(f *transport.Frame) { f.Raw = nil }},
			refusal{"values of another form", func(f *transport.Frame) { f.Raw, f.Ref = nil, []string{"a"} }})
	}
	if tr.values && f.Ref != nil {
		all = append(all,
			refusal{"a value short", func(f *transport.Frame) { f.Ref = f.Ref.([]M)[1:] }},
			refusal{"no values", func(f *transport.Frame) { f.Ref = nil }},
			refusal{"values of another type", func(f *transport.Frame) { f.Ref = make([]int8, f.Count) }},
			refusal{"values of another form", func(f *transport.Frame) { f.Ref, f.Raw = nil, make([]byte, 4*f.Count) }})
	}
	if !tr.values {
		all = append(all,
			refusal{"values", func(f *transport.Frame) { f.Raw = append(f.Raw, 0, 0, 0, 0) }},
			refusal{"values of a type", func(f *transport.Frame) { f.Ref = []string{"a"} }})
	}
	switch {
	case tr.pairs > 0:
		all = append(all, tr.refusedPairs(n)...)
	default:
		all = append(all, tr.refusedColumns(n)...)
	}
	if tr.kind == transport.Ring {
		all = append(all, refusedTokens(tr.g)...)
	}
	return all
}

func (tr *traffic[M]) refusedPairs(n int) []refusal {
	receiver := func(to uint32) func(f *transport.Frame) {
		return func(f *transport.Frame) {
			tr.said(f, 1)
			f.Presence = make([]byte, tr.pairs)
			at := 0
			if tr.pairs == joinBytes {
				at = 8 // after the sender
			}
			binary.LittleEndian.PutUint32(f.Presence[at:], to)
		}
	}
	all := []refusal{
		{"receiver n", receiver(uint32(n))},
		{"the last receiver there can be", receiver(math.MaxUint32)},
		{"half a receiver behind", func(f *transport.Frame) { f.Presence = append(f.Presence, make([]byte, tr.pairs-1)...) }},
		{"a receiver short", func(f *transport.Frame) { f.Presence = f.Presence[:len(f.Presence)-tr.pairs] }},
		{"a column", func(f *transport.Frame) { f.Encoding = uint8(Bitmap) }},
	}
	// the own vertices are fewer than those of others
	if tr.kind == transport.Sends && !tr.g.Options.Grid.Flat() {
		all = append(all,
			refusal{"a vertex that is not owned", receiver(uint32(tr.g.Parts[0].Owned * tr.g.Options.Grid.Columns))})
	}
	return all
}

func (tr *traffic[M]) refusedColumns(n int) []refusal {
	column := func(e Encoding, count int, presence []byte) func(f *transport.Frame) {
		return func(f *transport.Frame) {
			tr.said(f, count)
			f.Encoding, f.Presence = uint8(e), presence
		}
	}
	bits := make([]byte, (n+63)/64*8)
	beyond := slices.Clone(bits)
	beyond[len(beyond)-1] = 0x80
	all := []refusal{
		{"a position twice", column(Sparse, 2, sparseOf(1, 1))},
		{"positions that fall", column(Sparse, 2, sparseOf(3, 2))},
		{"position n", column(Sparse, 1, sparseOf(uint32(n)))},
		{"a position beyond n", column(Sparse, 2, sparseOf(0, 1<<16))},
		{"the end of a run is missing", column(Sparse, 2, []byte{0, 0, 1, 0, 7, 0})},
		{"a run without positions", column(Sparse, 1, []byte{0, 0, 0, 0})},
		{"nothing sparse, one said", column(Sparse, 1, nil)},
		{"more sparse than said", column(Sparse, 1, sparseOf(1, 2, 3))},
		{"all, and n less one said", column(All, n-1, nil)},
		{"all, with presence", column(All, n, bits)},
		{"more than all", column(All, n+1, nil)},
		{"a bitmap too short", column(Bitmap, 0, bits[8:])},
		{"a bitmap too long", column(Bitmap, 0, append(slices.Clone(bits), make([]byte, 8)...))},
		{"pairs", column(Pairs, 1, make([]byte, 4))},
	}
	if n%64 != 0 {
		all = append(all, refusal{"a bit beyond n", column(Bitmap, 1, beyond)})
	}
	return all
}

func refusedTokens(g *graph.Graph) []refusal {
	header := func(at int, x uint32) func(f *transport.Frame) {
		return func(f *transport.Frame) { binary.LittleEndian.PutUint32(f.Raw[4*at:], x) }
	}
	words := func(f *transport.Frame) uint32 { return uint32(g.Parts[f.From].Words()) }
	return []refusal{
		{"a header too short", func(f *transport.Frame) { f.Raw = f.Raw[:15] }},
		{"a vertex of the receiver", header(0, 0)},
		{"of nobody", header(0, math.MaxUint32)},
		{"from a word on that is not", func(f *transport.Frame) { header(2, words(f))(f) }},
		{"from the last word there can be", header(2, math.MaxUint32)},
		{"a word too many", func(f *transport.Frame) { header(3, words(f))(f); f.Presence = append(f.Presence, make([]byte, 8)...) }},
		{"all words there can be", header(3, math.MaxUint32)},
	}
}

// eachExchange calls f for all exchanges of a graph with messages of a type.
func eachExchange[M any](k kindOf[M], graphs []*graph.Graph, f func(name string, tr traffic[M])) {
	for _, g := range graphs {
		for _, tr := range exchanges(g, k) {
			tr.g = g
			f(fmt.Sprintf("%s of %T in %v", tr.name, *new(M), g.Options.Grid), tr)
		}
	}
}

var (
	rawKind = kindOf[uint32]{combiners.Sum[uint32](), func(h uint64) uint32 { return uint32(h) }}
	refKind = kindOf[string]{combiners.Func("", func(a, b string) string { return max(a, b) }), func(h uint64) string { return fmt.Sprint(h) }}
)

// gridsOf returns graphs in two partitions and in a 2 x 2 grid, in which partition 0 owns more or
// fewer vertices than others.
func gridsOf(t testing.TB) []*graph.Graph {
	t.Helper()
	const n = 8001 // so that columns of few messages have their own way
	in := &edges.Input{Name: "pairs", Vertices: n, Directed: true}
	var tuples [][2]uint64
	for i := range uint64(9 * n) {
		tuples = append(tuples, [2]uint64{i * 7 % n, i * i % n})
	}
	in.Edges = edges.Pack(n, tuples, nil)
	var graphs []*graph.Graph
	for _, grid := range []graph.Grid{graph.Of(2), {Rows: 2, Columns: 2}} {
		g, err := build.Local(t.Context(), in, graph.Options{Grid: grid})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		graphs = append(graphs, g)
	}
	return graphs
}

func TestMalformedFramesAreRefused(t *testing.T) {
	graphs := gridsOf(t)
	eachExchange(rawKind, graphs, func(name string, tr traffic[uint32]) { t.Run(name, tr.refuses) })
	eachExchange(refKind, graphs, func(name string, tr traffic[string]) { t.Run(name, tr.refuses) })
}

func (tr traffic[M]) refuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, force := range []Encoding{Auto, Bitmap, Sparse} {
		seed := tr.seed(t, rng, force)
		if got, err := tr.give(copied(&seed)); err != nil || len(got.slots) != seed.Count ||
			seed.Count == 0 {
			t.Fatalf("%v: %d of %d arrived, %v", Encoding(seed.Encoding), len(got.slots),
				seed.Count, err)
		}
		for _, r := range tr.refusals(seed) {
			f := copied(&seed)
			r.change(&f)
			if _, err := tr.give(f); err == nil {
				t.Errorf("%v, %s: taken", Encoding(seed.Encoding), r.name)
			}
		}
	}
}

// TestMutatedFramesAreRefusedOrSound changes frames at random. Each is rejected, or has as many
// messages as its count.
func TestMutatedFramesAreRefusedOrSound(t *testing.T) {
	graphs := gridsOf(t)
	for seed := range uint64(200) {
		mutateAll(t, graphs, seed)
	}
}

// FuzzMutatedFrames is TestMutatedFramesAreRefusedOrSound with arbitrary seeds.
func FuzzMutatedFrames(f *testing.F) {
	graphs := gridsOf(f)
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { mutateAll(t, graphs, seed) })
}

func mutateAll(t *testing.T, graphs []*graph.Graph, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	eachExchange(rawKind, graphs,
		func(name string, tr traffic[uint32]) { tr.mutated(t, name, rng) })
	eachExchange(refKind, graphs,
		func(name string, tr traffic[string]) { tr.mutated(t, name, rng) })
}

func (tr *traffic[M]) mutated(t *testing.T, name string, rng *rand.Rand) {
	t.Helper()
	f := tr.seed(t, rng, Encoding(rng.IntN(int(Pairs))))
	for range 1 + rng.IntN(2) {
		mutate(rng, &f)
	}
	got, err := tr.give(copied(&f))
	if err != nil {
		return
	}
	if len(got.slots) != f.Count || !tr.values && (tr.kind != transport.Ring && len(f.Raw) > 0 ||
		f.Ref != nil) {
		t.Fatalf("%s: %d arrived of %+v", name, len(got.slots), f)
	}
	for _, slot := range got.slots {
		if int(slot) >= got.limit {
			t.Fatalf("%s: slot %d of %d, of %+v", name, slot, got.limit, f)
		}
	}
}

// mutate changes a part of a frame at random.
func mutate(rng *rand.Rand, f *transport.Frame) {
	part := &f.Presence
	if rng.IntN(3) == 0 {
		part = &f.Raw
	}
	at := 0
	if len(*part) > 0 {
		at = rng.IntN(len(*part))
	}
	switch rng.IntN(8) {
	case 0:
		*part = (*part)[:at]
	case 1:
		*part = append(*part, (*part)[at:]...) // repeat the end
	case 2:
		*part = append(*part, byte(rng.Uint32()))
	case 3:
		f.Count += rng.IntN(5) - 2
	case 4:
		f.Encoding = uint8(rng.IntN(6))
	case 5:
		if ref, ok := f.Ref.([]string); ok {
			f.Ref = ref[:rng.IntN(len(ref)+1)]
		}
	default:
		if len(*part) > 0 {
			(*part)[at] ^= 1 << rng.IntN(8)
		}
	}
}

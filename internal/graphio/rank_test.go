package graphio

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// joined reads a file in parts and joins these in a simple way. If there are errors, it returns the
// one of the lowest rank.
func joined(t testing.TB, path string, ranks, piece int, o ReadOptions) (graph, error) {
	t.Helper()
	shares := make([]*edges.RankInput, ranks)
	errs := make([]error, ranks)
	for rank := range ranks {
		r := newReader(o, piece)
		r.rank, r.ranks = rank, ranks
		if shares[rank], errs[rank] = r.readRank(t.Context(), path); errs[rank] == nil {
			defer shares[rank].Close()
		}
	}
	for _, err := range errs {
		if err != nil {
			return graph{}, err
		}
	}
	var g graph
	var sums [2]uint64
	largest := uint64(0)
	var known map[uint64]bool
	for rank, s := range shares {
		if rank > 0 {
			for i, span := range s.Spans {
				if before := shares[rank-1].Spans[i]; before.To != span.From ||
					before.Size != span.Size {
					t.Fatalf("%s: rank %d: %+v after %+v", path, rank, span, before)
				}
			}
		}
		for i, id := range s.IDs {
			if known == nil {
				known = map[uint64]bool{}
			}
			if known[id] {
				return g, s.Repeated(t.Context(), i, id)
			}
			known[id] = true
			g.vertices = append(g.vertices, id)
		}
	}
	for _, s := range shares {
		most := uint64(0)
		var b edges.Block
		for i := range edges.Blocks(s.Edges) {
			if err := s.Edges.Read(i, &b); err != nil {
				t.Fatal(err)
			}
			for j := range b.N {
				u, v := b.U[j], b.V[j]
				most = max(most, u, v)
				for _, id := range []uint64{u, v} {
					if s.Naming == edges.Listed && !known[id] {
						return g, s.Undeclared(t.Context(), i*edges.BlockSize+j, id)
					}
				}
				g.tuples = append(g.tuples, [2]uint64{s.Labels.Of(u), s.Labels.Of(v)})
				if s.Edges.Weighted() {
					g.weights = append(g.weights, b.W[j])
				}
			}
		}
		if s.Naming != edges.Numbers && most != s.Largest {
			t.Fatalf("%s: the largest endpoint is %d, not %d", path, most, s.Largest)
		}
		largest = max(largest, s.Largest)
	}
	for _, s := range shares {
		if s.Check != nil {
			if err := s.Check(len(g.tuples), largest); err != nil {
				return g, err
			}
		}
		sums[0], sums[1] = sums[0]+s.Balance[0], sums[1]+s.Balance[1]
	}
	if sums != [2]uint64{} {
		return g, shares[0].Unbalanced(t.Context())
	}
	switch s := shares[0]; {
	case s.Naming == edges.Named:
		for _, e := range g.tuples {
			g.vertices = append(g.vertices, e[0], e[1])
		}
	case s.Naming == edges.Numbers:
		n := s.Vertices
		if n == 0 && len(g.tuples) > 0 && strings.Contains(path, ".bin") {
			n = int(largest) + 1
		}
		for v := range n {
			g.vertices = append(g.vertices, s.Labels.Of(uint64(v)))
		}
	}
	slices.Sort(g.vertices)
	g.vertices = slices.Compact(g.vertices)
	if shares[0].Edges.Weighted() && g.weights == nil {
		g.weights = []float64{}
	}
	return g, nil
}

// wantJoined compares the joined parts with the graph that is read as a whole.
func wantJoined(t testing.TB, path string, ranks, piece int, o ReadOptions) {
	t.Helper()
	in, wrong := read(path, piece, o)
	got, err := joined(t, path, ranks, piece, o)
	if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
		t.Fatalf("%d ranks, pieces of %d: error %v, of the whole %v", ranks, piece, err, wrong)
	}
	if err == nil {
		same(t, got, plainly(t, in))
		in.Close()
	}
}

// randomLines makes lines of text. Some are unusual, and maybe one is wrong.
func randomLines(rng *rand.Rand, line func() string, bad []string) string {
	var b strings.Builder
	n := rng.IntN(120)
	wrong := -1
	if rng.IntN(3) == 0 && n > 0 {
		wrong = rng.IntN(n)
	}
	for i := range n {
		switch {
		case i == wrong:
			b.WriteString(bad[rng.IntN(len(bad))])
		case rng.IntN(12) == 0:
			b.WriteString([]string{"", "# remark", " \t", "% " + strings.Repeat("long ",
				rng.IntN(100))}[rng.IntN(4)])
		default:
			b.WriteString(line())
		}
		if i+1 < n || rng.IntN(2) == 0 {
			b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[rng.IntN(4)])
		}
	}
	return b.String()
}

// randomLists makes adjacency lists, maybe with one error.
func randomLists(rng *rand.Rand, undirected bool) string {
	n := 1 + rng.IntN(40)
	lists, ids := make([][]int, n), rng.Perm(3 * n)[:n]
	for range rng.IntN(4 * n) {
		u, v := rng.IntN(n), rng.IntN(n)
		lists[u] = append(lists[u], ids[v])
		if undirected && u != v && rng.IntN(150) > 0 {
			lists[v] = append(lists[v], ids[u])
		}
	}
	if rng.IntN(8) == 0 {
		lists[rng.IntN(n)] = []int{3*n + 1}
	}
	if rng.IntN(8) == 0 {
		ids[rng.IntN(n)] = ids[0]
	}
	at := 0
	return randomLines(rng, func() string {
		if at == n {
			return "#"
		}
		at++
		return strings.Trim(fmt.Sprint(ids[at-1], lists[at-1]), "[]")
	}, []string{"1 x", "-1", "1,2"})
}

// TestShares: the parts of any number of ranks are together the whole graph, whatever the file
// contains and wherever it is cut. Errors have the same texts.
func TestShares(t *testing.T) {
	team := parallel.NewTeam(3, false)
	defer team.Close()
	for seed := range rounds(300, 150, 100) { // FuzzShares tests more
		rng := rand.New(rand.NewPCG(seed, 9))
		dir := t.TempDir()
		id := func() string { return fmt.Sprint(rng.Uint64N(1 << (1 + rng.IntN(12)))) }
		if rng.IntN(3) == 0 {
			id = func() string { return fmt.Sprint(rng.Uint64() >> 1) }
		}
		pair := func() string { return id() + " " + id() }
		triple := func() string { return pair() + "\t" + fmt.Sprint(float64(rng.IntN(1000))/8) }
		badPairs := []string{"1", "x 1", "1 2 3 4", "-1 2", "1\x002 3", "18446744073709551615 1"}
		pack := []func(string) string{func(s string) string { return s }, gz, zst}[rng.IntN(3)]
		suffix := ""
		if rng.IntN(2) == 0 {
			suffix = map[string]string{"a": "", gz("a"): ".gz", zst("a"): ".zst"}[pack("a")]
		}
		o := ReadOptions{Team: team, Weights: edges.Weights(rng.IntN(3))}
		path := filepath.Join(dir, "a")
		write := func(name, text string) { putIn(t, dir, name+suffix, pack(text)) }
		switch rng.IntN(6) {
		case 0:
			o.Format = EL
			write("a", randomLines(rng, pair, badPairs))
		case 1:
			o.Format = WEL
			write("a", "\xef\xbb\xbf"[:3*rng.IntN(2)]+
				randomLines(rng, triple, []string{"1 2", "1 2 x", "1 2 nan"}))
		case 2:
			o.Format = MatrixMarket
			entries := randomLines(rng, func() string { return fmt.Sprint(1+rng.IntN(50), 1+rng.IntN(50)) }, []string{"0 1", "51 1", "1"})
			entries = strings.ReplaceAll(entries, "#", "%")
			lines, _, _ := slowLines(entries, "%")
			n := len(lines)
			if rng.IntN(6) == 0 {
				n++
			}
			write("a",
				fmt.Sprintf("%%%%MatrixMarket matrix coordinate pattern general\n%% remark\n50 50 %d\n%s", n, entries))
		case 3:
			pack, suffix = func(s string) string { return s }, ""
			path = filepath.Join(dir, "a.v")
			var ids []string
			for i := range 1 + rng.IntN(60) {
				ids = append(ids, fmt.Sprint(i*(1+rng.IntN(3))+1000*i))
			}
			list := slices.Clone(ids)
			switch rng.IntN(6) {
			case 0:
				list = append(list, ids[rng.IntN(len(ids))])
			case 1:
				list = list[1:]
			}
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			write("a.v", strings.Join(list, "\n#remark\n")+"\n")
			write("a.e", randomLines(rng, func() string { return ids[rng.IntN(len(ids))] + " " + ids[rng.IntN(len(ids))] }, []string{"5 999999", ids[0] + " 7"}))
		case 5:
			o.Format = Adjacency
			undirected := rng.IntN(2) == 0
			directed := !undirected
			o.Directed = &directed
			write("a", randomLists(rng, undirected))
		case 4:
			path += ".bin"
			var data, weights []byte
			n := rng.IntN(6000)
			for range n {
				data = appendEdge(data, rng.Uint64N(1<<12), rng.Uint64N(1<<12))
				weights = append(weights, 0, 0, byte(rng.IntN(128)), 62)
			}
			switch rng.IntN(10) {
			case 0:
				data = append(data, 1)
			case 1:
				data = appendEdge(data, 1<<40, 2)
				weights = append(weights, 0, 0, 0, 0)
			case 2:
				weights = append(weights, 0, 0, 0, 0)
			case 3:
				weights = weights[:len(weights)/8*4]
			}
			if suffix == "" {
				pack = func(s string) string { return s }
			}
			write("a.bin", string(data))
			if rng.IntN(2) == 0 {
				write("a.bin.weights", string(weights))
			}
		}
		if _, err := os.Stat(path + suffix); err == nil {
			path += suffix
		}
		ranks, piece := 1+rng.IntN(6), 1+rng.IntN(300)
		if rng.IntN(2) == 0 {
			piece = pieceSize
		}
		t.Run(fmt.Sprintf("seed%d", seed),
			func(t *testing.T) { wantJoined(t, path, ranks, piece, o) })
	}
}

// TestSharesOfLargeCompressed reads a file with several pieces for every rank.
func TestSharesOfLargeCompressed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for range 40_000 {
		fmt.Fprintln(&b, rng.IntN(1<<20), rng.IntN(1<<20))
	}
	for name, text := range map[string]string{"a.el.gz": gz(b.String()), "a.el.zst": zst(b.String())} {
		path := put(t, name, text)
		wantJoined(t, path, 4, 24<<10, ReadOptions{})
		dir := t.TempDir()
		putIn(t, dir, "1-"+name, text)
		putIn(t, dir, "2-"+name, text)
		wantJoined(t, dir, 4, 24<<10, ReadOptions{})
		for rank := range 4 {
			r := newReader(ReadOptions{}, 24<<10)
			r.rank, r.ranks = rank, 4
			s, err := r.readRank(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if n := s.Edges.Len(); n < 6_000 || n > 14_000 {
				t.Errorf("%s: rank %d has %d of 40,000 edges", name, rank, n)
			}
			s.Close()
		}
		// Cut in the middle: the rank that reads this place reports it.
		cut := put(t, name, text[:len(text)/2])
		wantJoined(t, cut, 3, 24<<10, ReadOptions{})
	}
}

func FuzzShares(f *testing.F) {
	for _, text := range []string{"1 2\n3 4\n5 6", "# c\r\n1 2\n\n\n3 4 5\n", "1 2\n" + strings.Repeat("7 8\n", 50) + "x", "\xff\xfe1 2", "1 2\n3 \x004\n"} {
		f.Add(text, byte(3), byte(5), byte(0))
		f.Add(text, byte(2), byte(200), byte(1))
		f.Add("%%MatrixMarket matrix coordinate pattern general\n9 9 2\n"+text, byte(4), byte(3),
			byte(2))
		f.Add(text, byte(5), byte(9), byte(3))
		f.Add("1 2 3\n2 1\n3 1 3\n"+text, byte(3), byte(4), byte(4))
		f.Add("1 2 3\n2 1\n3 1 3\n", byte(3), byte(4), byte(5))
	}
	team := team(f, 2)
	f.Fuzz(func(t *testing.T, text string, ranks, piece, format byte) {
		formats := []Format{EL, WEL, MatrixMarket, Graph500, Adjacency, Adjacency}
		o := ReadOptions{Team: team, Weights: edges.Float64, Format: formats[format%6], MaxExpand: 1 << 20}
		if format%6 == 5 {
			o.Directed = new(bool)
		}
		name := "a"
		if o.Format == Graph500 {
			name = "a.bin"
			if len(text) >= packedSize && len(text)%packedSize == 0 {
				// An id as large as in the text would require as many vertices.
				text = strings.Repeat("\x01\x02\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00",
					len(text)/packedSize)
			}
		}
		wantJoined(t, put(t, name, text), 1+int(ranks%7), 1+int(piece), o)
	})
}

// TestMarkAcrossParts: a small table with a byte order mark is read once, even if parts of many
// ranks end within the mark.
func TestMarkAcrossParts(t *testing.T) {
	for _, text := range []string{"\xef\xbb\xbf1,2\n3,4\n", "\xef\xbb\xbf1,2", "\xef\xbb\xbf", "1,2\n3,4\n"} {
		for ranks := 1; ranks <= 16; ranks++ {
			wantJoined(t, put(t, "a.csv", text), ranks, 64,
				ReadOptions{Team: team(t, 2), Format: CSV})
		}
	}
}

package graphio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestDecimal compares decimal with strconv, bit by bit.
func TestDecimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{
		"0", "-0", "0.0", "1.", "123456789012345", "1234567890123456", "0.000000000000001",
		"16777217", "33554435", "-0.1",
		"0.00000000000001", "999999999999999", "1.00000005960464", "1.000000059604645", "1e5", ".5",
		"-", "+1", "1.2.3", "--1",
	}
	for range 20_000 {
		digits := fmt.Sprint(rng.Uint64N(1 << rng.UintN(52)))
		at := rng.IntN(len(digits) + 1)
		texts = append(texts, digits[:at]+"."+digits[at:],
			strconv.FormatFloat(float64(rng.Float32()), 'f', 1+rng.IntN(15), 64))
	}
	fast := 0
	for _, text := range texts {
		for _, size := range []int{32, 64} {
			got, end, ok := decimal([]byte(text+"\n"), 0, size == 32)
			if !ok || end != len(text) {
				continue
			}
			fast++
			want, err := parseFloat([]byte(text), size)
			if err != nil || math.Float64bits(got) != math.Float64bits(want) || end != len(text) {
				t.Errorf("%s to %d bits: %v, want %v, %v", text, size, got, want, err)
			}
		}
	}
	if fast < len(texts) {
		t.Errorf("%d of %d read fast", fast, 2*len(texts))
	}
}

// TestPieces cuts a text into pieces of every size. Joined, they are the text.
func TestPieces(t *testing.T) {
	for _, text := range []string{"a\nbb\n\n\nccc\ndddddddddddddddddd\ne", "a\n", "\n", "x", strings.Repeat("y", 50), "\n\n\n", "ab\ncd\n" + strings.Repeat("z", 5000) + "\nq"} {
		for size := 1; size < 60; size++ {
			for _, name := range []string{"a.el", "a.el.gz"} {
				path, content := "", text
				if name == "a.el" {
					path = put(t, name, text)
				} else if size%10 == 1 {
					path = put(t, name, gz(text))
				} else {
					continue
				}
				f, err := newReader(ReadOptions{}, size).open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				var all []byte
				src, err := f.lines(0, size, 0, math.MaxInt64, nil)
				if err != nil {
					t.Fatal(err)
				}
				for p := (piece{}); src.next(t.Context(), &p) == nil; {
					if len(p.data) > 0 && int(p.at) != len(all) || len(p.data) > 0 &&
						p.data[len(p.data)-1] != '\n' {
						t.Errorf("%q by %d: piece %d at %d is %q", text, size, p.index, p.at,
							p.data)
					}
					all = append(all, p.data...)
				}
				if want := strings.TrimSuffix(content, "\n") + "\n"; string(all) != want {
					t.Errorf("%q by %d: %q", text, size, all)
				}
				_ = f.Close()
			}
		}
	}
}

// TestNumbering numbers ids of every kind and compares with a sorted list. Ids that do not occur
// have no number.
func TestNumbering(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, id := range map[string]func(i int) uint64{
		"consecutive": func(i int) uint64 { return uint64(i % 500) },
		"ranked":      func(i int) uint64 { return uint64(i*i) % 50_021 },
		"ranked high": func(i int) uint64 { return 1<<19 + uint64(i%77)*3 },
		"sorted":      func(i int) uint64 { return rng.Uint64() >> 1 },
		"one":         func(i int) uint64 { return 1 << 60 },
		"clustered":   func(i int) uint64 { return uint64(i%2)<<62 + uint64(i)/3 },
	} {
		for _, workers := range []int{1, 3} {
			table := &table{columns: 2}
			table.slabs.using = make([]*slab, 1)
			var want []uint64
			for b := range 20 {
				p := &parser{}
				for i := range 200 {
					p.ids = append(p.ids, id(b*200+i))
				}
				want = append(want, p.ids...)
				table.store(0, b, p)
			}
			table.seal()
			slices.Sort(want)
			want = slices.Compact(want)
			x, err := number(t.Context(), team(t, workers), table)
			if err != nil || x.n != len(want) {
				t.Fatalf("%s: %d ids, want %d, %v", name, x.n, len(want), err)
			}
			labels := x.labels()
			for i, id := range want {
				if got, ok := x.of(id); !ok || got != uint64(i) || labels.Of(got) != id {
					t.Fatalf("%s: id %d is %d, %t, want %d", name, id, got, ok, i)
				}
				for _, other := range []uint64{id - 1, id + 1, id ^ 1<<63} {
					if _, ok := x.of(other); ok != contains(want, other) {
						t.Fatalf("%s: id %d found %t", name, other, ok)
					}
				}
			}
			table.slabs.close()
		}
	}
}

func contains(rising []uint64, id uint64) bool {
	_, found := slices.BinarySearch(rising, id)
	return found
}

// TestNoAllocation: neither the slow nor the fast parser allocates once its columns are large
// enough.
func TestNoAllocation(t *testing.T) {
	for _, line := range []string{"12345\t67890\t0.25\n", "# comment\n", " 7 8 12345.6789012345678\n", "7 8 1e-3 \r\n"} {
		p := &parser{grammar: grammar{columns: 3, marks: listMarks, high: maxID}}
		data := bytes.Repeat([]byte(line), 100)
		if n := testing.AllocsPerRun(10, func() {
			p.reset()
			if p.parse(data); p.bad != nil {
				t.Fatal(p.bad[0])
			}
		}); n > 0 {
			t.Errorf("%q: %v allocations for 100 lines", line, n)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, name := range Formats {
		if f, err := ParseFormat(name); err != nil || string(f) != name {
			t.Errorf("%s: %q, %v", name, f, err)
		}
	}
	for name, want := range map[string]Format{"a.txt": SNAP, "a.TXT.GZ": SNAP, "dir.el/a.wel.zst": WEL, "a.mtx": MatrixMarket, "a.e": LDBC, "a.g500": Graph500, "a": "", "a.gz": "", "dir.el/a": ""} {
		if got := formatOfName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// list makes an edge list of about n bytes, and its number of edges.
func list(n int, weighted bool, id func(*rand.Rand) uint64) []byte {
	rng := rand.New(rand.NewPCG(7, 8))
	var b []byte
	for len(b) < n {
		b = strconv.AppendUint(b, id(rng), 10)
		b = append(b, '\t')
		b = strconv.AppendUint(b, id(rng), 10)
		if weighted {
			b = append(b, '\t')
			b = strconv.AppendFloat(b, float64(rng.IntN(1e6))/1e6, 'g', -1, 64)
		}
		b = append(b, '\n')
	}
	return b
}

func dense(r *rand.Rand) uint64  { return r.Uint64N(1 << 20) }
func sparse(r *rand.Rand) uint64 { return r.Uint64() >> 8 }

// short returns the size of a benchmark's file: a sixteenth in short tests.
func short(size int) int {
	if testing.Short() {
		return size / 16
	}
	return size
}

// BenchmarkParse parses bytes into columns on one core.
func BenchmarkParse(b *testing.B) {
	for _, weighted := range []bool{false, true} {
		b.Run(fmt.Sprintf("weighted=%t", weighted), func(b *testing.B) {
			data := list(1<<20, weighted, dense)
			data = data[:bytes.LastIndexByte(data, '\n')+1]
			p := &parser{grammar: grammar{columns: 2, marks: listMarks, high: maxID}}
			if weighted {
				p.columns = 3
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				p.reset()
				if p.parse(data); p.bad != nil {
					b.Fatal(p.bad[0])
				}
			}
		})
	}
}

// BenchmarkRead reads a file from the page cache into the packed list.
func BenchmarkRead(b *testing.B) {
	size := short(32 << 20)
	for _, file := range []struct {
		name string
		make func() string
	}{
		{"a.el", func() string { return string(list(size, false, dense)) }},
		{"sparse.el", func() string { return string(list(size, false, sparse)) }},
		{"a.wel", func() string { return string(list(size, true, dense)) }},
		{"gz.el", func() string { return gz(string(list(size, false, dense))) }},
		{"zst.el", func() string { return zst(string(list(size, false, dense))) }},
		{"a.csv", func() string { return strings.ReplaceAll(string(list(size, false, dense)), "\t", ",") }},
		{"quoted.csv", func() string { // half as many lines in the same number of bytes
			lines := strings.Split(string(list(size/2, false, dense)), "\n")
			for i, line := range lines[:len(lines)-1] {
				lines[i] = `"` + strings.ReplaceAll(line, "\t", `","`) + `","x, y"`
			}
			return strings.Join(lines[:len(lines)-1], "\n")
		}},
		{"a.g500", func() string {
			var packed []byte
			for rng := rand.New(rand.NewPCG(7, 8)); len(packed) < size; {
				packed = appendEdge(packed, dense(rng), dense(rng))
			}
			return string(packed)
		}},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", file.name, workers), func(b *testing.B) {
				path := put(b, file.name, file.make())
				team := team(b, workers)
				b.SetBytes(int64(size))
				for b.Loop() {
					in, err := Read(b.Context(), path,
						ReadOptions{Team: team, Weights: edges.Float64})
					if err != nil {
						b.Fatal(err)
					}
					in.Close()
				}
			})
		}
	}
}

// BenchmarkWrite writes the packed list to a file.
func BenchmarkWrite(b *testing.B) {
	in := mustRead(b, put(b, "a.wel", string(list(short(16<<20), true, dense))),
		ReadOptions{Weights: edges.Float64, Team: team(b, 2)})
	for _, name := range []string{"a.el", "a.wel", "a.el.gz", "a.el.zst", "a.mtx"} {
		b.Run(name, func(b *testing.B) {
			path := b.TempDir() + "/" + name
			team := team(b, 2)
			for b.Loop() {
				if err := Write(b.Context(), path, in,
					WriteOptions{Team: team, Format: formatOfName(name)}); err != nil &&
					!strings.Contains(err.Error(), "mtx needs") {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Edges.Len()),
				"ns/tuple")
		})
	}
}

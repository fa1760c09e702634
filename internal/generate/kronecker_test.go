package generate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

func official(scale int) Kronecker { return Kronecker{scale, 16, 2, 3} }

// all returns every tuple of a list.
func all(l edges.List) (tuples [][2]uint64, weights []float64) {
	var b edges.Block
	for i := range edges.Blocks(l) {
		if err := l.Read(i, &b); err != nil {
			panic(err)
		}
		for j := range b.N {
			tuples = append(tuples, [2]uint64{b.U[j], b.V[j]})
		}
		if l.Weighted() {
			weights = append(weights, b.W[:b.N]...)
		}
	}
	return tuples, weights
}

func TestRandomNumbers(t *testing.T) {
	s := seeded(2, 3)
	if want := (state{3, 1, 4, 1, 1}); s != want {
		t.Errorf("seeds 2 and 3 give %v, want %v", s, want)
	}
	for i, want := range []uint64{322227026, 531570115, 1424981115, 1111973825, 147993513} {
		if skipped := seeded(2, 3).skip(0, 0, uint64(i)); skipped.next() != want {
			t.Errorf("output %d, skipped to, is not %d", i, want)
		}
		if got := s.next(); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}

func TestScrambleKeys(t *testing.T) {
	key0, key1 := keys(seeded(2, 3))
	if key0 != 0x62af6660b44fce69 || key1 != 0x2a3d763b3a6b1f0c {
		t.Errorf("keys are %x and %x", key0, key1)
	}
}

func TestScrambleIsPermutation(t *testing.T) {
	for scale := 1; scale <= 12; scale++ {
		s := newScramble(seeded(5, 1<<63), scale)
		us, vs := make([]uint64, 1<<scale), make([]uint64, 1<<scale)
		for v := range us {
			us[v], vs[v] = uint64(v), uint64(len(us)-1-v)
		}
		s.all(us, vs)
		seen := make([]bool, 1<<scale)
		for v, label := range us {
			if label != s.label(uint64(v)) || label != vs[len(vs)-1-v] {
				t.Fatalf("scale %d: vertex %d has labels %d, %d and %d", scale, v, label,
					s.label(uint64(v)), vs[len(vs)-1-v])
			}
			if seen[label] {
				t.Fatalf("scale %d: label %d twice", scale, label)
			}
			seen[label] = true
		}
	}
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		scale           int
		edges, weights  uint64
		loops, isolated int
		first           [][2]uint64
		firstWeights    string
		roots           []uint64
	}{
		{
			8, 0xfdcf9b53fb45acec, 0x40847536bc9f558e, 85, 15,
			[][2]uint64{{17, 138}, {82, 127}, {250, 60}},
			"",
			[]uint64{53, 55, 31, 241, 98},
		},
		{
			10, 0x2387b69068a59e11, 0x2727e7b3b912871a, 144, 125,
			[][2]uint64{{299, 797}, {684, 861}, {185, 385}},
			"0.490170419 0.528551459 0.651318908",
			[]uint64{458, 214, 220, 966, 395, 9, 848, 777},
		},
	} {
		g := official(c.scale)
		tuples, weights := all(Lazy(g, true))
		edgesHash, weightsHash := fnv.New64a(), fnv.New64a()
		degree := make([]int, g.Vertices())
		loops, isolated := 0, 0
		for i, e := range tuples {
			edgesHash.Write(binary.LittleEndian.AppendUint64(nil, e[0]&(1<<32-1)|e[1]<<32))
			edgesHash.Write(binary.LittleEndian.AppendUint32(nil,
				uint32(e[0]>>32&0xffff|e[1]>>32<<16)))
			weightsHash.Write(binary.LittleEndian.AppendUint32(nil,
				math.Float32bits(float32(weights[i]))))
			if e[0] == e[1] {
				loops++
				continue
			}
			degree[e[0]]++
			degree[e[1]]++
		}
		for _, d := range degree {
			if d == 0 {
				isolated++
			}
		}
		if edgesHash.Sum64() != c.edges || weightsHash.Sum64() != c.weights {
			t.Errorf("scale %d: hashes %x and %x, want %x and %x", c.scale, edgesHash.Sum64(),
				weightsHash.Sum64(), c.edges, c.weights)
		}
		if loops != c.loops || isolated != c.isolated {
			t.Errorf("scale %d: %d loops and %d isolated vertices, want %d and %d", c.scale, loops,
				isolated, c.loops, c.isolated)
		}
		if !slices.Equal(tuples[:3], c.first) {
			t.Errorf("scale %d: first tuples %v, want %v", c.scale, tuples[:3], c.first)
		}
		if text := fmt.Sprintf("%.9f %.9f %.9f", weights[0], weights[1],
			weights[2]); c.firstWeights != "" && text != c.firstWeights {
			t.Errorf("scale %d: first weights %s, want %s", c.scale, text, c.firstWeights)
		}
		roots := g.Roots(64, func(v uint64) bool { return degree[v] > 0 })
		if len(roots) != 64 || !slices.Equal(roots[:len(c.roots)], c.roots) {
			t.Errorf("scale %d: roots %v, want 64 that begin with %v", c.scale, roots, c.roots)
		}
	}
}

// slowSkip returns the state n steps later. It multiplies by powers of the companion matrix.
func slowSkip(s [5]uint64, n *big.Int) [5]uint64 {
	power := [5][5]uint64{{107374182, 0, 0, 0, 104480}, {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}
	for i := range n.BitLen() {
		if n.Bit(i) == 1 {
			var t [5]uint64
			for r := range 5 {
				for c := range 5 {
					t[r] = (t[r] + power[r][c]*s[c]) % 2147483647
				}
			}
			s = t
		}
		var square [5][5]uint64
		for r := range 5 {
			for c := range 5 {
				for k := range 5 {
					square[r][c] = (square[r][c] + power[r][k]*power[k][c]) % 2147483647
				}
			}
		}
		power = square
	}
	return s
}

func slowNext(s *[5]uint64) uint64 {
	x := (107374182*s[0] + 104480*s[4]) % 2147483647
	s[4], s[3], s[2], s[1], s[0] = s[3], s[2], s[1], s[0], x
	return x
}

// slow generates tuple i by following the specification literally.
func slow(g Kronecker, i int) (u, v uint64, w float64) {
	low := func(x uint64) uint64 { return x&0x3FFFFFFF + 1 }
	seed := [5]uint64{
		low(g.Seed1), low(g.Seed1 >> 30), low(g.Seed2), low(g.Seed2 >> 30),
		g.Seed2>>60<<4 + g.Seed1>>60 + 1,
	}
	shifted := func(n uint64, by uint) *big.Int { return new(big.Int).Lsh(new(big.Int).SetUint64(n), by) }
	s := slowSkip(seed, shifted(uint64(i), 64))
	for range g.Scale {
		x := slowNext(&s)
		for x < 2147483647%10000 {
			x = slowNext(&s)
		}
		var a, b uint64
		switch x %= 10000; {
		case x < 1900:
			a, b = 0, 1
		case x < 3800:
			a, b = 1, 0
		case x < 9500:
			a, b = 0, 0
		default:
			a, b = 1, 1
		}
		if u == v && a > b {
			a, b = b, a
		}
		u, v = 2*u+a, 2*v+b
	}
	w = float64(float32(float64(float32(slowNext(&s))) * 0.000000000465661287524579692))

	s = slowSkip(seed, new(big.Int).Add(shifted(50, 128), shifted(7, 64)))
	val0 := slowNext(&s) * 0xFFFFFFFF
	val0 += slowNext(&s)
	val1 := slowNext(&s) * 0xFFFFFFFF
	val1 += slowNext(&s)
	scrambled := func(v uint64) uint64 {
		v += val0 + val1
		v *= val0 | 0x4519840211493211
		v = bits.Reverse64(v) >> (64 - g.Scale)
		v *= val1 | 0x3050852102C843A5
		return bits.Reverse64(v) >> (64 - g.Scale)
	}
	return scrambled(u), scrambled(v), w
}

// same compares a block with slow.
func same(t *testing.T, g Kronecker, first int, b *edges.Block) {
	t.Helper()
	for j := range b.N {
		if u, v, w := slow(g, first+j); u != b.U[j] || v != b.V[j] || w != b.W[j] {
			t.Fatalf("%s, tuple %d of a block at %d: %d-%d %v, want %d-%d %v", g.Name(), j, first,
				b.U[j], b.V[j], b.W[j], u, v, w)
		}
	}
}

func TestFillAgainstSpecification(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b edges.Block
	for scale := 1; scale <= maxScale; scale++ {
		for range 4 {
			g := Kronecker{scale, 16, rng.Uint64(), rng.Uint64()}
			first := rng.IntN(g.Edges())
			b.N = min(1+rng.IntN(9), g.Edges()-first)
			g.Fill(first, &b, true)
			same(t, g, first, &b)
		}
	}
}

// TestRejection finds tuples for which an output must be drawn again. The fast path passes these to
// plain.
func TestRejection(t *testing.T) {
	g := official(22)
	seed := seeded(g.Seed1, g.Seed2)
	var b edges.Block
	found := 0
	for i := 0; i < 1<<18 && found < 5; i += width {
		var l lanes
		l.begin(seed, i)
		if _, ok := l.draw(0, g.Scale); ok {
			continue
		}
		found++
		b.N = 6
		g.Fill(i, &b, true)
		same(t, g, i, &b)
	}
	if found < 5 {
		t.Errorf("%d rejections in 2^18 tuples", found)
	}
}

func TestQuadrant(t *testing.T) {
	check := func(c uint64) {
		for _, z := range []uint64{c, c + modulus} {
			if z > 1<<31+1<<27 {
				continue
			}
			x := double(z)
			if (x < tooSmall) != (c < rejected) {
				t.Fatalf("output %d (%d): rejected %t", c, z, x < tooSmall)
			}
			if u, v := level(c % 10000); c >= rejected && quadrant(x) != u<<32|v {
				t.Fatalf("output %d (%d): quadrant %x, want %d,%d", c, z, quadrant(x), u, v)
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range uint64(30_000) {
		check(i)
		check(modulus - 1 - i)
		check(rng.Uint64N(modulus))
	}
	for thousand := uint64(0); thousand < modulus-20000; thousand += 9_990_000 {
		for _, limit := range []uint64{0, 1900, 3800, 9500} {
			check(thousand + limit)
			check(thousand + limit + 9999)
		}
	}
}

func TestRangesAgree(t *testing.T) {
	g := official(9)
	whole, _ := all(Lazy(g, false))
	var b edges.Block
	for _, n := range []int{1, 2, 3, 4, 5, 7, 64, 1000} {
		for first := 0; first < len(whole); first += n {
			b.N = min(n, len(whole)-first)
			g.Fill(first, &b, false)
			for j := range b.N {
				if got := [2]uint64{b.U[j], b.V[j]}; got != whole[first+j] {
					t.Fatalf("ranges of %d: tuple %d is %v, want %v", n, first+j, got,
						whole[first+j])
				}
			}
		}
	}
}

func TestRootsEnd(t *testing.T) {
	for scale := 1; scale <= 6; scale++ {
		g := official(scale)
		if got := g.Roots(64, func(uint64) bool { return false }); len(got) != 0 {
			t.Errorf("scale %d: roots %v of no vertex", scale, got)
		}
		odd := g.Roots(64, func(v uint64) bool { return v%2 == 1 })
		if (scale > 3 && len(odd) == 0) || len(odd) > 1<<(scale-1) {
			t.Errorf("scale %d: %d odd roots", scale, len(odd))
		}
		slices.Sort(odd)
		for i, v := range odd {
			if v%2 == 0 || v >= g.Vertices() || (i > 0 && v == odd[i-1]) {
				t.Errorf("scale %d: roots %v", scale, odd)
			}
		}
	}
	if got := official(10).Roots(0, func(uint64) bool { return true }); len(got) != 0 {
		t.Errorf("%d roots, want none", len(got))
	}
}

func TestRootsOfFails(t *testing.T) {
	why := errors.New("nobody knows")
	asked := 0
	roots, err := official(10).RootsOf(8, func(batch []uint64) ([]bool, error) {
		if asked++; asked == 3 {
			return nil, why
		}
		return make([]bool, len(batch)), nil
	})
	if roots != nil || !errors.Is(err, why) {
		t.Errorf("got %v, %v", roots, err)
	}
}

package generate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// samples are small generators, one of each kind. Most make several blocks.
var samples = []Generator{
	Kronecker{9, 16, 2, 3},
	RMAT{9, 11, 0.57, 0.19, 0.19, 7},
	Uniform{1001, 7, 7},
	Grid{40, 50},
	Star{5000},
	Path{5000},
	Path{1},
}

func TestInputIsTheSameForAnyTeam(t *testing.T) {
	for _, g := range samples {
		for _, kind := range []edges.Weights{edges.Unweighted, edges.Float32, edges.Float64} {
			tuples, weights := all(Lazy(g, kind != edges.Unweighted))
			if kind == edges.Float32 {
				for i, w := range weights {
					weights[i] = float64(float32(w))
				}
			}
			for size := 1; size <= 3; size++ {
				team := parallel.NewTeam(size, false)
				in, err := Input(t.Context(), g, Options{Weights: kind, Team: team})
				if err != nil {
					t.Fatal(err)
				}
				gotTuples, gotWeights := all(in.Edges)
				if !slices.Equal(gotTuples, tuples) || !slices.Equal(gotWeights, weights) {
					t.Errorf("%s, %v: a team of %d made other tuples than Lazy", g.Name(), kind,
						size)
				}
				in.Close()
				team.Close()
			}
		}
	}
}

func TestInputSaysWhatItIs(t *testing.T) {
	for _, g := range samples {
		in, err := Input(t.Context(), g, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if in.Name != g.Name() || uint64(in.Vertices) != g.Vertices() ||
			in.Directed != g.Directed() || in.Edges.Len() != g.Edges() {
			t.Errorf("%s: name %s, %d vertices, %d tuples, directed %t", g.Name(), in.Name,
				in.Vertices, in.Edges.Len(), in.Directed)
		}
		size := mem.Text(in.Edges.(*edges.Packed).Bytes())
		if len(in.Account) != 1 || !strings.Contains(in.Account[0], g.Name()) ||
			!strings.Contains(in.Account[0], size+" packed") {
			t.Errorf("%s: account %q", g.Name(), in.Account)
		}
		in.Close()
	}
}

func TestWeights(t *testing.T) {
	for _, g := range samples {
		tuples, weights := all(Lazy(g, true))
		bare, none := all(Lazy(g, false))
		if !slices.Equal(tuples, bare) || none != nil {
			t.Errorf("%s: weights change the tuples", g.Name())
		}
		for _, e := range tuples {
			if max(e[0], e[1]) >= g.Vertices() {
				t.Fatalf("%s: tuple %v", g.Name(), e)
			}
		}
		sum := 0.0
		for _, w := range weights {
			if !(w >= 0 && w < 1) {
				t.Fatalf("%s: weight %v", g.Name(), w)
			}
			sum += w
		}
		// The mean of n uniform weights is within 5 standard deviations, 5/sqrt(12n), of a half.
		if n := float64(len(weights)); n > 0 && math.Abs(sum/n-0.5) > 5/math.Sqrt(12*n) {
			t.Errorf("%s: mean weight %v", g.Name(), sum/n)
		}
		slices.Sort(weights)
		if _, kronecker := g.(Kronecker); !kronecker &&
			len(slices.Compact(weights)) != len(tuples) {
			t.Errorf("%s: a weight comes twice", g.Name())
		}
	}
}

// stopper cancels a context after a number of blocks.
type stopper struct {
	Generator
	calls  *atomic.Int64
	after  int64
	cancel context.CancelFunc
}

func (s stopper) Fill(first int, b *edges.Block, weights bool) {
	if s.calls.Add(1) == s.after {
		s.cancel()
	}
	s.Generator.Fill(first, b, weights)
}

func TestCancel(t *testing.T) {
	g := Uniform{1 << 16, 16, 1} // 1024 blocks
	for size := 1; size <= 3; size++ {
		team := parallel.NewTeam(size, false)
		for _, after := range []int64{0, 1, 100} {
			ctx, cancel := context.WithCancel(t.Context())
			s := stopper{g, new(atomic.Int64), after, cancel}
			if after == 0 {
				cancel()
			}
			in, err := Input(ctx, s, Options{Team: team, Weights: edges.Float64})
			if in != nil || !errors.Is(err, context.Canceled) ||
				!strings.Contains(err.Error(), g.Name()) {
				t.Errorf("team of %d, cancelled at block %d: %v", size, after, err)
			}
			if calls := s.calls.Load(); calls > after+int64(size)*grain {
				t.Errorf("team of %d, cancelled at block %d: went on to %d", size, after, calls)
			}
			cancel()
		}
		team.Close()
	}
}

func TestProgress(t *testing.T) {
	g := Uniform{1 << 16, 16, 1}
	for size := 1; size <= 3; size++ {
		team := parallel.NewTeam(size, false)
		last, calls := int64(-1), 0
		in, err := Input(t.Context(), g, Options{Team: team, Progress: func(done, total int64) {
			if done <= last || done > total || total != int64(g.Edges()) {
				t.Errorf("team of %d: progress %d of %d after %d", size, done, total, last)
			}
			last = done
			calls++
		}})
		if err != nil {
			t.Fatal(err)
		}
		if last != int64(g.Edges()) || (size == 1 && calls != 64) {
			t.Errorf("team of %d: %d calls, the last with %d", size, calls, last)
		}
		in.Close()
		team.Close()
	}
}

func TestInputRefuses(t *testing.T) {
	for _, c := range []struct {
		g    Generator
		want string
	}{
		{Kronecker{0, 16, 2, 3}, "generator kronecker: scale is 0, want a whole number from 1 to 48"},
		{Kronecker{8, 0, 2, 3}, "generator kronecker: edgefactor is 0, want"},
		{Kronecker{33, 16, 2, 3}, "generator kronecker:scale=33,edgefactor=16,seed1=2,seed2=3: 8589934592 vertices are too many, at most 4293918720"},
		{Kronecker{32, 16, 2, 3}, "generator kronecker:scale=32,edgefactor=16,seed1=2,seed2=3: 4294967296 vertices are too many, at most 4293918720"},
		{RMAT{}, "generator rmat: scale is 0"},
		{RMAT{8, 16, 0.5, -0.5, 0.5, 1}, "generator rmat: b is -0.5, want a probability from 0 to 1"},
		{Uniform{1 << 32, 1 << 24, 1}, "72057594037927936 tuples need 512.0 PiB of memory"},
		{Uniform{1 << 33, 1, 1}, "too many"},
		{Grid{1 << 63, 2}, "rows is 9223372036854775808, want"},
		{Star{}, "vertices is 0, want"},
	} {
		in, err := Input(t.Context(), c.g, Options{})
		if in != nil || err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%#v: error %v", c.g, err)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v: error %q, want one with %q", c.g, err, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	g := Kronecker{20, 16, 2, 3} // 2^24 tuples of 5 bytes, and one more word
	for _, c := range []struct {
		weights   edges.Weights
		available int64
		want      string
	}{
		{edges.Unweighted, 80<<20 + 8, ""},
		{edges.Unweighted, 80<<20 + 7, "16777216 tuples need 80.0 MiB of memory, 80.0 MiB are available"},
		{edges.Float32, 144<<20 + 8, ""},
		{edges.Float32, 100 << 20, "need 144.0 MiB of memory, 100.0 MiB are"},
		{edges.Float64, 208<<20 + 8, ""},
		{edges.Float64, 200 << 10, "need 208.0 MiB of memory, 200.0 KiB are"},
		{edges.Float64, 0, ""},
	} {
		err := fits(g, c.weights, 0, c.available)
		if (err == nil) != (c.want == "") ||
			(err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v in %d bytes: %v, want %q", c.weights, c.available, err, c.want)
		}
	}
	if err := fits(g, edges.Unweighted, 21<<20, 100<<20); err == nil ||
		!strings.Contains(err.Error(), "101.0 MiB") {
		t.Errorf("error %v for the memory besides the list", err)
	}
	if err := fits(Uniform{1 << 32, 1 << 24, 1}, edges.Float64, 0, 0); err == nil {
		t.Error("2^56 tuples fit")
	}
}

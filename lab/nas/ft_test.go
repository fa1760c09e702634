package nas

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestFTFindsThePublishedChecksums: for numbers of ranks that divide the planes and others.
func TestFTFindsThePublishedChecksums(t *testing.T) {
	if testing.Short() {
		t.Skip("TestFTIsTheSumOfWaves has the same concurrency")
	}
	for _, ranks := range []int{1, 2, 5} {
		r, err := RunFT(t.Context(), classS(t), Place{Ranks: ranks})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Verified || r.Passed != 6 || r.Error > sumTolerance || r.Ranks != ranks || r.Mops <= 0 {
			t.Errorf("%d ranks: %+v", ranks, r)
		}
	}
}

// TestFTIsTheSumOfWaves compares small grids with the definition of the transform: each value is the
// sum over all waves, which decay by their squared frequency.
func TestFTIsTheSumOfWaves(t *testing.T) {
	size := FTSize{X: 4, Y: 2, Z: 8}
	n := size.X * size.Y * size.Z
	r, start := seed, make([]complex128, n)
	for i := range start {
		re := r.Next()
		start[i] = complex(re, r.Next())
	}
	square := func(i, n int) float64 { // of the frequency, between -n/2 and n/2
		if i >= n/2 {
			i -= n
		}
		return float64(i * i)
	}
	phase := func(a, b int) float64 { // of wave a at point b
		return 2 * math.Pi * (float64(a%4*(b%4))/4 + float64(a/4%2*(b/4%2))/2 + float64(a/8*(b/8))/8)
	}
	waves, after := make([]complex128, n), make([]complex128, n)
	for k := range n {
		for i, v := range start {
			waves[k] += v * cmplx.Rect(1, phase(k, i))
		}
		squares := square(k%4, 4) + square(k/4%2, 2) + square(k/8, 8)
		waves[k] *= complex(math.Exp(-4e-6*math.Pi*math.Pi*squares*2), 0) // two units of time
	}
	want := complex(0, 0)
	for i := range n {
		for k, v := range waves {
			after[i] += v * cmplx.Rect(1, -phase(k, i))
		}
	}
	for j := 1; j <= ftSums; j++ {
		want += after[j%4+4*(3*j%2)+8*(5*j%8)]
	}
	want /= complex(float64(n), 0)
	links := memlink.New(3, nil)
	var all sync.WaitGroup
	for rank := range 3 {
		all.Go(func() {
			got, err := twoSteps(t.Context(), size, links.Link(rank))
			if err != nil || cmplx.Abs(got-want) > 1e-10*cmplx.Abs(want) {
				t.Errorf("rank %d: %v, want %v: %v", rank, got, want, err)
			}
		})
	}
	all.Wait()
}

func twoSteps(ctx context.Context, size FTSize, link collective.Link) (complex128, error) {
	g, err := collective.NewGroup(link, nil, nil)
	if err != nil {
		return 0, err
	}
	t := NewTransformer(size, g)
	if err := t.Start(ctx); err != nil {
		return 0, err
	}
	if _, err := t.Step(ctx); err != nil {
		return 0, err
	}
	return t.Step(ctx)
}

// TestFourier compares the transform of random lines with the definition.
func TestFourier(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 64; n *= 2 {
		line, roots := make([]complex128, n), make([]complex128, n/2)
		for i := range line {
			line[i] = complex(rng.Float64(), rng.Float64())
		}
		for i := range roots {
			roots[i] = cmplx.Rect(1, 2*math.Pi*float64(i)/float64(n))
		}
		for _, inverse := range []bool{false, true} {
			sign := 2 * math.Pi / float64(n)
			if inverse {
				sign = -sign
			}
			want := make([]complex128, n)
			for k := range want {
				for i, x := range line {
					want[k] += x * cmplx.Rect(1, sign*float64(i*k))
				}
			}
			got := append([]complex128{}, line...)
			fourier(got, make([]complex128, n), roots, inverse)
			for k := range want {
				if cmplx.Abs(got[k]-want[k]) > 1e-11 {
					t.Errorf("%d numbers, inverse %v: %v, want %v", n, inverse, got, want)
					break
				}
			}
		}
	}
}

package collective

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/internal/wire"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// TestCalibrateFindsTheModel: calibration of a simulated link returns the parameters of the
// simulation, the same on all ranks.
func TestCalibrateFindsTheModel(t *testing.T) {
	far := Pair{Alpha: 1e-7, Beta: 5e-3, Gap: 2e-5}
	for _, sites := range [][]int{{0}, {0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 1}, {3, 3, 1, 1, 2, 2}, {0, 1}} {
		t.Run(fmt.Sprint(sites), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := TwoLevel(sites, Pair{Alpha: 1e-8, Beta: 4e-5, Gap: 1e-5}, far)
				memory := memlink.New(len(sites), costs(want))
				models := make([]*Model, len(sites))
				together(t, memory, nil, func(g *Group) error {
					var err error
					models[g.link.Rank()], err = Calibrate(t.Context(), g.link,
						Calibration{Sites: sites, Repeat: 3})
					return err
				})
				for _, m := range models {
					if !reflect.DeepEqual(m, models[0]) {
						t.Fatal("ranks have different models")
					}
				}
				for from := range sites {
					for to := range sites {
						got, want := models[0].Pair(from, to), want.Pair(from, to)
						if from != to && !(near(got.Alpha, want.Alpha, .01) &&
							near(got.Beta, want.Beta, .01) && near(got.Gap, want.Gap, .1)) {
							t.Errorf("%d to %d: %v, want %v", from, to, got, want)
						}
					}
				}
				if len(sites) > 4 && sites[0] != sites[1] &&
					!near(models[0].Trunk, far.Alpha, .05) {
					t.Errorf("trunk %g, want %g", models[0].Trunk, far.Alpha)
				}
			})
		})
	}
}

func TestFit(t *testing.T) {
	const alpha, beta = 2e-9, 25e-6
	rng := rand.New(rand.NewPCG(7, 7))
	make := func(noise float64, outliers int) []Sample {
		var samples []Sample
		for _, n := range []int{0, 64, 1 << 10, 16 << 10, 128 << 10, 1 << 20} {
			for i := range 10 {
				s := Sample{n, (alpha*float64(n) + beta) * (1 + noise*(2*rng.Float64()-1))}
				if i < outliers {
					s.Seconds *= 5 + 20*rng.Float64()
				}
				samples = append(samples, s)
			}
		}
		return samples
	}
	for _, c := range []struct {
		name      string
		samples   []Sample
		tolerance float64
	}{
		{"exact", make(0, 0), 1e-9},
		{"noisy", make(.1, 0), .06},
		{"three of ten are outliers", make(.05, 3), .06},
	} {
		if a, b := Fit(c.samples); !near(a, alpha, c.tolerance) || !near(b, beta, c.tolerance) {
			t.Errorf("%s: %g, %g, want %g, %g", c.name, a, b, alpha, beta)
		}
	}
	for _, c := range []struct {
		name        string
		samples     []Sample
		alpha, beta float64
	}{
		{"nothing", nil, 0, 0},
		{"no times", []Sample{{8, 0}, {9, math.NaN()}, {9, math.Inf(1)}, {-1, 1}}, 0, 0},
		{"one size", []Sample{{8, 2e-6}, {8, 2e-6}}, 0, 2e-6},
		{"falling", []Sample{{0, 3}, {1000, 3}, {2000, 2.9}}, 0, 2.966},
		{"through the origin or below", []Sample{{1, 1}, {2, 2}, {10, 11}, {20, 23}}, 1.08, 0},
	} {
		if a, b := Fit(c.samples); math.Abs(a-c.alpha) > .05*c.alpha ||
			math.Abs(b-c.beta) > .05*c.beta {
			t.Errorf("%s: %g, %g, want %g, %g", c.name, a, b, c.alpha, c.beta)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("%v: %g, want %g", c.values, got, c.want)
		}
	}
}

// FuzzModel: the rows of other ranks make a valid model, or an error.
func FuzzModel(f *testing.F) {
	row := wire.Bytes([]Pair{{}, {1, 2, 3}, {Alpha: 4, Beta: 5}})
	f.Add(row, wire.Bytes([]Pair{{Alpha: -1}, {}, {Alpha: 6, Beta: 7}}))
	f.Add(row, []byte{})
	f.Add(row, row[:50])
	f.Add(row, append(row[:len(row):len(row)], 1))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := &calibrator{g: Alone()}
		c.g.model = Uniform(2, Unmeasured)
		m, err := c.model([][]byte{first, second})
		if err != nil {
			return
		}
		if len(first) != 24*3 || len(second) != 24*3 || m.Ranks != 2 || m.validate() != nil {
			t.Fatalf("%x and %x made %+v", first, second, m)
		}
		row, other := wire.Slice[Pair](first), wire.Slice[Pair](second)
		if m.Pair(0, 1) != row[1] || m.Pair(1, 0) != row[1] || m.Pair(0, 0) != (Pair{}) ||
			m.Gamma != row[2].Beta || m.Trunk != max(row[2].Alpha, other[2].Alpha, 0) {
			t.Fatalf("%v and %v made %+v", row, other, m)
		}
	})
}

func BenchmarkCollectives(b *testing.B) {
	for _, c := range Collectives {
		for _, a := range Algorithms(c) {
			b.Run(fmt.Sprintf("%s/%s", c, a), func(b *testing.B) {
				const p = 4
				n := b.N // not Loop: all ranks must run the same number
				together(b, memlink.New(p, nil), nil, func(g *Group) error {
					for range n {
						if err := call(b.Context(), g, c,
							Call{Algorithm: a, Bytes: 8}); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, p := range []int{4, 16, 64} {
		for _, c := range []Collective{Broadcast, Allreduce, Alltoall} {
			b.Run(fmt.Sprintf("%s/P=%d", c, p), func(b *testing.B) {
				m := TwoLevel(blocksOf(p, 2), Unmeasured, slow)
				for b.Loop() {
					if _, _, err := m.Choose(c, 4096, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

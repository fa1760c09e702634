package collective

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/internal/wire"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// TestCalibrateFindsTheModel: calibration of a simulated link returns the parameters of the
// simulation, the same on all ranks.
func TestCalibrateFindsTheModel(t *testing.T) {
	far := Pair{Alpha: 1e-7, Beta: 5e-3, Gap: 2e-5}
	for _, sites := range [][]int{{0}, {0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 1}, {3, 3, 1, 1, 2, 2}, {0, 1}} {
		if testing.Short() && (len(sites) > 5 || len(sites) == 5 && sites[1] == 0) {
			continue
		}
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
	make := func(noise float64) []Sample {
		var samples []Sample
		for _, n := range []int{0, 64, 1 << 10, 16 << 10, 128 << 10, 1 << 20} {
			for range 10 {
				s := Sample{n, (alpha*float64(n) + beta) * (1 + noise*(2*rng.Float64()-1))}
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
		{"exact", make(0), 1e-9},
		{"noisy", make(.1), .06},
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

// steps is a link on which larger messages wait for confirmations, as TCP's do.
type steps struct{ memlink.Link }

func (l steps) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
	data, err := l.Link.Receive(ctx, from, tag)
	return data, cmp.Or(err, parallel.Sleep(ctx, wait(len(data))))
}

// wait is the additional time of a message of n bytes.
func wait(n int) time.Duration {
	switch {
	case n <= 12<<10:
		return 0
	case n <= 60<<10:
		return 2 * time.Millisecond
	}
	return 4 * time.Millisecond
}

// TestClassesOfSizes: on a link whose time has steps, which one line misses by a third, the time of
// a message is predicted within 15 % from 4 KiB on, except beside a step.
func TestClassesOfSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := Uniform(2, Pair{Alpha: 1e-8, Beta: 1e-3, Gap: 1e-5})
		memory := memlink.New(2, costs(want))
		models := make([]*Model, 2)
		together(t, memory, nil, func(g *Group) (err error) {
			link := steps{memory.Link(g.link.Rank())}
			models[link.Rank()], err = Calibrate(t.Context(), link, Calibration{Repeat: 3})
			return err
		})
		worst, p := 0.0, models[0].Pair(0, 1)
		for _, n := range []int{4 << 10, 16 << 10, 24 << 10, 64 << 10, 100 << 10, 512 << 10, 1 << 20, 4 << 20} {
			took := want.Pair(0, 1).Time(float64(n)) + wait(n).Seconds()
			if got := p.Time(float64(n)); !near(got, took, .15) {
				t.Errorf("%d bytes: predicted %g s, expected %g", n, got, took)
			}
			worst = max(worst, math.Abs(p.Alpha*float64(n)+p.Beta-took)/took)
		}
		if worst < .3 {
			t.Errorf("one line is off by %.0f %%: the test tests nothing", 100*worst)
		}
	})
}

// TestParts: a line, classes, and sizes that were not measured.
func TestParts(t *testing.T) {
	line := Pair{Alpha: 2, Beta: 100}
	classes := line
	classes.Times = [len(Classes)]float32{90, 90 + 2048, 5000}
	for _, c := range []struct {
		pair             Pair
		n, latency, body float64
	}{
		{line, 0, 100, 0},
		{line, 50, 100, 100},
		{classes, 0, 90, 0},
		{classes, 1024, 100, 2038},
		{classes, 4096, 1184, 3816},
		{classes, 8192, 904, 8192},
	} {
		latency, body := c.pair.Parts(c.n)
		if !(math.Abs(latency-c.latency) < 1e-3 && math.Abs(body-c.body) < 1e-3) {
			t.Errorf("%v bytes: found %v and %v, expected %v and %v", c.n, latency, body, c.latency,
				c.body)
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
	row := wire.Bytes([]Pair{{}, {Alpha: 1, Beta: 2, Gap: 3}, {Alpha: 4, Beta: 5}})
	size := len(row) / 3
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
		if len(first) != size*3 || len(second) != size*3 || m.Ranks != 2 || m.validate() != nil {
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

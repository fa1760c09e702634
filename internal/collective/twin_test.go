package collective

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// together runs f as every rank of a link without costs, and fails on the first error.
func together(t testing.TB, m *memlink.Memory, model *Model, f func(g *Group) error) {
	t.Helper()
	var group sync.WaitGroup
	errs := make([]error, m.Size())
	for rank := range m.Size() {
		group.Go(func() {
			g, err := NewGroup(m.Link(rank), model, nil)
			if err == nil {
				err = f(g)
			}
			errs[rank] = err
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TwoLevel returns a model of ranks at sites: one pair inside a site, one between sites. All pairs
// between sites share the trunk.
func TwoLevel(sites []int, inside, between Pair) *Model {
	m := &Model{Ranks: len(sites), Sites: sites, Trunk: between.Alpha}
	for i := range sites {
		for j := range sites {
			if sites[i] == sites[j] {
				m.Pairs = append(m.Pairs, inside)
			} else {
				m.Pairs = append(m.Pairs, between)
			}
		}
	}
	return m
}

// costs returns the costs of a model for a simulated link.
func costs(m *Model) func(from, to int) memlink.Cost {
	return func(from, to int) memlink.Cost {
		p := m.Pair(from, to)
		c := memlink.Cost{Alpha: p.Alpha, Beta: p.Beta, Gap: p.Gap, Sites: [2]int{m.site(from), m.site(to)}}
		if c.Sites[0] != c.Sites[1] {
			c.Trunk = m.Trunk
		}
		return c
	}
}

// noise has random bytes.
var noise = sync.OnceValue(func() []byte {
	data := make([]byte, 1<<17)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
})

// content returns n bytes that identify a pair of ranks.
func content(from, to, n int) []byte {
	at := 13 * (64*from + to)
	return slices.Clone(noise()[at : at+n])
}

// kase is a test case for every algorithm of every collective.
type kase struct {
	ranks int
	sites []int
	root  int
	sizes []int // indexed by rank, or for alltoall by from*ranks+to
}

func (k kase) String() string {
	return fmt.Sprintf("P=%d sites=%v root=%d sizes=%v", k.ranks, k.sites, k.root,
		k.sizes[:k.ranks])
}

func cases(t *testing.T) []kase {
	seed := uint64(20260101)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var list []kase
	for _, p := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16} {
		scattered := make([]int, p)
		for i := range scattered {
			scattered[i] = rng.IntN(3)
		}
		blocks := make([]int, p)
		for i := range blocks {
			blocks[i] = i * 2 / p
		}
		for _, sites := range [][]int{nil, blocks, scattered} {
			for _, most := range []int{0, 40, 3000} {
				k := kase{p, sites, rng.IntN(p), make([]int, p*p)}
				for i := range k.sizes {
					k.sizes[i] = rng.IntN(most + 1)
				}
				list = append(list, k)
			}
		}
	}
	return list
}

func (k kase) model() *Model {
	m := Uniform(k.ranks, Pair{Alpha: 1e-8, Beta: 1e-5, Gap: 1e-6})
	m.Sites = k.sites
	return m
}

// twins are simple checks of the collectives' results.
var twins = map[Collective]func(t *testing.T, k kase, g *Group, call Call) error{
	Barrier: func(_ *testing.T, _ kase, g *Group, call Call) error { return g.Barrier(context.Background(), call) },
	Broadcast: func(t *testing.T, k kase, g *Group, call Call) error {
		want := content(k.root, k.root, k.sizes[k.root])
		data := content(g.link.Rank(), k.root, k.sizes[g.link.Rank()])
		got, err := g.Broadcast(t.Context(), call, k.root, data)
		return differs(err, [][]byte{got}, [][]byte{want})
	},
	GatherTo: func(t *testing.T, k kase, g *Group, call Call) error {
		r := g.link.Rank()
		got, err := g.Gather(t.Context(), call, k.root, content(r, r, k.sizes[r]))
		if r != k.root {
			return differs(err, got, nil)
		}
		return differs(err, got, everybodys(k))
	},
	Reduce: func(t *testing.T, k kase, g *Group, call Call) error {
		data := numbersOf(k, g.link.Rank())
		err := g.Reduce(t.Context(), call, k.root, data, SumUint64)
		if g.link.Rank() != k.root {
			return err
		}
		return differs(err, [][]byte{data}, [][]byte{sum(k)})
	},
	Allgather: func(t *testing.T, k kase, g *Group, call Call) error {
		r := g.link.Rank()
		got, err := g.Allgather(t.Context(), call, content(r, r, k.sizes[r]))
		return differs(err, got, everybodys(k))
	},
	Allreduce: func(t *testing.T, k kase, g *Group, call Call) error {
		data := numbersOf(k, g.link.Rank())
		err := g.Allreduce(t.Context(), call, data, SumUint64)
		return differs(err, [][]byte{data}, [][]byte{sum(k)})
	},
	Alltoall: func(t *testing.T, k kase, g *Group, call Call) error {
		r := g.link.Rank()
		var data, want [][]byte
		for i := range k.ranks {
			data = append(data, content(r, i, k.sizes[r*k.ranks+i]))
			want = append(want, content(i, r, k.sizes[i*k.ranks+r]))
		}
		got, err := g.Alltoall(t.Context(), call, data)
		return differs(err, got, want)
	},
}

func everybodys(k kase) [][]byte {
	var all [][]byte
	for i := range k.ranks {
		all = append(all, content(i, i, k.sizes[i]))
	}
	return all
}

// numbersOf returns a rank's elements. All ranks have the same number.
func numbersOf(k kase, rank int) []byte {
	return content(rank, rank, k.sizes[0]/8*8)
}

func sum(k kase) []byte {
	total := make([]byte, k.sizes[0]/8*8)
	for rank := range k.ranks {
		data := numbersOf(k, rank)
		for i := 0; i < len(total); i += 8 {
			x := binary.LittleEndian.Uint64(total[i:]) + binary.LittleEndian.Uint64(data[i:])
			binary.LittleEndian.PutUint64(total[i:], x)
		}
	}
	return total
}

func differs(err error, got, want [][]byte) error {
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("got %d blocks, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Errorf("block %d: got %d bytes, want %d, or others", i, len(got[i]),
				len(want[i]))
		}
	}
	return nil
}

// soak tells whether the tests run in make soak, with all cases.
var soak = os.Getenv("SUPERSTEP_SOAK") != ""

func TestEveryAlgorithmAgainstItsTwin(t *testing.T) {
	list := cases(t)
	for i, c := range Collectives {
		for j, a := range append(Algorithms(c), Auto) {
			t.Run(fmt.Sprintf("%s/%s", c, a), func(t *testing.T) {
				for n, k := range list {
					// a half of them, and a fourth under the race detector, others for each algorithm
					if k := (n + n/4 + i + j) % 4; k > 1 && !soak || k > 0 && testing.Short() {
						continue
					}
					together(t, memlink.New(k.ranks, nil), k.model(), func(g *Group) error {
						if err := twins[c](t, k, g, Call{Tag: 3, Algorithm: a}); err != nil {
							return fmt.Errorf("%v: rank %d: %w", k, g.link.Rank(), err)
						}
						return nil
					})
				}
			})
		}
	}
}

// TestTagsAreIndependent runs all collectives concurrently, each several times.
func TestTagsAreIndependent(t *testing.T) {
	list := cases(t)
	k := list[len(list)-5] // 16 ranks, two sites, 40 bytes
	m := memlink.New(k.ranks, nil)
	together(t, m, k.model(), func(g *Group) error {
		var group sync.WaitGroup
		errs := make([]error, len(Collectives)*3)
		for i := range errs {
			group.Go(func() {
				for range 3 {
					c := Collectives[i%len(Collectives)]
					errs[i] = errors.Join(errs[i], twins[c](t, k, g, Call{Tag: uint32(i)}))
				}
			})
		}
		group.Wait()
		return errors.Join(errs...)
	})
	for rank := range m.Size() {
		if n := m.Left(rank); n > 0 {
			t.Errorf("rank %d: %d queues are left", rank, n)
		}
	}
}

// TestFloatsEndWithTheSameBits: a sum of floats has the same bits on all ranks, because ranks base
// decisions on it.
func TestFloatsEndWithTheSameBits(t *testing.T) {
	for _, a := range Algorithms(Allreduce) {
		for _, p := range []int{3, 6, 8, 13} {
			results := make([][]byte, p)
			together(t, memlink.New(p, nil), TwoLevel(blocksOf(p, 3), Unmeasured, Unmeasured),
				func(g *Group) error {
					rng := rand.New(rand.NewPCG(uint64(g.link.Rank()), 1))
					var data []byte
					for range 50 {
						data = binary.LittleEndian.AppendUint64(data,
							math.Float64bits(rng.NormFloat64()))
					}
					results[g.link.Rank()] = data
					return g.Allreduce(t.Context(), Call{Algorithm: a}, data, SumFloat64)
				})
			for rank, r := range results {
				if !slices.Equal(r, results[0]) {
					t.Errorf("%s, P=%d: rank %d has other bits than rank 0", a, p, rank)
				}
			}
		}
	}
}

// blocksOf assigns p ranks to n sites in consecutive blocks.
func blocksOf(p, n int) []int {
	sites := make([]int, p)
	for i := range sites {
		sites[i] = i * n / p
	}
	return sites
}

func TestOperators(t *testing.T) {
	word := func(x uint64) []byte { return binary.LittleEndian.AppendUint64(nil, x) }
	float := func(x float64) []byte { return word(math.Float64bits(x)) }
	for _, c := range []struct {
		name       string
		op         Op
		a, b, want []byte
	}{
		{"sum", SumUint64, word(5), word(7), word(12)},
		{"min", MinUint64, word(5), word(7), word(5)},
		{"max", MaxUint64, word(5), word(7), word(7)},
		{"sum of floats", SumFloat64, float(.5), float(-2), float(-1.5)},
		{"min of floats", MinFloat64, float(.5), float(-2), float(-2)},
		{"max of floats", MaxFloat64, float(.5), float(-2), float(.5)},
	} {
		got := slices.Clone(c.a)
		c.op.Combine(got, c.b)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s: got %x, want %x", c.name, got, c.want)
		}
	}
}

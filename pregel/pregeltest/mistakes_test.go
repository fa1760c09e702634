package pregeltest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// acting is a program given by functions.
type acting[V, M any] struct {
	combiner pregel.Combiner[M]
	compute  func(v *pregel.Vertex[V, M], m M)
}

func (p acting[V, M]) Combiner() pregel.Combiner[M]        { return p.combiner }
func (p acting[V, M]) Compute(v *pregel.Vertex[V, M], m M) { p.compute(v, m) }

// listing is a list program given by a function.
type listing[V, M any] func(v *pregel.Vertex[V, M], msgs []M)

func (p listing[V, M]) Compute(v *pregel.Vertex[V, M], msgs []M) { p(v, msgs) }

// counting is a wrong program: its vertices share a counter.
type counting struct{ seen int }

func (*counting) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }

func (p *counting) Compute(v *pregel.Vertex[int, int], _ int) {
	p.seen++
	v.VoteToHalt()
}

// longest is a combiner that keeps the longer slice.
func longest() pregel.Combiner[[]byte] {
	return combiners.Func(nil, func(a, b []byte) []byte {
		if len(a) > len(b) || len(a) == len(b) && bytes.Compare(a, b) >= 0 {
			return a
		}
		return b
	})
}

// TestMatrixFindsTenMistakes: Matrix finds the most common mistakes in programs.
func TestMatrixFindsTenMistakes(t *testing.T) {
	changed := "was changed in superstep "
	differs := "the value of vertex "
	g := Graph(t, "0>5 1>5 2>5 3>5 4>5 0>6 1>6 2>6 5>7 6>7 7>0 7>1 7>2 7>3")
	run := func(name, want string, f func(tb testing.TB)) {
		t.Run(name, func(t *testing.T) { wantFailure(t, want, f) })
	}
	compute := func(c pregel.Combiner[[]byte],
		f func(v *pregel.Vertex[[]byte, []byte], m []byte),
	) func(tb testing.TB) {
		return func(tb testing.TB) { Matrix(tb, g, acting[[]byte, []byte]{c, f}) }
	}
	run("a slice changed after it was sent",
		"was changed in superstep 0, after it was sent: from [5] to [255]", func(tb testing.TB) {
			Matrix(tb, Graph(t, "5>7"), acting[[]byte,
				[]byte]{longest(), func(v *pregel.Vertex[[]byte, []byte], m []byte) {
				b := []byte{byte(v.Label())}
				v.SendToAllNeighbors(b)
				b[0] = 255
				v.VoteToHalt()
			}})
		})
	run("a field changed by Coordinate", "Coordinate changed the program's field taken",
		func(tb testing.TB) { Matrix(tb, g, &stepping{}) })
	adding := combiners.Func(nil, func(a, b []byte) []byte {
		if len(a) == 0 {
			return b
		}
		for i := range b {
			a[i] += b[i]
		}
		return a
	})
	run("a combiner that changes its arguments", changed,
		compute(adding, func(v *pregel.Vertex[[]byte, []byte], m []byte) {
			if v.Set(slices.Clone(m)); v.Superstep() == 0 {
				v.SendToAllNeighbors([]byte{1})
			}
			v.VoteToHalt()
		}))
	run("messages kept after the call", differs, func(tb testing.TB) {
		Matrix(tb, g, pregel.List(listing[[]uint64, uint64](func(v *pregel.Vertex[[]uint64, uint64],
			msgs []uint64,
		) {
			if v.Superstep() == 0 {
				v.SendToAllNeighbors(v.Label() + 1)
			} else {
				slices.Sort(msgs)
				v.Set(msgs)
			}
			v.VoteToHalt()
		})))
	})
	run("the order of a map", differs, func(tb testing.TB) {
		Matrix(tb, g,
			acting[uint64, int]{combiners.Sum[int](), func(v *pregel.Vertex[uint64, int], _ int) {
				neighbours := map[uint64]bool{}
				for e := range v.Edges() {
					neighbours[v.Label()*8+uint64(e.To)] = true
				}
				for n := range neighbours {
					v.Set(v.Value()*31 + n)
				}
				v.VoteToHalt()
			}})
	})
	run("state that vertices share", "vertices changed the program's field seen in superstep 0, from 0 to 8", func(tb testing.TB) { Matrix(tb, g, &counting{}) })
	run("random numbers of one's own", differs, func(tb testing.TB) {
		Matrix(tb, g,
			acting[int, int]{combiners.Sum[int](), func(v *pregel.Vertex[int, int], _ int) {
				v.Set(rand.IntN(100))
				v.VoteToHalt()
			}})
	})
	for name, f := range map[string]func(a, b int64) int64{
		"a combiner that is not commutative": func(a, b int64) int64 { return a*3 + b*2 },
		"a combiner that is not associative": func(a, b int64) int64 { return (a + b) / 2 },
	} {
		run(name, differs, func(tb testing.TB) {
			Matrix(tb, g, acting[int64,
				int64]{combiners.Func(0, f), func(v *pregel.Vertex[int64, int64], m int64) {
				if v.Set(m); v.Superstep() == 0 {
					v.SendToAllNeighbors(1 << v.Label())
				}
				v.VoteToHalt()
			}})
		})
	}
	for name, own := range map[string]bool{"a sent value": true, "a received value": false} {
		run(name+" that shares memory with a message", changed,
			compute(longest(), func(v *pregel.Vertex[[]byte, []byte], m []byte) {
				switch v.Superstep() {
				case 0:
					b := []byte{byte(v.Label()), 0}
					if v.SendToAllNeighbors(b); own {
						v.Set(b)
					}
				case 1:
					if !own {
						v.Set(m)
					}
				case 4:
					if len(v.Value()) > 0 {
						v.Value()[0]++
					}
					v.VoteToHalt()
				}
			}))
	}
}

// TestCheckCombinerSame checks a union that treats nil and the empty slice as equal.
func TestCheckCombinerSame(t *testing.T) {
	union := combiners.Func([]int{}, func(a, b []int) []int {
		all := append(slices.Clone(a), b...)
		slices.Sort(all)
		return slices.Compact(all)
	})
	values := [][]int{nil, {}, {1}, {2, 5}, {1, 2}}
	CheckCombinerSame(t, union, slices.Equal[[]int], values...)
	wantFailure(t, "Combine([], []) is []",
		func(t testing.TB) { CheckCombiner(t, union, values...) })
}

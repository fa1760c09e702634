package verify

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms/reference"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/parallel"
)

// number is the type of most results.
type number interface{ ~int64 | ~float64 | ~uint64 }

// mistake is a way to corrupt a result.
type mistake[T number] struct {
	name string
	make func(rng *rand.Rand, r reference.Graph, x []T)
}

// one is a mistake in the value of one vertex.
func one[T number](name string, f func(x T) T) mistake[T] {
	return mistake[T]{name, func(rng *rand.Rand, _ reference.Graph, x []T) {
		v := rng.IntN(len(x))
		x[v] = f(x[v])
	}}
}

// mistakes returns the mistakes for all types of results.
func mistakes[T number]() []mistake[T] {
	return []mistake[T]{
		one("one too many", func(x T) T { return x + 1 }),
		one("one too few", func(x T) T { return x - 1 }),
		one("counted twice", func(x T) T { return 2 * x }),
		one("lost", func(T) T { return 0 }),
		one("a half", func(x T) T { return x / 2 }),
		{"the value of another vertex", func(rng *rand.Rand, _ reference.Graph, x []T) { x[rng.IntN(len(x))] = x[rng.IntN(len(x))] }},
		{"two vertices exchanged", func(rng *rand.Rand, _ reference.Graph, x []T) {
			u, v := rng.IntN(len(x)), rng.IntN(len(x))
			x[u], x[v] = x[v], x[u]
		}},
		{"all shifted by one", func(_ *rand.Rand, _ reference.Graph, x []T) { copy(x, append(slices.Clone(x[1:]), x[0])) }},
		{"the value of a neighbour", func(rng *rand.Rand, r reference.Graph, x []T) {
			if len(r.Arcs) > 0 {
				a := r.Arcs[rng.IntN(len(r.Arcs))]
				x[a[0]] = x[a[1]]
			}
		}},
		{"all alike", func(_ *rand.Rand, _ reference.Graph, x []T) {
			for v := range x {
				x[v] = x[0]
			}
		}},
		{"the initial values", func(_ *rand.Rand, _ reference.Graph, x []T) { clear(x) }},
	}
}

// floats returns the mistakes for floats.
func floats() []mistake[float64] {
	return append(mistakes[float64](),
		one("no number", func(float64) float64 { return math.NaN() }),
		one("infinite", func(float64) float64 { return math.Inf(1) }),
		one("negative", func(x float64) float64 { return -x }),
		one("rounded as 32 bits", func(x float64) float64 {
			return float64(float32(x))
		}),
		one("a little more", func(x float64) float64 { return x * (1 + 1e-6) }))
}

// wholes returns the mistakes for integers.
func wholes() []mistake[int64] {
	return append(mistakes[int64](),
		one("2^63 more", func(x int64) int64 { return x + math.MinInt64 }),
		one("negative", func(x int64) int64 { return -x }),
		one("truncated to 32 bits", func(x int64) int64 { return x + 1<<32 }))
}

// verdict counts a certificate's decisions: accepted results, and rejected ones by mistake.
type verdict struct {
	rejected map[string]int
	accepted int
}

// rejects applies each mistake. The certificate must reject the result if it has changed, unless
// right reports that it is still right.
func rejects[T number](t *testing.T, all map[string]*verdict, what string, rng *rand.Rand, r reference.Graph, x []T,
	check func(x []T) error, list []mistake[T], right func(x []T) bool,
) {
	t.Helper()
	d := all[what]
	if d == nil {
		d = &verdict{rejected: map[string]int{}}
		all[what] = d
	}
	if err := check(slices.Clone(x)); err != nil {
		t.Fatalf("%s: a right result is rejected: %v: %v of %+v", what, err, x, r)
	}
	d.accepted++
	for _, m := range list {
		y := slices.Clone(x)
		if m.make(rng, r, y); reflect.DeepEqual(x, y) || what != "sssp" && roundedAlike(x, y) ||
			right != nil && right(y) {
			continue
		}
		if err := check(y); !errors.As(err, new(*Violation)) {
			t.Fatalf("%s, %s: got %v for %v instead of %v, of %+v", what, m.name, err, y, x, r)
		}
		d.rejected[m.name]++
	}
}

// roundedAlike reports whether floats differ at most by rounding.
func roundedAlike(x, y any) bool {
	a, ok := x.([]float64)
	b, _ := y.([]float64)
	for v := range a {
		ok = ok && math.Abs(a[v]-b[v]) <= 1e-8*a[v]
	}
	return ok
}

// representativesOf returns the representative of each vertex's component.
func representativesOf(r reference.Graph, components []int) []uint64 {
	out, in := reference.Degrees(r)
	best := map[int]int{}
	for v, c := range components {
		degree := func(v int) int64 {
			if r.Directed {
				return int64(out[v]) + int64(in[v])
			}
			return int64(out[v])
		}
		if u, ok := best[c]; !ok || degree(v) > degree(u) {
			best[c] = v
		}
	}
	names := make([]uint64, len(components))
	for v, c := range components {
		names[v] = uint64(best[c])
	}
	return names
}

// TestWrongResults applies mistakes that programs could make to results on random graphs. Each
// certificate rejects them all and accepts right results.
func TestWrongResults(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	all, graphs := map[string]*verdict{}, 100
	if os.Getenv("SUPERSTEP_SOAK") != "" {
		graphs = 3000
	}
	for seed := range uint64(graphs) {
		rng := rand.New(rand.NewPCG(seed, 45))
		r, g, list := sample(rng, team)
		source, k := rng.IntN(r.N), 1+rng.IntN(6)
		exact := floats()

		level := reference.BFSLevels(r, source)
		rejects(t, all, "bfs, levels", rng, r, level,
			func(x []int64) error { return Levels(g, source, x) }, wholes(), nil)
		rejects(t, all, "bfs, parents", rng, r, parents(rng, r, source, level),
			func(x []int64) error { return BFS(g, source, x) }, wholes(),
			func(x []int64) bool { return treeIsRight(r, source, level, x) })
		rejects(t, all, "sssp", rng, r, reference.SSSP(r, source),
			func(x []float64) error { return SSSP(g, source, x) },
			append(floats(),
				one("an ulp more", func(x float64) float64 { return math.Nextafter(x, 9) }),
				one("an ulp less", func(x float64) float64 { return math.Nextafter(x, 0) })), nil)
		out, in := reference.Degrees(r)
		degrees := func(pick int) func(x []int64) error {
			return func(x []int64) error {
				all := make([][3]int64, r.N)
				for v := range all {
					all[v] = [3]int64{int64(out[v]), int64(in[v]), int64(out[v])}
					if r.Directed {
						all[v][2] += int64(in[v])
					}
					all[v][pick] = x[v]
				}
				return Degrees(g, all)
			}
		}
		leaving := make([]int64, r.N)
		for v := range leaving {
			leaving[v] = int64(out[v])
		}
		rejects(t, all, "degrees", rng, r, leaving, degrees(0), wholes(), nil)

		ids := append(mistakes[uint64](),
			one("the next vertex", func(x uint64) uint64 { return (x + 1) % uint64(r.N) }),
			mistake[uint64]{"another member", func(rng *rand.Rand, _ reference.Graph, x []uint64) {
				v := uint64(rng.IntN(r.N))
				for u, old := range slices.Clone(x) {
					if old == x[v] {
						x[u] = v
					}
				}
			}})
		rejects(t, all, "wcc", rng, r, representativesOf(r, reference.WCC(r)),
			func(x []uint64) error { return WCC(g, x) }, ids, nil)
		rejects(t, all, "scc", rng, r, representativesOf(r, reference.SCC(r)),
			func(x []uint64) error { return SCC(g, x) }, ids, nil)
		labels := func(k int) []uint64 {
			x := make([]uint64, r.N)
			for v, l := range reference.CDLP(r, k) {
				x[v] = uint64(l)
			}
			return x
		}
		rejects(t, all, "cdlp", rng, r, labels(k),
			func(x []uint64) error { return CDLP(g, k, x) }, append(ids,
				mistake[uint64]{"an iteration too few", func(_ *rand.Rand, _ reference.Graph, x []uint64) { copy(x, labels(k-1)) }}), nil)
		rejects(t, all, "lcc", rng, r, reference.LCC(r),
			func(x []float64) error { return LCC(g, x) }, exact, nil)
		rejects(t, all, "triangles", rng, r, reference.Triangles(r),
			func(x []int64) error { return Triangles(g, x) }, wholes(), nil)
		cores, least := reference.Cores(r), 1+rng.Int64N(3)
		rejects(t, all, "kcore", rng, r, cores,
			func(x []int64) error { return KCore(g, x) }, wholes(), nil)
		rejects(t, all, "kcore, one core", rng, r, inCore(g, least, cores),
			func(x []int64) error { return InCore(g, least, x) }, wholes(), nil)

		stale := func(ranks func(k int) []float64) []mistake[float64] {
			near := func(x, y []float64) bool {
				for v := range x {
					if math.Abs(x[v]-y[v]) > 1e-6*y[v] {
						return false
					}
				}
				return true
			}
			was := func(k int) func(_ *rand.Rand, _ reference.Graph, x []float64) {
				return func(_ *rand.Rand, _ reference.Graph, x []float64) {
					if y := ranks(k); !near(y, x) {
						copy(x, y)
					}
				}
			}
			return append(floats(), mistake[float64]{"the start", was(0)},
				mistake[float64]{"an iteration too few", was(k - 1)},
				mistake[float64]{"an iteration too many", was(k + 1)})
		}
		rank := func(k int) []float64 { return reference.PageRank(r, 0.85, k) }
		rejects(t, all, "pagerank", rng, r, rank(k),
			func(x []float64) error { return Ranks(g, 0.85, k, 0, x) }, stale(rank), nil)
		sure := func(k int) []float64 { return reference.PageRank(r, 1, k) }
		rejects(t, all, "pagerank, damping 1", rng, r, sure(k),
			func(x []float64) error { return Ranks(g, 1, k, 0, x) }, stale(sure), nil)
		personal := func(k int) []float64 { return reference.PageRank(r, 0.85, k, source) }
		rejects(t, all, "pagerank, a source", rng, r, personal(k), func(x []float64) error { return Ranks(g, 0.85, k, 0, x, source) }, stale(personal), nil)
		score := func(k int) []float64 { return reference.Eigenvector(r, k) }
		rejects(t, all, "eigenvector", rng, r, score(k),
			func(x []float64) error { return Eigenvector(g, k, 0, x) }, stale(score), nil)
		hub, authority := reference.HITS(r, k)
		hubs := func(k int) []float64 { h, _ := reference.HITS(r, k); return h }
		authorities := func(k int) []float64 { _, a := reference.HITS(r, k); return a }
		rejects(t, all, "hits, hubs", rng, r, hub,
			func(x []float64) error { return HITS(g, 2*k, 0, x, authority) }, stale(hubs), nil)
		rejects(t, all, "hits, authorities", rng, r, authority,
			func(x []float64) error { return HITS(g, 2*k, 0, hub, x) }, stale(authorities), nil)

		reached, harmonic := reference.HyperBall(r)
		rejects(t, all, "hyperball, reached", rng, r, reached,
			func(x []float64) error { return HyperBall(g, x, harmonic) }, exact, nil)
		rejects(t, all, "hyperball, harmonic", rng, r, harmonic,
			func(x []float64) error { return HyperBall(g, reached, x) }, exact, nil)
		sources := Sample(g, k)
		near, inverse := reference.Closeness(r, sources)
		rejects(t, all, "closeness", rng, r, near,
			func(x []float64) error { return Closeness(g, sources, x, inverse) }, exact, nil)
		rejects(t, all, "closeness, harmonic", rng, r, inverse,
			func(x []float64) error { return Closeness(g, sources, near, x) }, exact, nil)
		rejects(t, all, "betweenness", rng, r, reference.Betweenness(r, sources),
			func(x []float64) error { return Betweenness(g, sources, x) }, exact, nil)

		joined := joins(r)
		member, color, partner := make([]int64, r.N), make([]int64, r.N),
			slices.Repeat([]int64{-1}, r.N)
		for v := range r.N {
			member[v] = 1
			used := map[int64]bool{}
			for u := range v {
				if !joined[v][u] {
					continue
				}
				used[color[u]] = true
				if member[u] == 1 {
					member[v] = 0
				}
				if partner[u] < 0 && partner[v] < 0 {
					partner[u], partner[v] = int64(v), int64(u)
				}
			}
			for used[color[v]] {
				color[v]++
			}
		}
		bools := func(x []int64) []bool {
			in := make([]bool, len(x))
			for v := range x {
				in[v] = x[v] != 0
			}
			return in
		}
		rejects(t, all, "mis", rng, r, member, func(x []int64) error { return MIS(g, bools(x)) },
			wholes(), func(x []int64) bool { return misIsRight(joined, bools(x)) })
		rejects(t, all, "coloring", rng, r, color, func(x []int64) error { return Coloring(g, x) },
			wholes(), func(x []int64) bool { return coloringIsRight(joined, x) })
		rejects(t, all, "matching", rng, r, partner, func(x []int64) error { return Matching(g, x) }, wholes(), func(x []int64) bool { return matchingIsRight(joined, x) })

		undirected, whole := r, g
		undirected.Directed, whole.Directed = false, false
		settled := alone(undirected).settle(true)
		q, communities := settled.modularity(), settled.names()
		rejects(t, all, "louvain", rng, undirected, communities,
			func(x []uint64) error { return Louvain(whole, 1e-12, settled.of(x).modularity(), x) },
			append(ids, wrongCommunities(settled)...), settled.right)
		rejects(t, all, "louvain, modularity", rng, reference.Graph{N: 1}, []float64{q},
			func(x []float64) error { return Louvain(whole, 1e-12, x[0], communities) },
			wrongModularities(settled), func(x []float64) bool { return math.Abs(x[0]-q) <= 1e-9 })

		apply := func(x []float64) []float64 {
			y := make([]float64, r.N)
			for i, a := range r.Arcs {
				y[a[0]] += r.Weights[i] * x[a[1]]
				if !r.Directed && a[0] != a[1] {
					y[a[1]] += r.Weights[i] * x[a[0]]
				}
			}
			return y
		}
		x := make([]float64, r.N)
		for v := range x {
			x[v] = 1 + rng.Float64()
		}
		b := apply(x)
		rejects(t, all, "cg", rng, r, x, func(x []float64) error { _, err := Solution(g, b, x, 1e-9); return err }, exact, func(x []float64) bool {
			// right within the tolerance
			return apart(apply(x), b) <= 1e-8*apart(b, make([]float64, r.N))
		})
		list.Close()
	}
	for what, d := range all {
		tried := 0
		for _, n := range d.rejected {
			if n >= 10 {
				tried++
			}
		}
		t.Logf("%s: %d right results accepted, %d kinds of wrong ones rejected: %v", what,
			d.accepted, tried, d.rejected)
		if tried < 10 || d.accepted < graphs {
			t.Errorf("%s: only %d kinds of mistakes were made often enough, and %d right results",
				what, tried, d.accepted)
		}
	}
}

// TestWrongForests: wrong forests, and wrong statements about a right one, are rejected.
func TestWrongForests(t *testing.T) {
	team := parallel.NewTeam(2, false)
	defer team.Close()
	rejected := map[string]int{}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 47))
		r, g, list := sample(rng, team)
		r.Directed, g.Directed = false, false
		forest := reference.MSF(r)
		made := func() ([]uint64, [][]Branch) {
			tree, branches := representativesOf(r, reference.WCC(r)), make([][]Branch, r.N)
			for _, i := range forest {
				u, v := r.Arcs[i][0], r.Arcs[i][1]
				branches[u], branches[v] = append(branches[u], Branch{int64(v), r.Weights[i]}),
					append(branches[v], Branch{int64(u), r.Weights[i]})
			}
			return tree, branches
		}
		tree, branches := made()
		wantRule(t, MSF(g, tree, branches), "")
		if len(forest) > 0 {
			k := rng.IntN(len(forest))
			i, j := forest[k], forest[(k+1)%len(forest)]
			low, high, w := min(r.Arcs[i][0], r.Arcs[i][1]), max(r.Arcs[i][0], r.Arcs[i][1]),
				r.Weights[i]
			for name, change := range map[string]func(tree []uint64, branches [][]Branch){
				"twice at its higher end": func(_ []uint64, b [][]Branch) { b[high] = append(b[high], Branch{int64(low), w}) },
				"twice at its lower end":  func(_ []uint64, b [][]Branch) { b[low] = append(b[low], Branch{int64(high), w}) },
				"twice at both": func(_ []uint64, b [][]Branch) {
					b[low], b[high] = append(b[low], Branch{int64(high), w}),
						append(b[high], Branch{int64(low), w})
				},
				"lost at one end": func(_ []uint64, b [][]Branch) { b[high] = b[high][1:] },
				"lost at one end, the next one twice": func(_ []uint64, b [][]Branch) {
					b[high] = slices.DeleteFunc(b[high],
						func(e Branch) bool { return e.To == int64(low) })
					if u, v := r.Arcs[j][0], r.Arcs[j][1]; i != j {
						b[max(u, v)] = append(b[max(u, v)], Branch{int64(min(u, v)), r.Weights[j]})
					}
				},
				"lost": func(_ []uint64, b [][]Branch) {
					is := func(to int) func(Branch) bool {
						return func(e Branch) bool { return e.To == int64(to) && e.Weight == w }
					}
					b[low], b[high] = slices.DeleteFunc(b[low], is(high)),
						slices.DeleteFunc(b[high], is(low))
				},
				"of another weight":   func(_ []uint64, b [][]Branch) { b[high][0].Weight += 0.5 },
				"no vertex":           func(_ []uint64, b [][]Branch) { b[high][0].To = int64(r.N) },
				"a negative vertex":   func(_ []uint64, b [][]Branch) { b[high][0].To = -1 },
				"a loop":              func(_ []uint64, b [][]Branch) { b[high] = append(b[high], Branch{int64(high), w}) },
				"nothing found":       func(_ []uint64, b [][]Branch) { clear(b) },
				"a tree of its own":   func(tree []uint64, _ [][]Branch) { tree[low], tree[high] = uint64(low), uint64(high) },
				"a tree that is none": func(tree []uint64, _ [][]Branch) { tree[low] = uint64(r.N) },
				"the initial trees": func(tree []uint64, _ [][]Branch) {
					for v := range tree {
						tree[v] = uint64(v)
					}
				},
				"another representative": func(tree []uint64, _ [][]Branch) { tree[low] = (tree[low] + 1) % uint64(r.N) },
			} {
				tree, branches = made()
				change(tree, branches)
				if err := MSF(g, tree, branches); !errors.As(err, new(*Violation)) {
					t.Fatalf("seed %d, %s: got %v", seed, name, err)
				}
				rejected[name]++
			}
			if err := MSF(g, tree, branches[1:]); err == nil {
				t.Error("too few lists are accepted")
			}
		}
		list.Close()
	}
	t.Logf("msf: %v", rejected)
}

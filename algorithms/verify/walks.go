package verify

import (
	"cmp"
	"math"
	"slices"
)

// Walks checks random walks, of each vertex those that start there, with the vertices in their
// order. From v, to which it came from t, a walk goes to x with a probability in proportion to 1/p
// if x is t, 1 if t and x are neighbours, and else 1/q, for each arc:
//
//   - number: there are as many from every vertex as there should be;
//   - start: each starts at its vertex;
//   - step: each step goes along an edge;
//   - length: a walk has so many steps, or ends at a vertex without out-edges;
//   - chance: steps are chosen with these probabilities, as far as tests can tell: by chi-square for all choices that came up often enough, and
//     for steps back, to neighbours of the vertex before, and along the first half of a vertex's arcs. Of right walks
//     less than one in a million is refused.
func Walks(g Graph, number, length int, p, q float64, walks [][][]uint64) error {
	if err := g.fits(len(walks), "lists of walks"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	steps := map[state][]uint32{}
	for v, all := range walks {
		if len(all) != number {
			return violation("number", "%d walks start at vertex %d, expected %d", len(all), g.name(v), number)
		}
		for _, walk := range all {
			if len(walk) == 0 || walk[0] != uint64(v) {
				return violation("start", "a walk of vertex %d starts elsewhere", g.name(v))
			}
			for i, to := range walk[1:] {
				from := int(walk[i])
				if to >= uint64(g.Vertices) || !out.has(from, uint32(to)) {
					return violation("step", "a walk of vertex %d goes from %d to %d, where there is no edge", g.name(v), g.name(from), g.Labels.Of(to))
				}
				s := state{from, -1}
				if i > 0 && (p != 1 || q != 1) {
					s.before = int(walk[i-1])
				}
				steps[s] = append(steps[s], uint32(to))
			}
			last := int(walk[len(walk)-1])
			if steps := len(walk) - 1; steps > length || steps < length && len(out.of(last)) > 0 {
				return violation("length", "a walk of vertex %d has %d steps, expected %d", g.name(v), steps, length)
			}
		}
	}
	return out.chances(steps, p, q)
}

// state is where a step starts, and the vertex before, or -1 where that makes no difference.
type state struct{ at, before int }

// unlikely is how many nats less likely than sure a result is that a test refuses: four tests
// refuse less than one right one in a million, for 4 * 2 * exp(-20) is 2e-8.
const unlikely = 20

// chances tests whether steps are chosen as they should be.
func (a adjacency) chances(steps map[state][]uint32, p, q float64) error {
	// A count of steps of some kind is a sum of independent choices: by how much it is off, and its
	// variance (Bernstein 1924).
	type count struct{ off, variance float64 }
	counts := map[string]*count{"back": {}, "to neighbours of the vertex before": {}, "along the first half of arcs": {}}
	order := make([]state, 0, len(steps))
	for s := range steps {
		order = append(order, s)
	}
	slices.SortFunc(order, func(s, t state) int { return cmp.Or(cmp.Compare(s.at, t.at), cmp.Compare(s.before, t.before)) })
	chi, mean, variance, jump := 0.0, 0.0, 0.0, 1.0
	for _, s := range order {
		took, list := steps[s], slices.Compact(slices.Clone(a.of(s.at)))
		n, share, sum := float64(len(took)), make([]float64, len(list)), 0.0
		for i, to := range list {
			switch {
			case s.before < 0:
				share[i] = 1
			case int(to) == s.before:
				share[i] = 1 / p
			case !a.has(int(to), uint32(s.before)):
				share[i] = 1 / q
			default:
				share[i] = 1
			}
			first, _ := slices.BinarySearch(a.of(s.at), to)
			end, _ := slices.BinarySearch(a.of(s.at), to+1)
			share[i] *= float64(end - first)
			sum += share[i]
		}
		found, least, inverse := make([]float64, len(list)), math.Inf(1), 0.0
		for _, to := range took {
			i, _ := slices.BinarySearch(list, to)
			found[i]++
		}
		for i := range share {
			share[i] /= sum
			least = min(least, n*share[i])
			inverse += 1 / share[i]
		}
		for kind, c := range counts {
			expected, got := 0.0, 0.0
			for i, to := range list {
				in := i < len(list)/2
				switch {
				case kind == "back":
					in = s.before >= 0 && int(to) == s.before
				case kind != "along the first half of arcs":
					in = s.before >= 0 && int(to) != s.before && a.has(int(to), uint32(s.before))
				}
				if in {
					expected += share[i]
					got += found[i]
				}
			}
			c.off += got - n*expected
			c.variance += n * expected * (1 - expected)
		}
		if k := float64(len(list)); k > 1 && least >= 1 {
			for i, x := range found {
				chi += square(x-n*share[i]) / (n * share[i])
			}
			mean += k - 1
			variance += 2*(k-1) + (inverse-k*k-2*k+2)/n
			jump = max(jump, 1/least)
		}
	}
	for _, kind := range []string{"back", "to neighbours of the vertex before", "along the first half of arcs"} {
		c := counts[kind]
		if most := unlikely/1.5 + math.Sqrt(2*unlikely*c.variance); math.Abs(c.off) > most {
			return violation("chance", "steps %s are %g too many, and by chance up to %g", kind, c.off, most)
		}
	}
	// The tail of a chi-square distribution (Laurent and Massart 2000).
	if most := mean + 2*math.Sqrt(variance/2*unlikely) + 2*jump*unlikely; chi > most {
		return violation("chance", "chi-square of the steps is %g, and by chance up to %g", chi, most)
	}
	return nil
}

package verify

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Walks checks random walks. Each vertex has the walks that start there. From v, after a step from
// t to v, the probability of an arc to x is proportional to 1/p if x is t, 1 if t and x are
// neighbours, and else 1/q.
//
//   - number: every vertex has the required number of walks;
//   - start: each starts at its vertex;
//   - step: each step goes along an edge;
//   - length: a walk has the required number of steps, or ends at a vertex without out-edges;
//   - chance: a test of the counts of steps does not contradict these probabilities. It rejects at
//     most one in two million correct results, whatever the graph: see adjacency.ratio.
func Walks(g Graph, number, length int, p, q float64, walks [][][]uint64) error {
	if err := g.fits(len(walks), "lists of walks"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	steps, err := out.steps(g, number, length, p != 1 || q != 1, walks)
	if err != nil {
		return err
	}
	if ratio, of := out.ratio(steps, number, length, p, q); !(ratio <= math.Log(mostRatio)) {
		return violation("chance",
			"the steps %s are as they should be in one case of 10^%.0f at most",
			of, ratio/math.Ln10)
	}
	return nil
}

// steps groups the steps of walks by the vertex where they start, in order; if before is set, also
// by the vertex before.
func (a adjacency) steps(
	g Graph, number, length int, before bool, walks [][][]uint64,
) (map[state][]uint32, error) {
	steps := map[state][]uint32{}
	for v, all := range walks {
		if len(all) != number {
			return nil, violation("number", "%d walks start at vertex %d, expected %d", len(all),
				g.name(v), number)
		}
		for _, walk := range all {
			if len(walk) == 0 || walk[0] != uint64(v) {
				return nil, violation("start", "a walk of vertex %d starts elsewhere", g.name(v))
			}
			for i, to := range walk[1:] {
				from := int(walk[i])
				if to >= uint64(g.Vertices) || !a.has(from, uint32(to)) {
					return nil, violation("step",
						"a walk of vertex %d goes from %d to %d, where there is no edge", g.name(v),
						g.name(from), g.Labels.Of(to))
				}
				s := state{from, -1}
				if i > 0 && before {
					s.before = int(walk[i-1])
				}
				steps[s] = append(steps[s], uint32(to))
			}
			last := int(walk[len(walk)-1])
			if steps := len(walk) - 1; steps > length || steps < length && len(a.of(last)) > 0 {
				return nil, violation("length", "a walk of vertex %d has %d steps, expected %d",
					g.name(v), steps, length)
			}
		}
	}
	return steps, nil
}

// state is the vertex where a step starts, and the vertex before, or -1 if that does not matter.
type state struct{ at, before int }

// mostRatio is the greatest ratio that is accepted. A correct result exceeds it with a probability
// of at most 1/mostRatio.
const mostRatio = 2e6

// tilts are the logarithms of the factors by which one kind of steps may be too likely.
func tilts() (all []float64) {
	for x := 2.0; x > 1e-3; x /= 2 {
		all = append(all, x, -x)
	}
	return all
}

// ratio is a likelihood ratio test. It returns the logarithm of the ratio of two probabilities of
// the steps, if they are chosen in some wrong way, and if they are chosen correctly; and the kind
// of steps that contributes most. The ratio is the mean over many wrong ways, of three families:
//
//   - steps of a kind (along the first half of arcs, back, to neighbours of the vertex before) are
//     more or less likely everywhere, by a factor;
//   - everywhere, or in one state only, the probability of a step follows the earlier steps in the
//     same state, which count as much as a number of imagined correct ones. For many steps these
//     are chi-square tests of all choices together, and of those of each state.
//
// Given the earlier steps, a correct step multiplies the ratio of each way by a factor whose mean
// is 1. So the mean of each ratio is 1, whatever states the walks visit, and so is the mean of
// their mean. By Markov's inequality at most one in mostRatio correct results exceeds mostRatio
// (Ville 1939). Taking the mean corrects for the number of ways, as Bonferroni's correction does.
func (a adjacency) ratio(
	steps map[state][]uint32, number, length int, p, q float64,
) (ratio float64, of string) {
	order := slices.SortedFunc(maps.Keys(steps), func(s, t state) int {
		return cmp.Or(cmp.Compare(s.at, t.at), cmp.Compare(s.before, t.before))
	})
	states, tilts := len(a.start)-1, tilts()
	var imagined []float64
	for x := 1.0; x <= max(1, float64(states)*float64(number)*float64(length)); x *= 2 {
		imagined = append(imagined, x)
	}
	kinds := []string{"along the first half of arcs"}
	if p != 1 || q != 1 {
		kinds = append(kinds, "back", "to neighbours of the vertex before")
		states += len(a.to)
	}
	ofKinds, alone := make([]float64, len(kinds)*len(tilts)), []float64{}
	everywhere := make([]float64, len(imagined))
	for _, s := range order {
		list, share := a.shares(s, p, q)
		found, here := make([]float64, len(list)), make([]float64, len(imagined))
		for n, to := range steps[s] {
			i, _ := slices.BinarySearch(list, to)
			for j, x := range imagined {
				here[j] += math.Log((1 + found[i]/(x*share[i])) / (1 + float64(n)/x))
			}
			found[i]++
		}
		for j, r := range here {
			everywhere[j] += r
		}
		alone = append(alone, logMean(here, len(here)))
		for k, kind := range kinds {
			expected, got := 0.0, 0.0
			for i, to := range list {
				in := i < len(list)/2
				switch kind {
				case "back":
					in = int(to) == s.before
				case "to neighbours of the vertex before":
					in = s.before >= 0 && int(to) != s.before && a.has(int(to), uint32(s.before))
				}
				if in {
					expected += share[i]
					got += found[i]
				}
			}
			for j, x := range tilts {
				ofKinds[k*len(tilts)+
					j] += got*x - float64(len(steps[s]))*math.Log1p(expected*math.Expm1(x))
			}
		}
	}
	ratios := []float64{
		logMean(everywhere, len(everywhere)), logMean(alone, states),
		logMean(ofKinds, len(ofKinds)),
	}
	ratio = logMean(ratios, len(ratios))
	switch slices.Max(ratios) {
	case ratios[0]:
		return ratio, "everywhere"
	case ratios[1]:
		return ratio, "from one vertex"
	}
	return ratio, kinds[slices.Index(ofKinds, slices.Max(ofKinds))/len(tilts)]
}

// shares returns the vertices to which a step may go, and the probability of each.
func (a adjacency) shares(s state, p, q float64) (list []uint32, share []float64) {
	list = slices.Compact(slices.Clone(a.of(s.at)))
	share = make([]float64, len(list))
	sum := 0.0
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
	for i := range share {
		share[i] /= sum
	}
	return list, share
}

// logMean returns the logarithm of the mean of n numbers. logs has the logarithms of some; the
// others are 0.
func logMean(logs []float64, n int) float64 {
	if len(logs) == 0 {
		return math.Inf(-1)
	}
	most, sum := slices.Max(logs), 0.0
	for _, x := range logs {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum/float64(n))
}

package graph

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// With the lightest arcs of each receiver, lightest first, a pull of shortest paths can end early.
// It ends at an arc so heavy that even the least sent distance could not improve the receiver,
// because the remaining arcs are heavier. In a skewed graph with random weights, all but a few
// percent of the arcs are never visited. (This is the pruning of Chakaravarthy and others, 2014,
// 3.2, for each receiver separately.)
//
//	a list        0:.9  3:.2  7:.5  9:.1
//	its lightest  9:.1  3:.2               if two are kept

const (
	// All arcs of a list are kept up to length wholeRow. Of the arcs beyond, one in restOfRow is
	// kept.
	wholeRow, restOfRow = 8, 16
	// The lightest arcs are stored only if they are at most 1/keptPart of all arcs.
	keptPart = 5
	// drawnWeights is the size of the sample of a long list's weights, for a guess of the heaviest
	// weight to keep.
	drawnWeights = 256
)

// kept returns how many arcs of a list are kept.
func kept(degree uint32) uint32 {
	if degree <= wholeRow {
		return degree
	}
	return wholeRow + (degree-wholeRow)/restOfRow
}

// Lightest returns lists with the same rows as those by receiver, of a flat grid, with the lightest
// arcs of each, lightest first. The first call makes them, if accept allows this number of
// additional bytes. It returns nil without them: also in a 2D grid, if weights may be negative, if
// there are no weights, or if lists are short. An error means that ctx ended first.
func (p *Partition) Lightest(
	ctx context.Context, team *parallel.Team, accept func(bytes int64) bool,
) (*kernel.Lists, error) {
	p.transposing.Lock()
	defer p.transposing.Unlock()
	if !p.Grid.Flat() {
		return nil, nil
	}
	a := p.along.Pull.ByReceiver
	rows := len(a.Starts) - 1
	if p.lightest != nil || p.graph.LeastWeight != 0 || a.Weights32 == nil && a.Weights64 == nil ||
		rows <= 0 {
		return p.lightest, nil
	}
	arcs := int64(0)
	for r := range rows {
		arcs += int64(kept(a.Starts[r+1] - a.Starts[r]))
	}
	if keptPart*arcs > int64(len(a.Adj)) {
		return nil, nil
	}
	if !accept(4*int64(rows+1) + int64(4+WeightBytes(p.graph.Weights))*arcs) {
		return nil, nil
	}
	arena, done := &mem.Arena{Budget: p.graph.arena.Budget, Kind: mem.Graph}, false
	defer func() { p.graph.keepIf(done, arena) }()
	l := &kernel.Lists{Bits: a.Bits, Rank: a.Rank, Starts: mem.Make[uint32](arena,
		rows+1), Adj: mem.Make[uint32](arena, int(arcs))}
	makeWeights(arena, l, p.graph.Weights)
	for r := range rows {
		l.Starts[r+1] = l.Starts[r] + kept(a.Starts[r+1]-a.Starts[r])
	}
	keys := make([][]uint64, team.Size())
	words := len(a.Bits)
	team.For(words, 64, func(worker, lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		for r := a.Rank[lo]; r < a.Rank[hi]; r++ {
			to, from := l.Adj[l.Starts[r]:l.Starts[r+1]], a.Adj[a.Starts[r]:a.Starts[r+1]]
			lo, at := l.Starts[r], a.Starts[r]
			if l.Weights32 != nil {
				keys[worker] = lightest(to, l.Weights32[lo:], from, a.Weights32[at:], keys[worker])
			} else {
				keys[worker] = lightest(to, l.Weights64[lo:], from, a.Weights64[at:], keys[worker])
			}
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.lightest, done = l, true
	return l, nil
}

// lightest writes as many of the lightest arcs of a list as there is room for to to and weights,
// lightest first. of has the list's weights. keys is a buffer.
func lightest[W float32 | float64](
	to []uint32, weights []W, list []uint32, of []W, keys []uint64,
) []uint64 {
	n := len(to)
	of = of[:len(list)]
	if n <= len(fewLightest[W]{}.weights) {
		var f fewLightest[W]
		f.find(of, n)
		for i, j := range f.places[:n] {
			to[i] = list[j]
		}
		copy(weights, f.weights[:n])
		return keys
	}
	// A key is the bits of a weight as float32, whose order is that of weights, and the arc's index
	// in the list.
	keys = keys[:0]
	key := func(j int) uint64 { return uint64(math.Float32bits(float32(of[j])+0))<<32 | uint64(j) }
	most := guess(of, n)
	for j, w := range of {
		if w < most {
			keys = append(keys, key(j))
		}
	}
	for j := 0; j < len(of) && len(keys) < n; j++ { // many arcs may have the weight most
		if of[j] == most {
			keys = append(keys, key(j))
		}
	}
	if len(keys) < n { // the guess was too low
		keys = keys[:0]
		for j := range of {
			keys = append(keys, key(j))
		}
	}
	slices.Sort(keys)
	sortTies(keys, of, n)
	for i := range to {
		j := uint32(keys[i])
		to[i], weights[i] = list[j], of[j]
	}
	return keys
}

// fewLightest has the first few arcs of a list by weight, and their indices.
type fewLightest[W float32 | float64] struct {
	weights [32]W
	places  [32]uint32
}

// find finds the n lightest arcs by insertion into a sorted array, which drops the heaviest. Most
// weights are heavier than all in the array.
func (f *fewLightest[W]) find(of []W, n int) {
	found := 0
	for j, w := range of {
		k := found
		if found == n {
			if w >= f.weights[n-1] {
				continue
			}
			k--
		} else {
			found++
		}
		for ; k > 0 && f.weights[k-1] > w; k-- {
			f.weights[k], f.places[k] = f.weights[k-1], f.places[k-1]
		}
		f.weights[k], f.places[k] = w, uint32(j)
	}
}

// sortTies sorts keys with equal float32 weights by their exact weights, as far as they may be
// among the first n.
func sortTies[W float32 | float64](keys []uint64, of []W, n int) {
	if _, same := any(of).([]float32); same {
		return
	}
	for i := 0; i < n; {
		end := i + 1
		for end < len(keys) && keys[end]>>32 == keys[i]>>32 {
			end++
		}
		if end > i+1 {
			slices.SortFunc(keys[i:end],
				func(a, b uint64) int { return cmp.Compare(of[uint32(a)], of[uint32(b)]) })
		}
		i = end
	}
}

// guess estimates from a sample a weight such that at least n weights of a list are probably below
// it, and not many more.
func guess[W float32 | float64](of []W, n int) W {
	var room [drawnWeights]W
	drawn := room[:min(len(of)/8, drawnWeights)]
	for i := range drawn {
		drawn[i] = of[i*len(of)/len(drawn)]
	}
	slices.Sort(drawn)
	part := float64(n) / float64(len(of)) * float64(len(drawn))
	return drawn[min(int(part+3*math.Sqrt(part))+1, len(drawn)-1)]
}

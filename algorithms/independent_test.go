package algorithms_test

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// splitMix is the hash function of SplitMix64.
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// neighbours returns each vertex's neighbours in both directions, without loops. Parallel edges are
// repeated.
func (s sample) neighbours() [][]int {
	all := make([][]int, s.twin.N)
	for _, a := range s.twin.Arcs {
		if u, v := a[0], a[1]; u != v {
			all[u], all[v] = append(all[u], v), append(all[v], u)
		}
	}
	return all
}

// order returns the vertices sorted by key.
func (s sample) order(key func(v int) uint64) []int {
	all := make([]int, s.twin.N)
	for v := range all {
		all[v] = v
	}
	slices.SortFunc(all, func(u, v int) int { return cmp.Compare(key(u), key(v)) })
	return all
}

// TestMIS compares with a greedy algorithm that takes vertices one by one.
func TestMIS(t *testing.T) {
	for s := range samples(t) {
		list, want, members := s.neighbours(), make([]bool, s.twin.N), int64(0)
		for _, v := range s.order(func(v int) uint64 { return splitMix(uint64(v)) }) {
			if want[v] = !slices.ContainsFunc(list[v], func(u int) bool { return want[u] }); want[v] {
				members++
			}
		}
		res := everyWay(t, s, algorithms.MIS{})
		equal(t, s, "members", pregeltest.Values(res), want)
		if got := res.Aggregates["members"]; got != members {
			t.Errorf("%s: %v members, want %d", s.name, got, members)
		}
	}
}

// TestColoring compares with a greedy coloring that takes vertices one by one, those with the
// highest degree first.
func TestColoring(t *testing.T) {
	for s := range samples(t) {
		list, degree := s.neighbours(), make([]int, s.twin.N)
		for _, a := range s.twin.Arcs {
			degree[a[0]]++
			if a[0] != a[1] || s.twin.Directed {
				degree[a[1]]++
			}
		}
		key := func(v int) uint64 {
			const mask = 1<<58 - 1
			x := uint64(pregeltest.ID(t, s.graph, uint64(v))) * 0x9e3779b97f4a7c15 & mask
			x = (x ^ x>>29) * 0xbf58476d1ce4e5b9 & mask
			return uint64(bits.Len(uint(degree[v])))<<58 | x ^ x>>29
		}
		want := slices.Repeat([]int64{-1}, s.twin.N)
		for _, v := range slices.Backward(s.order(key)) {
			color := int64(0)
			for slices.ContainsFunc(list[v], func(u int) bool { return want[u] == color }) {
				color++
			}
			want[v] = color
		}
		res := everyWay(t, s, pregel.List(algorithms.Coloring{}))
		equal(t, s, "colors", pregeltest.Values(res), want)
		if got := res.Aggregates["colors"]; got != slices.Max(want)+1 {
			t.Errorf("%s: %v colors, want %d", s.name, got, slices.Max(want)+1)
		}
	}
}

// TestColoringOfAClique needs more colors than a word has bits.
func TestColoringOfAClique(t *testing.T) {
	g := pregeltest.Graph(t, clique(70))
	res := pregeltest.Matrix(t, g, pregel.List(algorithms.Coloring{}))
	colors := pregeltest.Values(res)
	slices.Sort(colors)
	for i, c := range colors {
		if c != int64(i) {
			t.Fatalf("the colors are %v", colors)
		}
	}
}

// TestMatching compares with a greedy algorithm that takes edges one by one.
func TestMatching(t *testing.T) {
	for s := range samples(t) {
		id := func(v int) uint64 { return uint64(pregeltest.ID(t, s.graph, uint64(v))) }
		arcs := slices.Clone(s.twin.Arcs)
		key := func(a [2]int) uint64 {
			u, v := id(a[0]), id(a[1])
			return splitMix(splitMix(min(u, v)) + max(u, v))
		}
		slices.SortFunc(arcs, func(a, b [2]int) int { return cmp.Compare(key(a), key(b)) })
		want, pairs := slices.Repeat([]pregel.VertexID{pregel.None}, s.twin.N), int64(0)
		for _, a := range arcs {
			if u, v := a[0], a[1]; u != v && want[u] == pregel.None && want[v] == pregel.None {
				want[u], want[v] = pregel.VertexID(id(v)), pregel.VertexID(id(u))
				pairs++
			}
		}
		res := everyWay(t, s, pregel.List(algorithms.Matching{}))
		equal(t, s, "partners", pregeltest.Values(res), want)
		if got := res.Aggregates["matched_pairs"]; got != pairs {
			t.Errorf("%s: %v pairs, want %d", s.name, got, pairs)
		}
	}
}

// clique returns a complete graph in the text form of pregeltest.Graph.
func clique(n int) string {
	words := ""
	for v := range n {
		for u := range v {
			words += fmt.Sprintf("%d-%d ", u, v)
		}
	}
	return words
}

package main

import (
	"slices"
	"strings"

	"github.com/superstep-go/superstep"
)

// dependencies is the graph: vertices are packages, by their place in names, edges go from who
// needs to who is needed.
type dependencies struct {
	names      []string
	edges      []superstep.Edge
	dependents []int // how many others need the package
	unmet      int   // groups of alternatives of which nothing exists
}

// resolve makes a graph of packages. Of alternatives the first that can be had is taken, as apt
// does: a package of that name, or else, of those that provide it, the first by name. Of two
// stanzas of one package the first counts. Every package has a loop, which the graph drops: it
// names packages that neither need others nor are needed.
func resolve(packages []Package) dependencies {
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	packages = slices.CompactFunc(packages, func(a, b Package) bool { return a.Name == b.Name })

	index := make(map[string]int, len(packages))
	for i, p := range packages {
		index[p.Name] = i
	}
	provider := map[string]int{}
	for i, p := range packages {
		for _, virtual := range p.Provides {
			if _, ok := provider[virtual]; !ok {
				provider[virtual] = i
			}
		}
	}
	find := func(group []string) int {
		for _, name := range group {
			if i, ok := index[name]; ok {
				return i
			}
			if i, ok := provider[name]; ok {
				return i
			}
		}
		return -1
	}

	d := dependencies{names: make([]string, len(packages)), dependents: make([]int, len(packages))}
	var needs []int
	for i, p := range packages {
		d.names[i] = p.Name
		needs = append(needs[:0], i)
		for _, group := range p.Needs {
			if j := find(group); j >= 0 {
				needs = append(needs, j)
			} else {
				d.unmet++
			}
		}
		slices.Sort(needs)
		needs = slices.Compact(needs)
		for _, j := range needs {
			d.edges = append(d.edges, superstep.Edge{From: uint64(i), To: uint64(j)})
			if j != i {
				d.dependents[j]++
			}
		}
	}
	return d
}

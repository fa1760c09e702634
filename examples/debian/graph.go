package main

import (
	"slices"
	"strings"

	"github.com/superstep-go/superstep"
)

// dependencies is a graph of packages. A vertex is a package, labelled with its index in names. An
// edge leads from a package to a package that it needs.
type dependencies struct {
	names      []string
	edges      []superstep.Edge
	dependents []int // number of other packages that need the package
	unmet      int   // number of groups without an existing alternative
}

// resolve makes the graph of packages. Like apt, it takes the first existing alternative of a
// group: the package of that name, or else the first provider by name. It takes the first of two
// stanzas of the same package. It adds a loop to every package, so that the graph has a vertex for
// a package without dependencies and dependents. The graph drops the loop itself.
func resolve(packages []Package) dependencies {
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages,
		func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
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

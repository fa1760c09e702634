package verify

// SCC checks the labels of strongly connected components, which are vertices. It finds the
// components by Tarjan's algorithm (1972), with an explicit stack:
//
//   - component: two vertices of the same component have the same label;
//   - distinct: two vertices of different components have different labels;
//   - representative: the label is the member with most edges, or the first of them in the input.
func SCC(g Graph, label []uint64) error {
	if err := g.fits(len(label), "labels"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, simple)
	if err != nil {
		return err
	}
	if err := g.stopped(); err != nil {
		return err
	}
	roots, taken := out.strong(), map[uint64]int{}
	for v, root := range roots {
		if label[v] != label[root] {
			return violation("component",
				"vertices %d and %d are in one component, and have labels %d and %d",
				g.name(root), g.name(v), label[root], label[v])
		}
		if other, ok := taken[label[v]]; ok && other != root {
			return violation("distinct",
				"vertices %d and %d have label %d and are not in one component", g.name(other),
				g.name(root), label[v])
		}
		taken[label[v]] = root
	}
	return g.representatives("representative", label)
}

// strong returns the root of each vertex's strongly connected component: the vertex that Tarjan's
// search finds first.
func (a adjacency) strong() []int {
	n := len(a.start) - 1
	root, order, low, next := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	done := make([]bool, n)
	var path, pending []int // the search's path; vertices whose components are not complete
	met := 0
	for s := range n {
		if order[s] != 0 {
			continue
		}
		enter := func(v int) {
			met++
			order[v], low[v], next[v] = met, met, a.start[v]
			path, pending = append(path, v), append(pending, v)
		}
		for enter(s); len(path) > 0; {
			v := path[len(path)-1]
			if next[v] < a.start[v+1] {
				u := int(a.to[next[v]])
				next[v]++
				switch {
				case order[u] == 0:
					enter(u)
				case !done[u]:
					low[v] = min(low[v], order[u])
				}
				continue
			}
			if path = path[:len(path)-1]; len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[v])
			}
			for closed := low[v] != order[v]; !closed; {
				u := pending[len(pending)-1]
				pending = pending[:len(pending)-1]
				root[u], done[u], closed = v, true, u == v
			}
		}
	}
	return root
}

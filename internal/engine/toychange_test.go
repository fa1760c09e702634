package engine_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// toyChanges has the changes of the graph by a toy's program, by the rules of
// docs/design/mutation.md, with maps.
type toyChanges[V any] struct {
	on, create bool
	requests   kernel.Requests
	list       []toyRequest[V] // of the current superstep
	absent     map[uint64]bool
	asked      int // number of all requests
}

type toyRequest[V any] struct {
	kernel.Request
	value V
}

func (c *toyChanges[V]) waiting() bool { return len(c.list) > 0 }

func (t *toy[V, M]) beginChanges() *kernel.Requests {
	c := &t.changes
	if c.absent == nil {
		c.absent = map[uint64]bool{}
	}
	if !t.traits.Mutates {
		return nil
	}
	c.on, c.create = true, t.traits.CreateOnMessage
	c.requests = kernel.Requests{Loops: true, Weigh: t.weigh}
	t.allow()
	return &c.requests
}

func (t *toy[V, M]) allow() {
	t.changes.requests.NextID, t.changes.requests.Limit = uint64(t.n), uint64(2*t.n+1<<16)
}

// after makes the toy begin with the graph and the columns of another toy.
func (t *toy[V, M]) after(before *toy[V, M]) {
	t.n, t.edges = before.n, slices.Clone(before.edges)
	t.changes.absent = maps.Clone(before.changes.absent)
	t.link()
	t.values, t.inbox = make([]V, t.n), make([][]M, t.n)
	t.active, t.done = make([]bool, t.n), make([]bool, t.n)
	t.coordinator = kernel.Pregel.Coordinator(uint64(t.n-len(t.changes.absent)), t.stored, t.totals,
		nil).(*pregel.Coordinator)
	t.shared, t.carried = before.state.Properties, before.columns()
}

// took takes the requests of a vertex.
func (t *toy[V, M]) took() {
	c := &t.changes
	if !c.on {
		return
	}
	values := kernel.Elements[V](t.lane.AddedValues())
	for _, r := range c.requests.List {
		q := toyRequest[V]{Request: r}
		if r.Kind == kernel.AddVertex {
			q.value = values[r.Value]
		}
		c.list = append(c.list, q)
		c.asked++
	}
	t.lane.ResetRequests()
}

// net has the changes of one vertex's edges.
type net struct {
	removed map[uint64]bool // targets
	all     bool
	added   []arc
}

func (n *net) remove(to uint64) {
	n.removed[to] = true
	n.added = slices.DeleteFunc(n.added, func(a arc) bool { return a.to == to })
}

// change carries out the requests of the last superstep, and returns the remaining messages.
func (t *toy[V, M]) change(inbox [][]M) [][]M {
	c := &t.changes
	if len(c.list) == 0 {
		return inbox
	}
	about := map[uint64][]toyRequest[V]{}
	next := uint64(t.n)
	slices.SortStableFunc(c.list, func(a, b toyRequest[V]) int { return cmp.Compare(a.By, b.By) })
	for _, r := range c.list {
		about[r.Of] = append(about[r.Of], r)
		if r.Kind == kernel.AddEdge || r.Kind == kernel.AddVertex {
			next = max(next, r.Of+1, r.To+1)
		}
	}
	c.list = nil
	before := t.n
	for ; uint64(t.n) < next; t.n++ {
		c.absent[uint64(t.n)] = true
		t.values, t.active, t.done = append(t.values, *new(V)), append(t.active, false),
			append(t.done, false)
		inbox = append(inbox, nil)
	}
	t.growColumns(before)
	nets := map[uint64]*net{}
	for id, list := range about {
		if id < next {
			nets[id] = t.resolve(id, list, inbox)
		}
	}
	kept := t.edges[:0]
	for _, e := range t.edges {
		from, to := nets[e.from], nets[e.to]
		gone := from != nil && (from.all || from.removed[e.to])
		if t.undirected {
			gone = gone || to != nil && (to.all || to.removed[e.from])
		}
		if !gone {
			kept = append(kept, e)
		}
	}
	t.edges = kept
	for _, n := range nets {
		t.edges = append(t.edges, n.added...)
	}
	t.link()
	t.place()
	s := t.state
	s.Edges, s.Out, s.In, s.IDs = t.edgeLists(), t.ways[0], t.ways[1], uint64(t.n)
	s.NumVertices, s.NumEdges = uint64(t.n-len(c.absent)), t.stored
	t.coordinator.NumVertices, t.coordinator.NumEdges = s.NumVertices, s.NumEdges
	t.allow()
	return inbox
}

// resolve carries out the requests about one vertex, except for its edges, which it returns.
func (t *toy[V, M]) resolve(id uint64, list []toyRequest[V], inbox [][]M) *net {
	c, n := &t.changes, &net{removed: map[uint64]bool{}}
	existed := !c.absent[id]
	for _, r := range list {
		switch {
		case r.By != id || !existed:
		case r.Kind == kernel.RemoveEdge:
			n.remove(r.To)
		case r.Kind == kernel.AddEdge:
			n.added = append(n.added, arc{id, r.To, t.weigh(r.Weight)})
		}
	}
	remove, values := false, []V(nil)
	for _, r := range list {
		switch r.Kind {
		case kernel.RemoveEdge:
			if r.By != id && existed {
				n.remove(r.To)
			}
		case kernel.RemoveVertex:
			remove = true
		case kernel.AddVertex:
			values = append(values, r.value)
		}
	}
	clean := func() { // the previous vertex is removed
		*n = net{removed: n.removed, all: true}
		inbox[id] = nil
		t.values[id], t.active[id], t.done[id] = *new(V), false, false
		c.absent[id] = true
		t.clearColumns(id)
	}
	make := func(x V) {
		if !existed || c.absent[id] {
			inbox[id] = nil
		}
		t.values[id], t.active[id], t.done[id] = x, true, false
		t.clearColumns(id)
		delete(c.absent, id)
	}
	if p, ok := t.inner.(interface {
		Resolve(pregel.Resolution[V]) (V, bool)
	}); ok && (remove || values != nil) {
		r := pregel.Resolution[V]{ID: pregel.VertexID(id), Exists: existed, Remove: remove, Add: values}
		if existed {
			r.Value = t.values[id]
		}
		x, exists := p.Resolve(r)
		switch {
		case !exists && existed:
			clean()
		case exists && existed && remove && len(values) > 0:
			clean()
			make(x)
		case exists && existed:
			t.values[id] = x
		case exists:
			make(x)
		}
	} else {
		if remove && existed {
			clean()
		}
		if len(values) > 0 && c.absent[id] {
			make(values[0])
		}
	}
	for _, r := range list {
		if r.Kind == kernel.AddEdge && (r.By != id || !existed) {
			if c.absent[id] {
				make(*new(V))
			}
			n.added = append(n.added, arc{id, r.To, t.weigh(r.Weight)})
		}
	}
	return n
}

// exists reports whether a vertex exists. A message may create it.
func (t *toy[V, M]) exists(v int, messages []M) bool {
	c := &t.changes
	if !c.absent[uint64(v)] {
		return true
	}
	if c.create && len(messages) > 0 {
		delete(c.absent, uint64(v))
		return true
	}
	return false
}

var errSpread = errors.New("the edges are spread")

func (t *toy[V, M]) weigh(w float64) float64 {
	if t.unweighted {
		return 1
	}
	return w
}

// growColumns extends the vertex columns to the new number of ids. before is the previous number.
func (t *toy[V, M]) growColumns(before int) {
	for _, c := range t.columns() {
		all := t.state.Properties
		all = append(all, make([]kernel.Column, max(0, c.Number+1-len(all)))...)
		to := c.Zeros(t.n)
		if before > 0 {
			to.Copy(0, all[c.Number], 0, min(t.n, all[c.Number].Len()))
		}
		all[c.Number] = to
		t.state.Properties = all
	}
}

func (t *toy[V, M]) clearColumns(id uint64) {
	for _, c := range t.columns() {
		t.state.Properties[c.Number].SetZero(int(id))
	}
}

// columns returns the columns of the program and of the phases before it.
func (t *toy[V, M]) columns() []kernel.Property {
	all := slices.Clone(t.carried)
	for _, c := range t.traits.Columns {
		own := kernel.Pregel.Property(c)
		all = append(slices.DeleteFunc(all,
			func(c kernel.Property) bool { return c.Number == own.Number }), own)
	}
	return all
}

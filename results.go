package superstep

import (
	"cmp"
	"container/heap"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// Top yields the input ids and the values of the n vertices of greatest value, greatest first and of equal ones the least id first;
// all if there are fewer. Values are compared as by slices.SortFunc: res.Top(10, cmp.Compare) does for numbers.
func (r *Result[V]) Top(n int, compare func(a, b V) int) iter.Seq2[uint64, V] {
	if compare == nil {
		panic("superstep: Result.Top: the function that compares is nil: cmp.Compare does for numbers")
	}
	return func(yield func(uint64, V) bool) {
		release := r.open()
		defer release()
		t := &top[V]{result: r, compare: compare}
		for i := range r.values {
			id := pregel.VertexID(i)
			if r.graph.g.Absent(id) {
				continue
			}
			switch {
			case len(t.ids) < n:
				heap.Push(t, id)
			case n > 0 && t.before(id, t.ids[0]):
				t.ids[0] = id
				heap.Fix(t, 0)
			}
		}
		slices.SortFunc(t.ids, t.order)
		for _, id := range t.ids {
			if !yield(r.graph.g.Label(id), r.values[id]) {
				return
			}
		}
	}
}

// top is a heap of the vertices of greatest value so far, the last of them first.
type top[V any] struct {
	result  *Result[V]
	compare func(a, b V) int
	ids     []pregel.VertexID
}

// order is by falling value, then by rising input id.
func (t *top[V]) order(a, b pregel.VertexID) int {
	if c := t.compare(t.result.values[b], t.result.values[a]); c != 0 {
		return c
	}
	g := t.result.graph.g
	return cmp.Compare(g.Label(a), g.Label(b))
}

func (t *top[V]) before(a, b pregel.VertexID) bool { return t.order(a, b) < 0 }

func (t *top[V]) Len() int           { return len(t.ids) }
func (t *top[V]) Less(i, j int) bool { return t.before(t.ids[j], t.ids[i]) }
func (t *top[V]) Swap(i, j int)      { t.ids[i], t.ids[j] = t.ids[j], t.ids[i] }
func (t *top[V]) Push(id any)        { t.ids = append(t.ids, id.(pregel.VertexID)) }

func (t *top[V]) Pop() any {
	last := t.ids[len(t.ids)-1]
	t.ids = t.ids[:len(t.ids)-1]
	return last
}

// Column yields the input id and one field of the value of every vertex, in the order of All, where values are structs: field is exported
// and of type T.
//
//	authorities, err := superstep.Column[float64](res, "Authority")
func Column[T, V any](r *Result[V], field string) (iter.Seq2[uint64, T], error) {
	t := reflect.TypeFor[V]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("superstep: Column %s: values are of type %v, expected a struct", field, t)
	}
	f, ok := t.FieldByName(field)
	switch {
	case !ok || !f.IsExported() || len(f.Index) > 1:
		return nil, fmt.Errorf("superstep: Column %s: %v has no exported field of that name", field, t)
	case f.Type != reflect.TypeFor[T]():
		return nil, fmt.Errorf("superstep: Column %s: it is of type %v, and %v was asked for", field, f.Type, reflect.TypeFor[T]())
	}
	return func(yield func(uint64, T) bool) {
		release := r.open()
		defer release()
		for i := range r.values {
			if r.graph.g.Absent(pregel.VertexID(i)) {
				continue
			}
			value := reflect.ValueOf(&r.values[i]).Elem().Field(f.Index[0]).Addr().Interface().(*T)
			if !yield(r.graph.g.Label(pregel.VertexID(i)), *value) {
				return
			}
		}
	}, nil
}

// open holds the graph, whose labels are read, until the returned function is called.
func (r *Result[V]) open() (release func()) {
	if !r.graph.refs.Acquire() {
		panic(errClosed)
	}
	return r.graph.refs.Release
}

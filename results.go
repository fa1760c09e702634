package superstep

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"

	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
)

// Top yields the input ids and the values of the n vertices with the greatest values, in descending
// order; of equal values the least id comes first. It yields all if there are fewer than n. compare
// works as in slices.SortFunc. Numbers take res.Top(10, cmp.Compare).
func (r *Result[V]) Top(n int, compare func(a, b V) int) iter.Seq2[uint64, V] {
	if compare == nil {
		panic("superstep: Result.Top: compare is nil: for numbers use cmp.Compare")
	}
	return func(yield func(uint64, V) bool) {
		release := r.open()
		defer release()
		g := r.graph.g
		top := resultlines.First[pregel.VertexID]{N: n, Order: func(a, b pregel.VertexID) int {
			if c := compare(r.values[b], r.values[a]); c != 0 {
				return c
			}
			return cmp.Compare(g.Label(a), g.Label(b))
		}}
		for i := range r.values {
			if id := pregel.VertexID(i); !g.Absent(id) && top.Takes(id) {
				top.Add(id)
			}
		}
		for _, id := range top.All() {
			if !yield(g.Label(id), r.values[id]) {
				return
			}
		}
	}
}

// Column yields the input id and one field of the value of every vertex, in the order of All.
// Values must be structs. field is the name of an exported field of type T.
//
//	authorities, err := superstep.Column[float64](res, "Authority")
func Column[T, V any](r *Result[V], field string) (iter.Seq2[uint64, T], error) {
	t := reflect.TypeFor[V]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("superstep: Column %s: values are of type %v, expected a struct",
			field, t)
	}
	f, ok := t.FieldByName(field)
	switch {
	case !ok || !f.IsExported() || len(f.Index) > 1:
		return nil, fmt.Errorf("superstep: Column %s: %v has no exported field of that name", field,
			t)
	case f.Type != reflect.TypeFor[T]():
		return nil, fmt.Errorf("superstep: Column %s: it is of type %v, and %v was asked for",
			field, f.Type, reflect.TypeFor[T]())
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

// open keeps the graph open, because its labels are read, and r reachable, until the returned
// function is called.
func (r *Result[V]) open() (release func()) {
	if !r.graph.refs.Acquire() {
		panic(errClosed)
	}
	return func() { r.graph.refs.Release() }
}

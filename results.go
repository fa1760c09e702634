package superstep

import (
	"cmp"
	"container/heap"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
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

// SuperstepRecord says what happened in a superstep: how messages were delivered and why, and what each partition did. The
// last one of a run may be one in which no vertex ran.
type SuperstepRecord struct {
	Job       string // the program's name
	Superstep int
	// Phase is which phase of a program's plan it is of, from 1 in the order in which they ran, the planned program being the last, and Program
	// whose phase that is; both are zero of a program without a plan.
	Phase   int
	Program string
	// Scheme is how messages to all neighbours were delivered: none, naive, mirrored, pull and so on; Delivery is push or pull,
	// or none; Reason says why the scheme was chosen.
	Scheme, Delivery, Reason string
	// Predicted is the model's guess of what delivery takes, in seconds by scheme, and Actual what the chosen scheme took.
	Predicted map[string]float64
	Actual    float64
	Seconds   float64 // wall time
	// Changed says that the program has changed the graph in the superstep; NumVertices and NumEdges are the graph's after it then, else 0.
	Changed     bool
	NumVertices int
	NumEdges    uint64
	Partitions  []PartitionRecord
}

// PartitionRecord says what one partition did in a superstep.
type PartitionRecord struct {
	Partition int
	Computed  int // vertices that ran
	Receivers int // vertices that got a message
	Walked    int // edges
	Sent      int // values that went to other partitions
	Bytes     int // of these
	// The messages that wait for the next superstep: senders to all neighbours, the edges theirs cross, and the messages
	// to single vertices.
	Senders, SenderEdges, Sends int
	Requests                    int // for changes of the graph, which the next superstep makes
	// What holds after the superstep: the vertices awake, and those not finished with their in-edges.
	Active, Unfinished, UnfinishedEdges int
	// Times are the seconds of each phase. Traverse has the program's, too, where the two are one loop; Wait is for others.
	Times struct{ Expand, Traverse, Fold, Compute, Wait, Total float64 }
	// Memory is the resident memory of the process in bytes, and GCPause the seconds that the garbage collector stopped it.
	Memory  int64
	GCPause float64
}

// Messages counts what the partition's vertices sent, before combining: sender x out-edge, and Send calls.
func (p PartitionRecord) Messages() int { return p.SenderEdges + p.Sends }

func recordOf(s *trace.Superstep) SuperstepRecord {
	r := SuperstepRecord{
		Job: s.Job, Superstep: s.Superstep, Scheme: s.Scheme, Delivery: s.Delivery, Reason: s.Reason,
		Predicted: maps.Clone(s.Predicted), Actual: s.Actual, Seconds: s.Seconds, Phase: s.Phase, Program: s.Program,
	}
	if s.Graph != nil {
		r.Changed, r.NumVertices, r.NumEdges = true, int(s.Graph.Vertices), s.Graph.Arcs
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		r.Partitions = append(r.Partitions, PartitionRecord{
			Partition: p.Partition, Computed: p.Computed, Receivers: p.Receivers, Walked: p.Walked, Sent: p.Sent, Bytes: p.Bytes,
			Senders: p.Senders, SenderEdges: p.SenderEdges, Sends: p.Sends, Requests: p.Requests,
			Active: p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges,
			Times: struct{ Expand, Traverse, Fold, Compute, Wait, Total float64 }(p.Times), Memory: p.Memory, GCPause: p.GCPause,
		})
	}
	return r
}

package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// piece is the approximate size of the pieces passed to emit.
const piece = 64 << 10

// batch is the number of vertices whose values are translated at a time, if values are vertices.
const batch = 1 << 14

// maxBlock bounds the values of a block of a raw result, in bytes, because a reader holds a block
// in memory.
const maxBlock = 1 << 28

// gathering is the name of the stage in which the master collects the result.
const gathering = "gathering the result"

// values emits a line "id value" for every vertex here, or "id<TAB>name<TAB>value" if the input has
// names. If values are vertices, it emits their input ids or names. Other workers may know these,
// so all workers translate them together.
func (j *job) values(ctx context.Context, v *control.Values, progress func(stage string, done,
	total int64), emit func([]byte) error,
) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *bsp.ProgramError:
			err = p
		default:
			panic(p)
		}
	}()
	g := j.graph.Graph
	if v.GetRaw() {
		return j.emitRaw(&out{ctx: ctx, emit: emit, progress: progress})
	}
	var ids []pregel.VertexID
	for _, i := range j.program.Own() {
		for local := range uint32(g.Deal.Owned(int(j.program.IDs()), i)) {
			if id := pregel.VertexID(g.Deal.ID(i, local)); j.program.Exists(id) {
				ids = append(ids, id)
			}
		}
	}
	if v.GetSorted() {
		if err := j.sort(ctx, ids); err != nil {
			return err
		}
	}
	o := &out{ctx: ctx, emit: emit, progress: progress, total: int64(len(ids))}
	progress(gathering, 0, o.total)
	if !j.program.MayHaveVertices() && j.graph.directory.Names == nil {
		of := lines{program: j.program, label: j.program.Label, number: j.number(v)}
		if err := emitLines(ids, of, o); err != nil {
			return err
		}
		return o.flush()
	}
	group := j.attempt.group
	// Messages for the unfinished answer may still arrive, and would be mistaken for messages of
	// this one.
	if j.answering.Swap(true) {
		return fmt.Errorf("%w: an answer for an earlier master was not finished", errMasterAway)
	}
	err = group.Together(ctx, tagValues,
		func(ctx context.Context) error { return j.emitTogether(ctx, group, ids, j.number(v), o) })
	if err == nil {
		j.answering.Store(false)
	}
	return err
}

// number returns a function that appends a tab and the number of a vertex in vertex sets to its
// line, or nil if no numbers are wanted.
func (j *job) number(v *control.Values) func(dst []byte, id pregel.VertexID) []byte {
	if !v.GetNumbered() {
		return nil
	}
	return func(dst []byte, id pregel.VertexID) []byte {
		if int(id) >= j.graph.N { // the run added it
			return append(dst, "\t-"...)
		}
		return strconv.AppendUint(append(dst, '\t'), uint64(j.graph.SetNumber(id)), 10)
	}
}

// sort sorts vertices by input id. When ctx ends, it soon returns, because comparisons then return
// 0 without looking up ids.
func (j *job) sort(ctx context.Context, ids []pregel.VertexID) error {
	compared, ended := 0, false
	slices.SortFunc(ids, func(a, b pregel.VertexID) int {
		if compared++; compared%4096 == 0 {
			ended = ctx.Err() != nil
		}
		if ended {
			return 0
		}
		return cmp.Compare(j.program.Label(a), j.program.Label(b))
	})
	return context.Cause(ctx)
}

// emitTogether emits the lines batch by batch. For each batch it first finds the vertices among the
// values, then their input ids, then all names.
func (j *job) emitTogether(
	ctx context.Context, group *collective.Group, ids []pregel.VertexID,
	number func(dst []byte, id pregel.VertexID) []byte, o *out,
) error {
	call := collective.Call{Tag: tagLabels, Bytes: batch}
	batch := j.batch()
	most := binary.LittleEndian.AppendUint64(nil, uint64((len(ids)+batch-1)/batch))
	if err := group.Allreduce(ctx, call, most, collective.MaxUint64); err != nil {
		return err
	}
	for range binary.LittleEndian.Uint64(most) {
		some := ids[:min(batch, len(ids))]
		ids = ids[len(some):]
		labels, err := j.labelsOf(ctx, group, call, some)
		if err != nil {
			return err
		}
		label := func(v pregel.VertexID) uint64 {
			if int(v) >= j.graph.N {
				return j.program.Label(v)
			}
			return labels.of(v)
		}
		of := lines{program: j.program, label: label, number: number}
		if j.graph.directory.Names != nil {
			if of.names, err = j.namesOf(ctx, group, call, some, label); err != nil {
				return err
			}
		}
		if err := emitLines(some, of, o); err != nil {
			return err
		}
	}
	return o.flush()
}

// mostNames is the approximate maximum size of the names of a batch, in bytes.
const mostNames = 64 << 20

// batch returns the number of vertices per batch, such that their names and as many names of values
// fit into mostNames.
func (j *job) batch() int {
	names := j.graph.directory.Names
	if names == nil {
		return batch
	}
	return max(1, min(batch, mostNames/2/(names.Longest()+1)))
}

// labelsOf returns the input ids of the vertices that occur as values of the given vertices.
func (j *job) labelsOf(
	ctx context.Context, group *collective.Group, call collective.Call, some []pregel.VertexID,
) (*labelled, error) {
	l := &labelled{}
	if !j.program.MayHaveVertices() {
		return l, nil
	}
	var line []byte
	for _, id := range some {
		line = j.program.AppendAs(line[:0], id, func(v pregel.VertexID) uint64 {
			if int(v) < j.graph.N { // every worker knows the labels of other ids
				l.ids = append(l.ids, v)
			}
			return 0
		}, nil)
	}
	var err error
	l.labels, err = j.graph.directory.Labels(ctx, group, call, l.ids)
	return l, err
}

// namesOf returns the names, by input id, of the given vertices and of the vertices that occur as
// their values.
func (j *job) namesOf(
	ctx context.Context, group *collective.Group, call collective.Call,
	some []pregel.VertexID, of func(pregel.VertexID) uint64,
) (map[uint64][]byte, error) {
	names, wanted, line := make(map[uint64][]byte, len(some)), []uint64(nil), []byte(nil)
	want := func(dst []byte, label uint64) []byte {
		// A vertex added by the program has no name.
		if _, known := names[label]; !known && label < j.graph.directory.Names.Len() {
			names[label], wanted = nil, append(wanted, label)
		}
		return append(dst, '0')
	}
	for _, id := range some {
		line = j.program.AppendAs(want(line[:0], j.program.Label(id)), id, of, want)
	}
	return names, j.graph.directory.Names.Fetch(ctx, group, call, wanted,
		func(label uint64, name []byte) { names[label] = bytes.Clone(name) })
}

// lines formats the lines of vertices that are here. If the input has names, a line has the name
// after the input id; the master sorts by the id.
type lines struct {
	program *engine.Job
	label   func(pregel.VertexID) uint64                // returns the input id of a value that is a vertex
	names   map[uint64][]byte                           // by input id; nil if there are none
	number  func(dst []byte, id pregel.VertexID) []byte // or nil
}

func (l lines) name(dst []byte, label uint64) []byte {
	if name := l.names[label]; name != nil {
		return append(dst, name...)
	}
	return strconv.AppendUint(dst, label, 10)
}

// line appends the line of a vertex, without a line break.
func (l lines) line(dst []byte, id pregel.VertexID) []byte {
	label := l.program.Label(id)
	dst = strconv.AppendUint(dst, label, 10)
	if l.names == nil {
		return l.program.AppendAs(append(dst, ' '), id, l.label, nil)
	}
	dst = append(dst, '\t')
	dst = append(graphio.AppendField(dst, func(b []byte) []byte { return l.name(b, label) }), '\t')
	return l.program.AppendAs(dst, id, l.label, l.name)
}

// labelled has the input ids of vertices.
type labelled struct {
	ids    []pregel.VertexID
	labels []uint64
	// Index of the vertex expected next, cyclically.
	next int
	byID map[pregel.VertexID]uint64 // made when another vertex is requested
}

// of returns the input id of a vertex. In a second pass, a program's OutputLabels may request
// vertices in another order.
func (l *labelled) of(id pregel.VertexID) uint64 {
	if l.next < len(l.ids) && l.ids[l.next] == id {
		label := l.labels[l.next]
		l.next = (l.next + 1) % len(l.ids)
		return label
	}
	if l.byID == nil {
		l.byID = make(map[pregel.VertexID]uint64, len(l.ids))
		for i, id := range l.ids {
			l.byID[id] = l.labels[i]
		}
	}
	label, ok := l.byID[id]
	if !ok {
		panic(fmt.Sprintf("the label of vertex %d, for which it did not ask the first time", id))
	}
	return label
}

// emitRaw emits the values of the vertices here in blocks (pack.Values).
func (j *job) emitRaw(o *out) error {
	deal := j.graph.Deal
	owned := func(partition int) int { return deal.Owned(int(j.program.IDs()), partition) }
	for _, i := range j.program.Own() {
		o.total += int64(owned(i))
	}
	o.progress(gathering, 0, o.total)
	for _, i := range j.program.Own() {
		exists := func(local int) bool {
			return j.program.Exists(pregel.VertexID(deal.ID(i, uint32(local))))
		}
		for first, end := 0, 0; first < owned(i); first = end {
			if end = first + 1; !exists(first) { // a vertex without a value
				o.done++
				continue
			}
			for end < min(first+batch, owned(i)) && exists(end) {
				end++
			}
			var err error
			at := len(o.buffer)
			for n := end - first; ; n /= 2 {
				if o.buffer, err = j.program.AppendBlock(o.buffer[:at], i, first, n); err != nil {
					return err
				}
				if end = first + n; n == 1 || len(o.buffer)-at <= maxBlock {
					break
				}
			}
			if err = o.grew(end - first); err != nil {
				return err
			}
		}
	}
	return o.flush()
}

// out buffers the values of vertices and counts them.
type out struct {
	ctx         context.Context
	emit        func([]byte) error
	progress    func(stage string, done, total int64)
	done, total int64
	buffer      []byte // not yet emitted
	waiting     int    // number of vertices in buffer
}

// grew notes that values of more vertices were appended to the buffer, and flushes it if it is
// large enough.
func (o *out) grew(vertices int) error {
	if o.waiting += vertices; len(o.buffer) < piece {
		return nil
	}
	return o.flush()
}

// flush emits the buffer.
func (o *out) flush() error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	if err := o.emit(o.buffer); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	o.done += int64(o.waiting)
	o.buffer, o.waiting = o.buffer[:0], 0
	o.progress(gathering, o.done, o.total)
	return nil
}

// emitLines emits the lines of vertices here.
func emitLines(ids []pregel.VertexID, of lines, o *out) error {
	for _, id := range ids {
		start := len(o.buffer)
		if o.buffer = of.line(o.buffer, id); of.number != nil {
			o.buffer = of.number(o.buffer, id)
		}
		if err := graphio.CheckLine(o.buffer[start:]); err != nil {
			return err
		}
		o.buffer = append(o.buffer, '\n')
		if err := o.grew(1); err != nil {
			return err
		}
	}
	return nil
}

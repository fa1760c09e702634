package graph

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// edit is a change of one row's list. Sorted by key, the edits of a row are together, in the order
// of neighbours. Edits with the same key keep their order: removals first.
//
//	key:  | row | neighbour's id |
type edit struct {
	key uint64
	// what is, for an added arc, the number of its weight times 4. It has mirroredEdit added if the
	// arc is the mirrored arc of an undirected edge that was given from the neighbour. It is
	// removalEdit if arcs are removed.
	what uint64
}

const (
	mirroredEdit = 1
	removalEdit  = 2
)

// edits has the edits of the lists of one direction.
type edits struct {
	list    []edit
	weights []float64 // of added arcs, by number
	idBits  uint
}

func (e *edits) row(i int) uint32 { return uint32(e.list[i].key >> e.idBits) }
func (e *edits) weight(what uint64) float64 {
	if len(e.weights) == 0 {
		return 1
	}
	return e.weights[what>>2]
}

// arcs has removed and added arcs, as partitions send them to each other.
type arcs struct {
	ends     []uint32 // pairs from, to: first the removed arcs, then the added ones
	removals int      // number of removed arcs
	weights  []float64
}

// sort sorts the edits. It returns an error if there are too many for 32-bit numbers.
func (e *edits) sort() error {
	if err := checkChanges(len(e.list)); err != nil {
		return err
	}
	const digit = 12
	from, to := e.list, make([]edit, len(e.list))
	last := uint64(0)
	for i := range from {
		last = max(last, from[i].key)
	}
	for shift := uint(0); last>>shift > 0; shift += digit {
		var next [1 << digit]uint32
		for i := range from {
			next[from[i].key>>shift&(1<<digit-1)]++
		}
		at := uint32(0)
		for i, c := range next {
			next[i] = at
			at += c
		}
		for _, x := range from {
			d := x.key >> shift & (1<<digit - 1)
			to[next[d]] = x
			next[d]++
		}
		from, to = to, from
	}
	e.list = from
	return nil
}

// own returns the change's arcs, without added loops if the graph stores none.
func (a *changer) own() *arcs {
	own := &arcs{ends: make([]uint32, 0, 2*(len(a.Remove)+len(a.Add))), removals: len(a.Remove)}
	for _, arc := range a.Remove {
		own.ends = append(own.ends, uint32(arc.From), uint32(arc.To))
	}
	for _, arc := range a.Add {
		if arc.From == arc.To && a.p.graph.Options.DropLoops {
			continue
		}
		own.ends = append(own.ends, uint32(arc.From), uint32(arc.To))
		if a.weighted() {
			own.weights = append(own.weights, a.weight(arc.Weight))
		}
	}
	return own
}

// sendArcs sends each partition the arcs for its block, and the arcs whose reversed arcs are for
// its block. It returns the arcs from all partitions, including its own. It also computes the input
// ids of new vertices.
//
//	| N (8) | 1 if there are vertices (1) | their largest input id (8) | removals (4) |
//	| from (4) | to (4) | ... | weight (8) ... |
func (a *changer) sendArcs(ctx context.Context, own *arcs) (all []*arcs, err error) {
	all = make([]*arcs, a.p.Of)
	all[a.p.Index] = own
	grows := a.N > a.p.graph.N && a.p.graph.added == nil
	some, largest := false, uint64(0)
	if grows {
		some, largest = a.p.largestLabel()
	}
	if a.p.Of > 1 {
		came, err := a.allToAll(ctx, a.encode(own, some, largest))
		if err != nil {
			return nil, err
		}
		for q, data := range came {
			if q == a.p.Index {
				continue
			}
			got, theirs, least, err := a.decode(data, q)
			if err != nil {
				return nil, fmt.Errorf("arcs from partition %d: %w", q, err)
			}
			all[q] = got
			if theirs && grows {
				some, largest = true, max(largest, least)
			}
		}
	}
	if !grows {
		return all, nil
	}
	next := a.p.graph.least
	if some {
		next = max(next, largest+1)
	}
	if count := uint64(a.N - a.p.graph.N); some && largest == math.MaxUint64 ||
		next > math.MaxUint64-count {
		return nil, fmt.Errorf("%d new vertices after the input id %d: there are no ids left",
			count, largest)
	}
	a.next.graph.added = &added{pregel.VertexID(a.p.graph.N), next}
	return all, nil
}

// allToAll exchanges messages, and checks that there is one from each other partition.
func (a *changer) allToAll(ctx context.Context, data [][]byte) ([][]byte, error) {
	came, err := a.exchange(ctx, data)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && len(came) != a.p.Of {
		err = fmt.Errorf("messages of %d partitions, of %d: %w", len(came), a.p.Of, errMessage)
	}
	return came, err
}

// block returns the partition whose block has an arc.
func (a *changer) block(from, to uint32) int {
	u, _ := a.p.Deal.Of(from)
	v, _ := a.p.Deal.Of(to)
	return a.p.Grid.Arc(u, v)
}

// headerBytes is the size of a message before its arcs.
const headerBytes = 8 + 1 + 8 + 4

// encode makes the messages of arcs to the other partitions.
func (a *changer) encode(own *arcs, some bool, largest uint64) [][]byte {
	sent := make([]arcs, a.p.Of)
	for i := 0; i < len(own.ends); i += 2 {
		u, v := own.ends[i], own.ends[i+1]
		forward, backward := a.block(u, v), a.block(v, u)
		for k, q := range [2]int{forward, backward} {
			if k == 1 && q == forward {
				continue
			}
			to := &sent[q]
			to.ends = append(to.ends, u, v)
			if i/2 < own.removals {
				to.removals++
			} else if own.weights != nil {
				to.weights = append(to.weights, own.weights[i/2-own.removals])
			}
		}
	}
	head := append(binary.LittleEndian.AppendUint64(nil, uint64(a.N)), 0)
	if some {
		head[8] = 1
	}
	head = binary.LittleEndian.AppendUint64(head, largest)
	data := make([][]byte, a.p.Of)
	for q, to := range sent {
		if q != a.p.Index {
			data[q] = binary.LittleEndian.AppendUint32(bytes.Clone(head), uint32(to.removals))
			data[q] = append(append(data[q], wire.Bytes(to.ends)...), wire.Bytes(to.weights)...)
		}
	}
	return data
}

// decode decodes a message from partition q. It returns the arcs, whether q has vertices, and the
// largest input id of these vertices.
func (a *changer) decode(data []byte, q int) (got *arcs, some bool, largest uint64, err error) {
	if len(data) < headerBytes || data[8] > 1 {
		return nil, false, 0, errMessage
	}
	if n := binary.LittleEndian.Uint64(data); n != uint64(a.N) {
		return nil, false, 0, fmt.Errorf("a change to %d vertices, here to %d: %w", n, a.N,
			errMessage)
	}
	some, largest = data[8] == 1, binary.LittleEndian.Uint64(data[9:])
	removals := uint64(binary.LittleEndian.Uint32(data[headerBytes-4:]))
	data = data[headerBytes:]
	size := uint64(8)
	if a.weighted() {
		size = 16
	}
	rest := uint64(len(data))
	if 8*removals > rest || (rest-8*removals)%size != 0 {
		return nil, false, 0, errMessage
	}
	added := (rest - 8*removals) / size
	got = &arcs{removals: int(removals), ends: wire.Slice[uint32](data[:8*(removals+added)])}
	for i := 0; i < len(got.ends); i += 2 {
		u, v := got.ends[i], got.ends[i+1]
		if owner, _ := a.p.Deal.Of(u); int(u) >= a.N || int(v) >= a.N || owner != q ||
			a.block(u, v) != a.p.Index && a.block(v, u) != a.p.Index {
			return nil, false, 0, fmt.Errorf("an arc from %d to %d: %w", u, v, errMessage)
		}
	}
	if a.weighted() {
		got.weights = wire.Slice[float64](data[4*len(got.ends):])
	}
	return got, some, largest, nil
}

package build

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// arcSender sends the edges of the store as arcs to the ranks that make their lists. It sends
// blocks of arcs of one bucket of the lists, so the receiver only copies them. All ranks know the
// buckets of all ranks.
type arcSender struct {
	b *builder
	// For in-edges and, in a directed graph, for out-edges. The index is the kind of the sent
	// records.
	lists   []*graph.Scatter
	to      []*graph.BucketMap // by kind
	high    int                // bytes of a code in addition to its low 32 bits
	workers []sendWorker
	arena   mem.Arena
}

// sendWorker has the buffers of a worker.
type sendWorker struct {
	stages     [kinds]*blockStage
	row, other [mostChunk]uint32 // ids of a chunk's rows and other ends
	buckets    [mostChunk]uint32
	codes      [mostChunk]uint64
}

// newArcSender makes an arcSender. The ranks exchange the plans of their lists.
func (b *builder) newArcSender(ctx context.Context, lists []*graph.Scatter) (*arcSender, error) {
	d := &arcSender{b: b, lists: lists, workers: make([]sendWorker, b.team.Size())}
	d.arena.Budget, d.arena.Kind = b.o.Budget, mem.Loading
	for _, s := range lists {
		plan := s.Plan()
		plans, err := collective.Gather(ctx, b.group, b.call(), &plan)
		if err != nil {
			return nil, err
		}
		to, err := graph.NewBucketMap(b.g.N, b.g.Deal, plans...)
		if err != nil {
			return nil, err
		}
		d.to, d.high = append(d.to, to), max(d.high, to.High())
	}
	return d, nil
}

// piece is a chunk of the store, with the position and way of its tile.
type piece struct {
	c          *chunk
	row, other uint32
	way        int
}

// send sends the arcs of a side of the store. there has the ids of the side's other ends. After the
// last side, it sends incomplete blocks too.
func (d *arcSender) send(ctx context.Context, from *side, there []uint32, last bool) error {
	b := d.b
	var all []piece
	for i := range from.tiles() {
		row, other, way := from.tile(i)
		for c := from.chain(0, i).first; c != nil; c = c.next {
			if c.n > 0 {
				all = append(all, piece{c, row, other, way})
			}
		}
	}
	next, count := 0, max(b.roundRecords(2*b.all.tuples, edgeBytes)/2/from.chunk, 1)
	return b.shuffle(ctx, &shuffle{
		stride: blockWords(d.high), weights: b.o.Weights,
		produce: func(out [][]sendBuffer) (bool, error) {
			some := all[next:min(next+count, len(all))]
			next += len(some)
			b.team.For(len(some), 8, func(worker, lo, hi int) {
				for _, p := range some[lo:hi] {
					d.translate(&d.workers[worker], p, from.tiling, there, out[worker])
				}
			})
			more := next < len(all)
			if !more && last {
				d.flush(out)
			}
			return more, nil
		},
		consume: d.consume,
	})
}

// translate puts a chunk's arcs into the blocks of their buckets. Each step is a separate loop over
// the chunk: a short loop has more memory reads in flight.
func (d *arcSender) translate(w *sendWorker, p piece, t *tiling, there []uint32, out []sendBuffer) {
	here, there := d.b.ids[p.row:], there[p.other:]
	if t.high == 0 {
		bits, mask := t.otherBits&31, uint32(1)<<t.otherBits-1
		for i, key := range p.c.low[:p.c.n] {
			w.row[i], w.other[i] = here[key>>bits], there[key&mask]
		}
	} else {
		for i := range p.c.n {
			u, v := t.split(p.c.key(i, t.high))
			w.row[i], w.other[i] = here[u], there[v]
		}
	}
	from, into := w.row[:p.c.n], w.other[:p.c.n]
	if p.way == toRow {
		from, into = into, from
	}
	d.stageArcs(w, 0, into, from, false, p.c.weight, out)
	if d.b.in.Directed {
		d.stageArcs(w, 1, from, into, false, p.c.weight, out)
	} else {
		d.stageArcs(w, 0, from, into, true, p.c.weight, out) // an undirected loop is stored once
	}
}

// stageArcs puts arcs of a kind, from rows to their neighbours, into blocks.
func (d *arcSender) stageArcs(
	w *sendWorker, kind int, rows, neighbors []uint32, noLoops bool,
	weights graph.WeightColumn, out []sendBuffer,
) {
	to, st := d.to[kind], w.stages[kind]
	if st == nil {
		st = newBlockStage(boxes{to.Rank, to.First}, d.high, d.b.o.Weights, &d.arena)
		w.stages[kind] = st
	}
	buckets, codes := w.buckets[:len(rows)], w.codes[:len(rows)]
	to.Locate(rows, neighbors, buckets, codes)
	for i, bucket := range buckets {
		if noLoops && rows[i] == neighbors[i] {
			continue
		}
		if st.full(bucket) {
			st.flush(bucket, out, kind)
		}
		at := st.put(bucket, codes[i])
		if st.weights != nil {
			st.weights[at] = weights.At(i)
		}
	}
}

// flush sends the blocks of all buckets.
func (d *arcSender) flush(out [][]sendBuffer) {
	for worker := range d.workers {
		for kind, st := range d.workers[worker].stages {
			if st != nil {
				st.flushAll(out[worker], kind)
			}
		}
	}
}

// consume adds received arcs to this rank's lists.
func (d *arcSender) consume(from []sendBuffer) error {
	stride := blockWords(d.high)
	return d.b.eachRun(from, stride, blockEdges, func(worker int, r run) error {
		p := &from[r.rank]
		for i := r.lo; i < r.hi; i++ {
			bucket, n, ok := p.head(r.way, i, stride)
			if !ok || r.way >= len(d.lists) {
				return invalid(r.rank, "arcs of bucket %d", bucket)
			}
			var w graph.WeightColumn
			if d.b.o.Weights != edges.Unweighted {
				w = p.weights[r.way].Slice(i*blockEdges, i*blockEdges+n)
			}
			if err := d.lists[r.way].Block(worker, bucket, p.low(r.way, i, stride, n),
				p.other(r.way, i, stride, n), w); err != nil {
				return fmt.Errorf("from rank %d: %w", r.rank, err)
			}
		}
		return nil
	})
}

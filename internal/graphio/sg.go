package graphio

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/superstep-go/superstep/internal/edges"
)

// A serialized graph of the GAP Benchmark Suite (S. Beamer, src/writer.h): .sg, or .wsg with
// weights. Numbers are little-endian. Vertices are signed 32-bit numbers from 0. An edge of an
// undirected graph is in the lists of both its ends. A directed graph also has the lists of
// in-neighbours, which are redundant.
//
//	0          1         9         17                     17 + 8(n+1)
//	| directed | edges m | nodes n | offsets, n+1 (int64) | neighbours, m    |
//	directed alone:                | offsets, n+1 (int64) | in-neighbours, m |
//
//	neighbour: | vertex (int32) |, in .wsg | vertex (int32) | weight (int32) |
const serializedHead = 17

type serialized struct {
	directed bool
	nodes, m int64
	weighted bool
}

// recordSize returns the size of a neighbour in bytes.
func (h *serialized) recordSize() int64 {
	if h.weighted {
		return 8
	}
	return 4
}

// neighbors returns the offset of the neighbours in the file.
func (h *serialized) neighbors() int64 { return serializedHead + 8*(h.nodes+1) }

// readSerialized reads a serialized graph. Its vertices are 0 to n-1. The array of neighbours is
// cut into equal parts. Each part finds the vertices of its neighbours in the offsets.
func (r *reader) readSerialized(ctx context.Context, p *parsed) error {
	f := p.f
	h, err := serializedHeader(f, r.format == SerializedW)
	if err != nil {
		return err
	}
	if err := r.checkOffsets(ctx, f, h); err != nil {
		return err
	}
	p.grammar, p.what, p.Directed = r.grammar(h.weighted), "GAPBS serialized graph", h.directed
	p.twice, p.numbering = !h.directed, consecutive(0, int(h.nodes))
	p.Unbalanced = func(context.Context) error {
		return f.fault("an undirected graph with edges in the list of one end alone",
			"each in the lists of both its ends, with the same weight")
	}
	size := h.recordSize()
	var part extent
	part.from, part.to = edges.Part(int(h.m), r.rank, r.ranks)
	parsers := make([]parser, r.Team.Size())
	p.table, err = r.filled(f, p.columns, func(t *table) error {
		return r.records(ctx, f, h.neighbors(), int(size), part,
			func(worker int, some *piece, first int) error {
				q := &parsers[worker]
				q.grammar = p.grammar
				q.reset()
				if err := h.lists(f, q, int64(first), some.data); err != nil {
					return err
				}
				t.store(worker, some.index, q)
				return nil
			})
	})
	if err != nil {
		return err
	}
	begin := h.neighbors()
	from, to := begin+int64(part.from)*size, begin+int64(part.to)*size
	p.table.spans = []edges.Span{{From: from, To: to, Size: f.size()}}
	return nil
}

// serializedHeader reads the header and checks it against the size of the file.
func serializedHeader(f *file, weighted bool) (*serialized, error) {
	if err := f.random("a serialized graph that is not compressed"); err != nil {
		return nil, err
	}
	if f.size() < serializedHead+8 {
		return nil, f.fault(Counted(f.size(), "byte"), "a header of 17 bytes and an offset")
	}
	var head [serializedHead]byte
	if err := f.readAt(head[:], 0); err != nil {
		return nil, err
	}
	h := &serialized{directed: head[0] == 1, weighted: weighted}
	h.m, h.nodes = int64(binary.LittleEndian.Uint64(head[1:])),
		int64(binary.LittleEndian.Uint64(head[9:]))
	switch {
	case head[0] > 1:
		return nil, f.fault(fmt.Sprintf("the byte %d", head[0]),
			"0 (undirected) or 1 (directed) at the beginning of a serialized graph")
	case h.nodes < 0 || h.nodes > math.MaxInt32 || h.m < 0 || h.m > 1<<48:
		return nil, f.fault(fmt.Sprintf("%d nodes and %d edges", h.nodes, h.m),
			"at most 2147483647 nodes and 281474976710656 edges")
	}
	want := 8*(h.nodes+1) + h.recordSize()*h.m
	if h.directed {
		want *= 2
	}
	if want += serializedHead; want != f.size() {
		expected := fmt.Sprintf("%s: those of %s and %s", Thousands(want), Counted(h.nodes, "node"),
			Counted(h.m, "edge"))
		if !weighted && want+4*h.m*int64(1+head[0]) == f.size() { // 4 more bytes a neighbour
			expected += " (--format wsg reads weights)"
		}
		return nil, f.fault(Counted(f.size(), "byte"), expected)
	}
	return h, nil
}

// checkOffsets checks this rank's part of the offsets: they begin with 0, do not fall, and end with
// the number of edges.
func (r *reader) checkOffsets(ctx context.Context, f *file, h *serialized) error {
	var part extent
	part.from, part.to = edges.Part(int(h.nodes)+1, r.rank, r.ranks)
	return r.records(ctx, f, serializedHead, 8, part, func(_ int, p *piece, at int) error {
		first, before := int64(at), int64(0)
		if first > 0 {
			var err error
			if before, err = h.offset(f, first-1); err != nil {
				return err
			}
		}
		for i := 0; i < len(p.data); i += 8 {
			at := int64(binary.LittleEndian.Uint64(p.data[i:]))
			node := first + int64(i)/8
			switch {
			case node == 0 && at != 0, at < before, node == h.nodes && at != h.m:
				return f.fault(fmt.Sprintf("the offset %d of node %d after %d", at, node, before),
					fmt.Sprintf("offsets that rise from 0 to %d", h.m))
			}
			before = at
		}
		return nil
	})
}

// offset reads the offset of a node's list.
func (h *serialized) offset(f *file, node int64) (int64, error) {
	var b [8]byte
	err := f.readAt(b[:], serializedHead+8*node)
	return int64(binary.LittleEndian.Uint64(b[:])), err
}

// offsetsSize is the number of bytes of offsets that are read at a time.
const offsetsSize = 32 << 10

// lists adds the neighbours in data to q. at is the index of the first of them.
func (h *serialized) lists(f *file, q *parser, at int64, data []byte) error {
	var failed error
	// the last node whose list begins at or before at
	node := int64(sort.Search(int(h.nodes), func(i int) bool {
		begins, err := h.offset(f, int64(i)+1)
		if err != nil {
			failed = err
		}
		return begins > at
	}))
	if failed != nil {
		return failed
	}
	rest := io.NewSectionReader(f.f, serializedHead+8*(node+1), 8*(h.nodes-node))
	ends, word := bufio.NewReaderSize(rest, offsetsSize), make([]byte, 8)
	size := int(h.recordSize())
	for len(data) > 0 {
		if _, err := io.ReadFull(ends, word); err == io.EOF ||
			err == io.ErrUnexpectedEOF {
			return f.changed("other offsets")
		} else if err != nil {
			return &readError{err}
		}
		end := int64(binary.LittleEndian.Uint64(word))
		n := min(end-at, int64(len(data)/size))
		for range max(n, 0) {
			if bad := h.neighbor(q, uint64(node), data); bad != nil {
				bad.found += fmt.Sprintf(" in the list of %d", node)
				return inFile(bad, f.path)
			}
			data = data[size:]
			at++
		}
		node++
	}
	return nil
}

// neighbor reads a neighbour of u.
func (h *serialized) neighbor(q *parser, u uint64, data []byte) *fault {
	v := uint64(binary.LittleEndian.Uint32(data))
	if v >= uint64(h.nodes) {
		return wrong(fmt.Sprintf("the neighbour %d", int32(v)),
			fmt.Sprintf("one of %s, from 0", Counted(h.nodes, "node")))
	}
	w := 0.0
	if h.weighted {
		w = float64(int32(binary.LittleEndian.Uint32(data[4:])))
		if q.single {
			w = float64(float32(w))
		}
	}
	q.neighbor(u, v, w)
	return nil
}

package build

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// buffer is a list of records that grows by runs of memory, the first small and the largest of mostRun records.
type buffer struct {
	arena   *mem.Arena
	stride  int
	kind    edges.Weights
	n       int
	words   [][]uint64
	weights []column
	room    int // records that the last run can still take
}

const (
	leastRun = 1 << 8
	mostRun  = 1 << 16
)

// add appends a record of one or two words, with its place in the weights given.
func (p *buffer) add(a, z uint64, weights column, at int) {
	if p.room == 0 {
		p.room = min(max(p.n, leastRun), mostRun)
		p.words = append(p.words, mem.Make[uint64](p.arena, p.room*p.stride)[:0])
		var c column
		switch p.kind {
		case edges.Float32:
			c.single = mem.Make[float32](p.arena, p.room)[:0]
		case edges.Float64:
			c.double = mem.Make[float64](p.arena, p.room)[:0]
		}
		p.weights = append(p.weights, c)
	}
	last := len(p.words) - 1
	p.words[last] = append(p.words[last], a)
	if p.stride == 2 {
		p.words[last] = append(p.words[last], z)
	}
	switch c := &p.weights[last]; p.kind {
	case edges.Float32:
		c.single = append(c.single, weights.single[at])
	case edges.Float64:
		c.double = append(c.double, weights.double[at])
	}
	p.room--
	p.n++
}

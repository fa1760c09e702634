package graph500

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
)

// delivered is the number of vertices that a rank sends to other ranges between two exchanges.
const delivered = 1 << 15

// errForeign means that a rank received a vertex that belongs to another rank.
var errForeign = errors.New("found a vertex of another worker")

// onItsWay is the result of a vertex, to be sent to the rank of its range.
type onItsWay struct {
	vertex uint32 // relative to the first vertex of the range
	parent inputNumber
	dist   float32
}

// deliver sends the translated results to the ranks of the vertices' ranges, which write them to
// parent and dist.
func (s *Rank) deliver(ctx context.Context, found Found) error {
	parts, most := s.parts(), 0
	for _, p := range parts {
		most = max(most, p.Owned)
	}
	step := delivered/max(len(parts), 1) + 1 // vertices of each partition per round
	rounds, err := collective.CombineOne(ctx, s.group, s.small(), collective.MaxUint64,
		uint64((most+step-1)/step))
	if err != nil {
		return err
	}
	out := make([][]onItsWay, s.ranks())
	for round := range int(rounds) {
		for q := range out {
			out[q] = out[q][:0]
		}
		for _, p := range parts {
			for local := round * step; local < min((round+1)*step, p.Owned); local++ {
				s.sendOne(out, p, uint32(local), found)
			}
		}
		in, err := collective.AlltoallOf(ctx, s.group, s.bulk(), out)
		if err != nil {
			return err
		}
		for q, list := range in {
			if err := s.arrive(list, found.hops != nil); err != nil {
				return fmt.Errorf("from rank %d: %w", q, err)
			}
		}
	}
	return nil
}

// sendOne adds the result of a vertex to the data for the rank of its range.
func (s *Rank) sendOne(out [][]onItsWay, p *graph.Partition, local uint32, found Found) {
	item := onItsWay{vertex: s.input(p, local), parent: s.tables.parents[p.Index][local]}
	switch item.parent {
	case unreached:
		return
	case noParent:
		item.parent = unreached
	}
	if found.hops != nil {
		item.dist = found.hops(p.Index)[local].Dist
	}
	q := item.vertex / uint32(s.per)
	item.vertex -= q * uint32(s.per)
	out[q] = append(out[q], item)
}

// arrive writes received results to parent and dist.
func (s *Rank) arrive(list []onItsWay, dist bool) error {
	for _, item := range list {
		if item.vertex >= uint32(len(s.parent)) {
			return errForeign
		}
		s.parent[item.vertex] = uint32(item.parent)
		if dist {
			s.dist[item.vertex] = item.dist
		}
	}
	return nil
}

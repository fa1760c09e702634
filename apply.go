package superstep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Apply makes a second graph of this one with vertices and edges removed and added. It takes a fraction of the time of loading: lists
// that change are copied, lists that do not are shared, and the graph's vertices keep their handles. New ones get the next handles, so
// they are not in the order of degree: after large changes [Graph.Repartition] makes a graph that is faster to run on. A vertex that
// is removed keeps its handle, which no other gets, and is in no result.
//
// Both graphs may be used, and are closed on their own. Errors of a delta name the input id.
func (g *Graph) Apply(ctx context.Context, d pregel.Delta) (_ *Graph, err error) {
	defer mem.Recover(&err)
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	keep := false
	defer func() {
		if !keep {
			g.refs.Release()
		}
	}()
	if g.elsewhere != nil {
		return nil, errors.New("superstep: Graph.Apply: a graph on a cluster stays as it was loaded: apply the delta to its input, and load that")
	}
	team := newTeam(0)
	defer team.Close()
	next, shares, err := g.g.Apply(ctx, d, team)
	if err != nil {
		return nil, fmt.Errorf("superstep: Graph.Apply: %w", err)
	}
	keep = shares
	if !shares {
		return &Graph{g: next, Account: slices.Clone(g.Account), refs: mem.NewRefs(next.Close)}, nil
	}
	return g.derived(next), nil
}

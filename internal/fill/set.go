package fill

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// takesSets returns an error if a property cannot be filled from a vertex set.
func takesSets(c kernel.Property) error {
	if c.OfEdges || c.Type() == vertexType {
		return fmt.Errorf("a vertex set fills columns of vertices with the number 1, and this column is of type %v", c.Type())
	}
	return nil
}

// setFile sets the column from the file of a vertex set.
func (c *Column) setFile(ctx context.Context, path string) error {
	set, err := graph.OpenSet(ctx, path)
	if err != nil {
		return err
	}
	if err := c.Fill(set); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Fill sets the column to 1 for the vertices of a set in the partitions of this process.
func (c *Column) Fill(set graph.VertexSet) error {
	if err := takesSets(c.Property); err != nil {
		return err
	}
	if err := c.graph.Has(set); err != nil {
		return err
	}
	find := func(uint64) (pregel.VertexID, bool) { return pregel.None, false }
	for id := range c.graph.InSet(set) {
		v := graphio.Value{ID: c.graph.Label(id), Text: []byte("1")}
		if found, expected := c.Set(id, id, &v, find); found != "" {
			return fmt.Errorf("found %s, expected %s", found, expected)
		}
	}
	return nil
}

package fill

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
)

var errSet = errors.New("a vertex set needs the graph in this process: write its vertices as lines \"id 1\" for a cluster")

// set sets the column to 1 for the vertices of a set.
func (c *Column) set(ctx context.Context, path string) error {
	if c.OfEdges || c.Type() == vertexType {
		return fmt.Errorf("%s: a vertex set fills columns of vertices with the number 1, and this column is of type %v", path, c.Type())
	}
	set, err := graph.OpenSet(ctx, path)
	if err != nil {
		return err
	}
	labels, err := c.graph.Members(set)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, label := range labels {
		id, _ := c.graph.Find(label)
		v := graphio.Value{ID: label, Text: []byte("1")}
		if found, expected := c.Set(id, id, &v, c.graph.Find); found != "" {
			return fmt.Errorf("%s: found %s, expected %s", path, found, expected)
		}
	}
	return nil
}

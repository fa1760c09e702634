package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// ValueType describes the type of the program's values, by what must be the same in two processes; it is an error if they cannot
// travel.
func (e *erased[V, M]) ValueType() (string, error) {
	c, err := pack.NewValues[V]()
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name(), err)
	}
	return c.Type(), nil
}

// AppendBlock appends values of vertices of a partition here, from the first on, for a pack.Column.
func (j *Job[V, M]) AppendBlock(dst []byte, partition, first, count int) ([]byte, error) {
	c, err := pack.NewValues[V]()
	if err != nil {
		return dst, err
	}
	values := make([]V, count)
	for i := range values {
		values[i] = j.Value(pregel.VertexID(partition + (first+i)*len(j.graph.Parts)))
	}
	return c.AppendBlock(dst, partition, first, values)
}

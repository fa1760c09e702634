package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// ValueType describes the type of the program's values, by what must be the same in two processes;
// it is an error if they cannot travel.
func (m *methods) ValueType() (string, error) {
	c, err := pack.NewValues(m.program.Value, mem.PointerFreeType(m.program.Value))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name(), err)
	}
	return c.Type(), nil
}

// AppendBlock appends values of vertices of a partition here, from the first on, for a pack.Column.
func (j *Job) AppendBlock(dst []byte, partition, first, count int) ([]byte, error) {
	own := j.owners[partition].instance.Values()
	c, err := pack.NewValues(own.Type(), own.Raw())
	if err != nil {
		return dst, err
	}
	return c.AppendBlock(dst, partition, first, own.Part(first, first+count))
}

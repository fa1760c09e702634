package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// ValueType describes the type of the program's values. Two processes must have the same
// description. The error is not nil if values cannot be sent between processes.
func (m *Program) ValueType() (string, error) {
	c, err := pack.NewValues(m.program.Value, mem.PointerFreeType(m.program.Value))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name(), err)
	}
	return c.Type(), nil
}

// AppendBlock appends values of a partition of this process, from vertex number first on, for a
// pack.Column.
func (j *Job) AppendBlock(dst []byte, partition, first, count int) ([]byte, error) {
	own := j.owners[partition].instance.Values()
	c, err := pack.NewValues(own.Type(), own.Raw())
	if err != nil {
		return dst, err
	}
	return c.AppendBlock(dst, partition, first, own.Part(first, first+count))
}

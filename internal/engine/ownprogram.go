package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// ownProgram is the coordinator's copy of a program that has a method Coordinate. Vertices do not
// see fields that Coordinate changes, neither in one process nor on a cluster.
type ownProgram struct {
	given   any
	copy    any
	watcher Watcher // or nil
}

// Begin makes the copy for a run: of the original program, or with the state from a checkpoint.
func (o *ownProgram) Begin(kept []byte, resumed bool) error {
	own := mem.Clone(o.given)
	if k, ok := own.(Keeping); ok {
		if !resumed {
			var err error
			if kept, err = o.given.(Keeping).MarshalBinary(); err != nil {
				return fmt.Errorf("the program's own state: %w", err)
			}
		}
		if err := k.UnmarshalBinary(kept); err != nil {
			return fmt.Errorf("the program's own state: %w", err)
		}
	}
	o.copy = own
	return nil
}

// State encodes the program's own state, for a checkpoint.
func (o *ownProgram) State() ([]byte, error) {
	if k, ok := o.copy.(Keeping); ok {
		return k.MarshalBinary()
	}
	return nil, nil
}

// Coordinate calls Coordinate of the copy.
func (o *ownProgram) Coordinate(c *pregel.Coordinator) {
	p := o.copy.(Coordinating)
	if o.watcher == nil {
		p.Coordinate(c)
	} else if err := o.watcher.Coordinate(o.copy, func() { p.Coordinate(c) }); err != nil {
		c.Fail(err)
	}
}

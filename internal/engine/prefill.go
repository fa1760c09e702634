package engine

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Prefilled is what a vertex property has when a run begins: by partition here, a []T of its vertices in order, to be set before the
// run.
type Prefilled struct {
	kernel.Property
	Program string
	Storage map[int]any
}

// Column returns the vertex property of a name that the program lists.
func (e *erased[V, M]) Column(name string) (kernel.Property, error) { return e.methods.column(name) }

func (m *methods[V, M]) column(name string) (kernel.Property, error) {
	var names []string
	for _, c := range m.properties {
		if c.Name == name && !c.OfEdges {
			return c, nil
		}
		if !c.OfEdges {
			names = append(names, c.Name)
		}
	}
	err := fmt.Errorf("%s: its method Columns lists no vertex column %.150q", programName(m.program), name)
	if len(names) > 0 {
		err = fmt.Errorf("%w, only %s", err, strings.Join(names, ", "))
	}
	return kernel.Property{}, err
}

// Prefill returns the storage of what a vertex property of the program has when a run begins, zero at first.
func (j *Job[V, M]) Prefill(name string) (*Prefilled, error) {
	c, err := j.methods.column(name)
	if err != nil {
		return nil, err
	}
	p := &Prefilled{c, j.name, map[int]any{}}
	for _, r := range j.runners {
		storage := c.New(r.part.Owned)
		p.Storage[r.part.Index] = storage
		if r.prefilled == nil {
			r.prefilled = map[int]any{}
		}
		r.prefilled[c.Number] = storage
	}
	return p, nil
}

// beginProperty makes the storage of a property for a run.
func (r *runner[V, M]) beginProperty(c kernel.Property, n int) any {
	storage := c.New(n)
	if from, ok := r.prefilled[c.Number]; ok {
		reflect.Copy(reflect.ValueOf(storage), reflect.ValueOf(from))
	}
	return storage
}

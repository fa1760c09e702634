package resolve

import (
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
)

// ResultForm is how the lines read that a program's results are written as, with names for vertices
// or without. Of a program that is not there the values are one field.
func ResultForm(programs engine.Registry, program string, parameters map[string]string, named bool) resultlines.Form {
	f := resultlines.Form{Named: named, Fields: []engine.Field{{Name: "value"}}}
	e, err := programs.Find(program)
	if err != nil {
		return f
	}
	if named {
		parameters = AsNames(e.Parameters, parameters)
	}
	if p, err := e.New(parameters, func(uint64) (pregel.VertexID, bool) { return 0, true }); err == nil {
		f.Fields = p.Fields()
	}
	return f
}

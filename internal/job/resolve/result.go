package resolve

import (
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
)

// ResultForm returns the format of the lines of a program's result, with or without names of
// vertices. For an unknown program, a value is one field.
func ResultForm(
	programs engine.Registry, program string, parameters map[string]string, named bool,
) resultlines.Form {
	f := resultlines.Form{Named: named, Fields: []resultlines.Field{{Name: "value"}}}
	e, err := programs.Find(program)
	if err != nil {
		return f
	}
	if named {
		parameters = AsNames(e.Parameters, parameters)
	}
	p, err := e.New(parameters, func(uint64) (pregel.VertexID, bool) { return 0, true })
	if err == nil {
		f.Fields = p.Fields()
	}
	return f
}

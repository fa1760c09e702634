package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// vertexParameters are the parameters of the job with vertices by their input ids, where the input
// has names for them.
func (l *loaded) vertexParameters() (map[string]string, error) {
	if l.graph.Names == nil {
		return l.spec.Parameters, nil
	}
	values, err := resolve.VertexParameters(l.entry.Parameters, l.spec.Parameters,
		l.graph.Names.Find)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.graph.Name, err)
	}
	return values, nil
}

// unnamed reads lines of a result with names: the input ids of the vertices, and the values, with
// blanks between fields.
func unnamed(lines []byte, form resultlines.Form, find func(name string) (uint64,
	bool),
) (labels []uint64, values []string, err error) {
	for line := range bytes.Lines(lines) {
		vertex, value := form.Cut(line)
		label, ok := find(resultlines.Unquoted(string(vertex)))
		if !ok {
			return nil, nil, fmt.Errorf("found a value for %.80q, which is no vertex", vertex)
		}
		parts, err := columnsOf(form, value)
		if err != nil {
			return nil, nil, err
		}
		labels, values = append(labels, label), append(values, strings.Join(parts, " "))
	}
	return labels, values, nil
}

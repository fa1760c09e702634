package jobspec

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
)

// VertexParameters returns the values of parameters with input ids in place of the names of vertices. In a list names are between commas.
func VertexParameters(parameters []engine.Parameter, values map[string]string, find func(name string) (uint64, bool)) (map[string]string, error) {
	values = maps.Clone(values)
	for _, p := range parameters {
		text := values[p.Name]
		if text == "" || !strings.HasSuffix(p.Type, "vertex") {
			continue
		}
		all := []string{text}
		if p.List {
			all = strings.Split(text, ",")
		}
		for i, name := range all {
			label, ok := find(name)
			if !ok {
				return nil, fmt.Errorf("parameter %s: the graph has no vertex %q", p.Name, name)
			}
			all[i] = strconv.FormatUint(label, 10)
		}
		values[p.Name] = strings.Join(all, ",")
	}
	return values, nil
}

// BeforeLoading returns the parameters of a job as far as they can be checked before its graph is there: where its vertices may have names,
// each is taken for one.
func BeforeLoading(parameters []engine.Parameter, values map[string]string, source *control.GraphSource) map[string]string {
	if source == nil || !graphio.Tabular(source.Input, source.Format) {
		return values
	}
	values, _ = VertexParameters(parameters, values, func(string) (uint64, bool) { return 0, true }) // which finds all
	return values
}

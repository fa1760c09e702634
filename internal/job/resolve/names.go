package resolve

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// OwnGraph is the name that the graph which a job loads for itself has on the workers.
func OwnGraph(job string) string { return "job " + job }

// VertexParameters returns the values of parameters with input ids in place of the names of
// vertices. In a list names are between commas; a backslash stands before a comma that belongs to a
// name.
func VertexParameters(parameters []engine.Parameter, values map[string]string, find func(name string) (uint64, bool)) (map[string]string, error) {
	values = maps.Clone(values)
	for _, p := range parameters {
		text := values[p.Name]
		if text == "" || !strings.HasSuffix(p.Type, "vertex") {
			continue
		}
		all := []string{text}
		if p.List {
			all = engine.SplitNames(text)
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

// BeforeLoading returns the parameters of a job as far as they can be checked before its graph is
// there: where its vertices may have names, each is taken for one. Without a source it is a graph
// of the catalog, whose master knows more.
func BeforeLoading(parameters []engine.Parameter, values map[string]string, source *job.Source) map[string]string {
	if source != nil && !MayBeNamed(source) {
		return values
	}
	return AsNames(parameters, values)
}

// MayBeNamed reports whether the vertices of a graph that is not loaded yet may have names.
func MayBeNamed(source *job.Source) bool {
	return graphio.Tabular(source.Input, source.Format) || snapshot.Is(source.Input)
}

// AsNames returns the parameters with an input id in place of whatever vertices are called.
func AsNames(parameters []engine.Parameter, values map[string]string) map[string]string {
	// which finds all
	values, _ = VertexParameters(parameters, values, func(string) (uint64, bool) { return 0, true })
	return values
}

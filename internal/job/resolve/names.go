package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// OwnGraph returns the name on the workers of the graph that a job loads for itself.
func OwnGraph(job string) string { return "job " + job }

// VertexParameters replaces names of vertices in parameters by input ids. Names in a list are
// separated by commas; a backslash escapes a comma in a name.
func VertexParameters(
	parameters []engine.Parameter, values map[string]string, find func(name string) (uint64, bool),
) (map[string]string, error) {
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

// BeforeLoading returns a job's parameters for checks before its graph is loaded. If the vertices
// may have names, each vertex is treated as a name. A nil source means a graph of the catalog,
// which the master checks.
func BeforeLoading(
	parameters []engine.Parameter, values map[string]string, source *job.Source,
) map[string]string {
	sets := func(text string) bool { return strings.Contains(text, graph.SetPrefix) }
	if source != nil && !MayBeNamed(source) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(values)), sets) {
		return values
	}
	return AsNames(parameters, values)
}

// MayBeNamed reports whether the vertices of a graph that is not loaded yet may have names.
func MayBeNamed(source *job.Source) bool {
	return graphio.Tabular(source.Input, source.Format) || snapshot.Is(source.Input)
}

// AsNames replaces all vertices in the parameters by the input id 0, as if they were names.
func AsNames(parameters []engine.Parameter, values map[string]string) map[string]string {
	// find accepts every name
	values, _ = VertexParameters(parameters, values, func(string) (uint64, bool) { return 0, true })
	return values
}

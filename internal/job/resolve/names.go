package resolve

import (
	"errors"
	"fmt"
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

// ErrElsewhere is the error for a set in a job for a cluster.
var ErrElsewhere = errors.New("a vertex set needs the graph in this process: superstep set --list writes its vertices for a cluster")

// VertexParameters replaces names of vertices in parameters by input ids. Names in a list are
// separated by commas; a backslash escapes a comma in a name.
func VertexParameters(
	parameters []engine.Parameter, values map[string]string, find func(name string) (uint64, bool),
) (map[string]string, error) {
	return engine.MapVertices(parameters, values, func(name string) ([]string, error) {
		label, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("the graph has no vertex %q", name)
		}
		return []string{strconv.FormatUint(label, 10)}, nil
	})
}

// mapSets replaces each set:FILE in a program's parameters.
func mapSets(
	parameters []engine.Parameter, values map[string]string, to func(file string) (string, error),
) (map[string]string, error) {
	return engine.MapVertices(parameters, values, func(text string) (_ []string, err error) {
		if file, ok := strings.CutPrefix(text, graph.SetPrefix); ok {
			text, err = to(file)
		}
		return []string{text}, err
	})
}

// WithoutSets rejects vertex sets in the parameters of a job for a cluster.
func WithoutSets(parameters []engine.Parameter, values map[string]string) error {
	_, err := mapSets(parameters, values, func(file string) (string, error) {
		return "", fmt.Errorf("%s%s: %w", graph.SetPrefix, file, ErrElsewhere)
	})
	return err
}

// BeforeLoading returns a job's parameters for checks before its graph is loaded. If the vertices
// may have names, each vertex is treated as a name; otherwise only set:FILE is. A nil source means a graph of the catalog,
// which the master checks.
func BeforeLoading(
	parameters []engine.Parameter, values map[string]string, source *job.Source,
) map[string]string {
	if source != nil && !MayBeNamed(source) {
		values, _ = mapSets(parameters, values, func(string) (string, error) { return "0", nil })
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

package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// OwnGraph returns the name on the workers of the graph that a job loads for itself.
func OwnGraph(job string) string { return "job " + job }

// Sets returns the files of the vertex sets in a program's parameters, sorted.
func Sets(parameters []engine.Parameter, values map[string]string) (files []string) {
	_, _ = engine.Vertices(parameters, values, func(file string) ([]uint64, error) {
		files = append(files, file)
		return anySet(file)
	}, nil)
	slices.Sort(files)
	return slices.Compact(files)
}

// UsesSets reports whether a job of a cluster reads or writes vertex sets.
func UsesSets(spec *job.Spec) bool {
	uses := spec.Numbered || len(spec.Sets) > 0
	for _, data := range spec.ColumnData {
		uses = uses || graph.IsSet(data.File)
	}
	return uses
}

// sent checks that a client has sent the vertex sets that a job names, and no others.
func sent(parameters []engine.Parameter, spec *job.Spec) error {
	files := Sets(parameters, spec.Parameters)
	if spec.Source != nil && spec.Source.Within != "" {
		files = append(files, spec.Source.Within)
	}
	for _, file := range files {
		if spec.Sets[file] == nil {
			return fmt.Errorf("vertex set %.150q: nothing was sent", file)
		}
	}
	for file := range spec.Sets {
		if !slices.Contains(files, file) {
			return fmt.Errorf("vertex set %.150q: it was sent, but the job does not name it", file)
		}
	}
	return nil
}

// AbsoluteSets makes the files in set:FILE in a program's parameters independent of this process's
// directory.
func AbsoluteSets(
	parameters []engine.Parameter, values map[string]string,
) (map[string]string, error) {
	return engine.MapVertices(parameters, values, func(text string) (_ []string, err error) {
		if file, ok := strings.CutPrefix(text, graph.SetPrefix); ok {
			file, err = graphio.Absolute(file)
			text = graph.SetPrefix + file
		}
		return []string{text}, err
	})
}

// BeforeLoading returns a job's parameters for checks before its graph is loaded. If the vertices
// may have names, each vertex is treated as a name; otherwise only set:FILE is. A nil source means a
// graph of the catalog, which the master checks.
func BeforeLoading(
	parameters []engine.Parameter, values map[string]string, source *job.Source,
) map[string]string {
	return AsIDs(parameters, values, source == nil || MayBeNamed(source))
}

// MayBeNamed reports whether the vertices of a graph that is not loaded yet may have names.
func MayBeNamed(source *job.Source) bool {
	return graphio.Tabular(source.Input, source.Format) || snapshot.Is(source.Input)
}

// AsNames replaces all vertices in the parameters by the input id 0, as if they were names.
func AsNames(parameters []engine.Parameter, values map[string]string) map[string]string {
	return AsIDs(parameters, values, true)
}

// AsIDs replaces vertex sets, and with named all vertices, in the parameters by the input id 0.
func AsIDs(parameters []engine.Parameter, values map[string]string, named bool) map[string]string {
	var find func(name string) (uint64, bool)
	if named {
		find = func(string) (uint64, bool) { return 0, true }
	}
	values, _ = engine.Vertices(parameters, values, anySet, find)
	return values
}

// anySet stands for the vertices of a set that is not read.
func anySet(string) ([]uint64, error) { return []uint64{0}, nil }

// Named returns the names of vertices in a program's parameters.
func Named(parameters []engine.Parameter, values map[string]string) (names []string) {
	_, _ = engine.Vertices(parameters, values, anySet, func(name string) (uint64, bool) {
		names = append(names, name)
		return 0, true
	})
	return names
}

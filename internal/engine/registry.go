package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/pregel"
)

// Find translates the input id of a vertex.
type Find = func(label uint64) (pregel.VertexID, bool)

// New makes a program with the values of its parameters; find is nil when there is no graph yet.
type New = func(values map[string]string, find Find) (Program, error)

// Registered is a program under the name by which it is asked for, as package pregel has it without what is in it.
type Registered struct {
	Name, Help string
	Parameters []Parameter
	New        New
	Err        error // what is wrong with the program, one line each
	// KeepWeights says that the program may look at the weights of edges, whatever its combiner wants.
	KeepWeights bool
}

var _ pregel.Registered = Registered{}

// ProgramName returns the name.
func (r Registered) ProgramName() string { return r.Name }

// Register names a program. Its parameters are its fields with a param tag.
func Register[V, M any](name string, p pregel.Program[V, M]) Registered {
	return Registered{
		Name: name, Help: "a program of this binary", Parameters: Parameters(Inner(p)), KeepWeights: true, Err: CheckProgram(p),
		New: func(values map[string]string, find Find) (Program, error) {
			fresh, err := Fresh(p, values, find)
			if err != nil {
				return nil, err
			}
			return Erase(fresh)
		},
	}
}

// Registry is the programs of a binary, with different names.
type Registry []Registered

// Find returns the program of a name.
func (r Registry) Find(name string) (Registered, error) {
	var names []string
	for _, p := range r {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return Registered{}, fmt.Errorf("there is no algorithm %.150q: the algorithms are %s", name, strings.Join(names, ", "))
}

// New returns what makes the program of a name, or nil.
func (r Registry) New(name string) New {
	p, _ := r.Find(name)
	return p.New
}

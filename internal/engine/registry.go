package engine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/pregel"
)

// Find translates the input id of a vertex.
type Find = func(label uint64) (pregel.VertexID, bool)

// LabelOf returns the input id of a vertex, and whether the vertex exists.
type LabelOf = func(id pregel.VertexID) (uint64, bool)

// New makes a program with the values of its parameters. find is nil if there is no graph yet.
type New = func(values map[string]string, find Find) (*Program, error)

// Registered is a program with its name. pregel.Registered is its opaque form.
type Registered struct {
	Name, Help string
	Parameters []Parameter
	// KeepWeights means that the program may read the weights of edges even if its combiner needs
	// none.
	KeepWeights bool
	Own         bool // a program of this binary, not a built-in one

	// Variants are the programs that New may return. All have the same parameters.
	Variants []Variant
}

// Variant is a program as it was registered, and the values of the parameters that select it. The
// first variant is the default.
type Variant struct {
	Program Erased
	Choose  map[string]string
}

var _ pregel.Registered = Registered{}

func (r Registered) ProgramName() string { return r.Name }

// Register makes the entry of a program with a name. The fields with a param tag are its
// parameters.
func Register(name string, p Erased) Registered {
	help := "a program of this binary"
	_ = bsp.Contain(name, &bsp.NoSuperstep, func() error { // Check returns the defects
		help = cmp.Or(traitsOf(p.Program).Help, help)
		return nil
	})
	return Registered{
		Name: name, Help: help, Parameters: Parameters(p.Program), KeepWeights: true,
		Variants: []Variant{{Program: p}},
	}
}

// New makes a program with the values of its parameters. find is nil if there is no graph yet.
func (r Registered) New(values map[string]string, find Find) (*Program, error) {
	chosen := r.Variants[0]
	for _, v := range r.Variants[1:] {
		for parameter, word := range v.Choose {
			if values[parameter] == word {
				chosen = v
			}
		}
	}
	fresh, err := Fresh(chosen.Program, values, find)
	if err != nil {
		return nil, err
	}
	return NewProgram(fresh)
}

// Check returns the defects of the program, one line each.
func (r Registered) Check() []error { return CheckProgram(r.Variants[0].Program) }

// Or adds a second program with the same parameters, and a parameter with two allowed words that
// selects one of the two. The first word selects r.
func (r *Registered) Or(other Registered, parameter, help string, words ...string) {
	r.Parameters = append(r.Parameters,
		Parameter{Name: parameter, Default: words[0], Help: help, Type: "string", Words: words})
	r.Variants = append(r.Variants,
		Variant{other.Variants[0].Program, map[string]string{parameter: words[1]}})
}

// Given returns the parameters from which New makes a program, and whether the program has a
// registered type.
func (r Registered) Given(
	program any, zero []string, label LabelOf,
) (values map[string]string, ok bool, err error) {
	for _, v := range r.Variants {
		if indirect(v.Program.Program) != indirect(program) {
			continue
		}
		if values, err = given(v.Program.Program, program, zero, label); err == nil {
			maps.Copy(values, v.Choose)
		}
		return values, true, err
	}
	return nil, false, nil
}

// indirect returns the type of a program, or the type that it points to.
func indirect(program any) reflect.Type {
	t := reflect.TypeOf(program)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Registry has the programs of a binary. Their names are different.
type Registry []Registered

// Find returns the program with a name.
func (r Registry) Find(name string) (Registered, error) {
	var names []string
	for _, p := range r {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return Registered{}, fmt.Errorf("there is no algorithm %.150q: the algorithms are %s", name,
		strings.Join(names, ", "))
}

// New returns the function that makes the program with a name, or nil.
func (r Registry) New(name string) New {
	p, err := r.Find(name)
	if err != nil {
		return nil
	}
	return p.New
}

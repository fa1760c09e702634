package generate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Description describes a generator, for help texts.
type Description struct {
	Name       string      `json:"name"`
	Help       string      `json:"help"` // one line
	Parameters []Parameter `json:"-"`
	Example    string      `json:"example"` // accepted by Parse
}

// Parameter is a parameter of a generator.
type Parameter struct {
	Name    string
	Default string // empty if the parameter must be given
	Help    string // a few words
}

// family is a kind of generator: a struct whose fields are its parameters. The tags of a field have
// its key, its help and, if it is optional, its default.
type family struct {
	name, help, example string
	kind                Generator
}

var families = []family{
	{"kronecker", "the Graph500 generator: undirected, official edges and weights", "kronecker:scale=20", Kronecker{}},
	{"rmat", "a recursive matrix graph: directed, hubs at the small labels", "rmat:scale=20,a=0.45,b=0.22,c=0.22", RMAT{}},
	{"uniform", "arcs to random targets, as many from each vertex: directed", "uniform:vertices=1000000,degree=16", Uniform{}},
	{"grid", "a lattice, each vertex joined to its four neighbours: undirected", "grid:rows=1000,columns=1000", Grid{}},
	{"star", "vertex 0 joined to all others: undirected", "star:vertices=1000000", Star{}},
	{"path", "each vertex joined to the next: undirected", "path:vertices=1000000", Path{}},
}

// parameters returns the parameters of a family.
func (f *family) parameters() []Parameter {
	var all []Parameter
	for i := range reflect.TypeOf(f.kind).NumField() {
		tag := reflect.TypeOf(f.kind).Field(i).Tag
		all = append(all, Parameter{tag.Get("key"), tag.Get("default"), tag.Get("help")})
	}
	return all
}

// Known returns the descriptions of all generators.
func Known() []Description {
	all := make([]Description, len(families))
	for i, f := range families {
		all[i] = Description{f.name, f.help, f.parameters(), f.example}
	}
	return all
}

// nameOf returns the canonical text of a generator: the name of its family, and all parameters.
func nameOf(g Generator) string {
	of := reflect.ValueOf(g)
	at := slices.IndexFunc(families,
		func(f family) bool { return reflect.TypeOf(f.kind) == of.Type() })
	var values []string
	for i, p := range families[at].parameters() {
		values = append(values, fmt.Sprintf("%s=%v", p.Name, of.Field(i)))
	}
	return families[at].name + ":" + strings.Join(values, ",")
}

// IsGenerator reports whether text is NAME or NAME:... with the name of a known generator.
// Otherwise it may be a file.
func IsGenerator(text string) bool {
	name, _, _ := strings.Cut(text, ":")
	return find(name) != nil
}

// Parse returns the generator for a text NAME:PARAMETER=VALUE,PARAMETER=VALUE... An error is one
// line, with what was found and what was expected.
func Parse(text string) (Generator, error) {
	name, list, _ := strings.Cut(text, ":")
	f := find(name)
	if f == nil {
		known := make([]string, len(families))
		for i, f := range families {
			known[i] = f.name
		}
		return nil, fmt.Errorf("generator %q is unknown, want one of %s", name,
			strings.Join(known, ", "))
	}
	g, err := f.parse(list)
	if err != nil {
		return nil, fmt.Errorf("generator %s: %w", name, err)
	}
	if err := check(g); err != nil {
		return nil, err
	}
	return g, nil
}

func find(name string) *family {
	for i := range families {
		if families[i].name == name {
			return &families[i]
		}
	}
	return nil
}

// check returns an error if a parameter is out of range.
func check(g Generator) error {
	if v, ok := g.(interface{ validate() error }); ok {
		if err := v.validate(); err != nil {
			name, _, _ := strings.Cut(g.Name(), ":")
			return fmt.Errorf("generator %s: %w", name, err)
		}
	}
	return nil
}

// within returns an error if the value of a parameter is not in [low, high].
func within[T int | uint64](name string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %d, want a whole number from %d to %d", name, value, low, high)
	}
	return nil
}

// parse makes a generator from a list of parameters, and defaults for the others.
func (f *family) parse(list string) (Generator, error) {
	parameters, values := f.parameters(), map[string]string{}
	var items, names []string
	for _, p := range parameters {
		names = append(names, p.Name)
	}
	if list != "" {
		items = strings.Split(list, ",")
	}
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("parameter %q is unknown, want one of %s", name,
				strings.Join(names, ", "))
		}
		if !ok || value == "" {
			return nil, fmt.Errorf("%s has no value, want %s=VALUE", name, name)
		}
		if values[name] != "" {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		values[name] = value
	}
	made := reflect.New(reflect.TypeOf(f.kind)).Elem()
	for i, p := range parameters {
		value := cmp.Or(values[p.Name], p.Default)
		if value == "" {
			return nil, fmt.Errorf("%s is missing, want something like %s", p.Name, f.example)
		}
		if want := set(made.Field(i), value); want != "" {
			return nil, fmt.Errorf("%s is %q, want %s", p.Name, value, want)
		}
	}
	return made.Interface().(Generator), nil
}

// set parses a parameter. If it fails it returns a description of valid texts.
func set(to reflect.Value, text string) (want string) {
	if to.CanFloat() {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.Contains(text, "_") {
			return "a number"
		}
		to.SetFloat(x)
		return ""
	}
	width := 64
	if to.CanInt() {
		width = 63
	}
	x, err := strconv.ParseUint(text, 10, width)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("a whole number below 2^%d", width)
	case err != nil:
		return "a whole number, 0 or more"
	case to.CanInt():
		to.SetInt(int64(x))
	default:
		to.SetUint(x)
	}
	return ""
}

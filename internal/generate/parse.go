package generate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Description says what a generator is called and takes, for help texts.
type Description struct {
	Name       string
	Help       string // one line
	Parameters []Parameter
	Example    string // accepted by Parse
}

// Parameter is a parameter of a generator.
type Parameter struct {
	Name    string
	Default string // empty if the parameter must be given
	Help    string // a few words
}

// family is a kind of generator.
type family struct {
	Description
	make func(a *arguments) Generator
}

// Parameters of several families.
var (
	takesScale      = Parameter{"scale", "", "2^scale vertices, 1 to 48"}
	takesEdgeFactor = Parameter{"edgefactor", "16", "tuples per vertex"}
	takesVertices   = Parameter{"vertices", "", "number of vertices"}
	takesSeed       = Parameter{"seed", "1", "of the random numbers"}
)

var families = []family{
	{
		Description{
			"kronecker", "the Graph500 generator: undirected, official edges and weights",
			[]Parameter{takesScale, takesEdgeFactor, {"seed1", "2", "first official seed"}, {"seed2", "3", "second official seed"}},
			"kronecker:scale=20",
		},
		func(a *arguments) Generator {
			return Kronecker{a.int("scale"), a.int("edgefactor"), a.uint64("seed1"), a.uint64("seed2")}
		},
	},
	{
		Description{
			"rmat", "a recursive matrix graph: directed, hubs at the small labels",
			[]Parameter{
				takesScale, takesEdgeFactor,
				{"a", "0.57", "probability of quadrant 0,0"},
				{"b", "0.19", "of quadrant 0,1"},
				{"c", "0.19", "of quadrant 1,0"},
				takesSeed,
			},
			"rmat:scale=20,a=0.45,b=0.22,c=0.22",
		},
		func(a *arguments) Generator {
			return RMAT{a.int("scale"), a.int("edgefactor"), a.float("a"), a.float("b"), a.float("c"), a.uint64("seed")}
		},
	},
	{
		Description{
			"uniform", "arcs to random targets, as many from each vertex: directed",
			[]Parameter{takesVertices, {"degree", "", "arcs from each vertex"}, takesSeed},
			"uniform:vertices=1000000,degree=16",
		},
		func(a *arguments) Generator { return Uniform{a.uint64("vertices"), a.int("degree"), a.uint64("seed")} },
	},
	{
		Description{
			"grid", "a lattice, each vertex joined to its four neighbours: undirected",
			[]Parameter{{"rows", "", "number of rows"}, {"columns", "", "number of columns"}},
			"grid:rows=1000,columns=1000",
		},
		func(a *arguments) Generator { return Grid{a.uint64("rows"), a.uint64("columns")} },
	},
	{
		Description{
			"star", "vertex 0 joined to all others: undirected",
			[]Parameter{takesVertices},
			"star:vertices=1000000",
		},
		func(a *arguments) Generator { return Star{a.uint64("vertices")} },
	},
	{
		Description{
			"path", "each vertex joined to the next: undirected",
			[]Parameter{takesVertices},
			"path:vertices=1000000",
		},
		func(a *arguments) Generator { return Path{a.uint64("vertices")} },
	},
}

// Known returns the descriptions of all generators.
func Known() []Description {
	all := make([]Description, len(families))
	for i, f := range families {
		all[i] = f.Description
		all[i].Parameters = slices.Clone(f.Parameters)
	}
	return all
}

// IsGenerator reports whether text is NAME or NAME:... with the name of a known generator, so that
// it does not stand for a file.
func IsGenerator(text string) bool {
	name, _, _ := strings.Cut(text, ":")
	return find(name) != nil
}

// Parse returns the generator that text asks for: NAME:PARAMETER=VALUE,PARAMETER=VALUE... Errors
// are one line, and say what was found and what was expected.
func Parse(text string) (Generator, error) {
	name, list, _ := strings.Cut(text, ":")
	f := find(name)
	if f == nil {
		known := make([]string, len(families))
		for i, f := range families {
			known[i] = f.Name
		}
		return nil, fmt.Errorf("generator %q is unknown, want one of %s", name,
			strings.Join(known, ", "))
	}
	a, err := f.arguments(list)
	if err != nil {
		return nil, fmt.Errorf("generator %s: %w", name, err)
	}
	g := f.make(a)
	if a.err != nil {
		return nil, fmt.Errorf("generator %s: %w", name, a.err)
	}
	if err := check(g); err != nil {
		return nil, err
	}
	return g, nil
}

func find(name string) *family {
	for i := range families {
		if families[i].Name == name {
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

// arguments are the values given to parameters, or their defaults. The first error of a conversion
// is kept.
type arguments struct {
	values map[string]string
	err    error
}

// arguments splits a list of parameters.
func (f *family) arguments(list string) (*arguments, error) {
	a := &arguments{values: make(map[string]string)}
	var items []string
	if list != "" {
		items = strings.Split(list, ",")
	}
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		if !slices.ContainsFunc(f.Parameters, func(p Parameter) bool { return p.Name == name }) {
			return nil, fmt.Errorf("parameter %q is unknown, want one of %s", name, f.names())
		}
		if !ok || value == "" {
			return nil, fmt.Errorf("%s has no value, want %s=VALUE", name, name)
		}
		if _, twice := a.values[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		a.values[name] = value
	}
	for _, p := range f.Parameters {
		if _, given := a.values[p.Name]; given {
			continue
		}
		if p.Default == "" {
			return nil, fmt.Errorf("%s is missing, want something like %s", p.Name, f.Example)
		}
		a.values[p.Name] = p.Default
	}
	return a, nil
}

func (f *family) names() string {
	names := make([]string, len(f.Parameters))
	for i, p := range f.Parameters {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func (a *arguments) int(name string) int { return int(a.whole(name, 63)) }

func (a *arguments) uint64(name string) uint64 { return a.whole(name, 64) }

func (a *arguments) whole(name string, width int) uint64 {
	x, err := strconv.ParseUint(a.values[name], 10, width)
	if err != nil {
		want := "a whole number, 0 or more"
		if errors.Is(err, strconv.ErrRange) {
			want = fmt.Sprintf("a whole number below 2^%d", width)
		}
		a.fail(name, want)
	}
	return x
}

func (a *arguments) float(name string) float64 {
	x, err := strconv.ParseFloat(a.values[name], 64)
	if err != nil || strings.Contains(a.values[name], "_") {
		a.fail(name, "a number")
	}
	return x
}

func (a *arguments) fail(name, want string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s is %q, want %s", name, a.values[name], want)
	}
}

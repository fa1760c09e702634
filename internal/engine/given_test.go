package engine_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

type filled struct {
	Source pregel.VertexID `param:"source"`
	Text   string          `param:"text" default:"x"`
	Wide   float64         `param:"wide"`
	Narrow float32         `param:"narrow" default:"2"`
	Count  int8            `param:"count"`
	Size   uint            `param:"size"`
	On     bool            `param:"on" default:"true"`
	Rate   float64         `param:"rate" default:"0.5" zero:"refused"`
	Every  time.Duration   `param:"every" default:"2s"`
	Extra  []int
	hidden map[string]int

	Sources []pregel.VertexID `param:"sources" default:"3,4"`
	Rates   []float32         `param:"rates" zero:"refused" default:"1"`
	Sizes   []int8            `param:"sizes"`
	Names   []string          `param:"names" default:"a,b"`
	Times   []time.Duration   `param:"times"`
	Flags   []bool            `param:"flags"`
}

func (filled) Combiner() pregel.Combiner[int]            { return combiners.Sum[int]() }
func (filled) Compute(v *pregel.Vertex[int, int], _ int) { v.VoteToHalt() }

// TestGiven: from the parameters of a program, Fill makes the same program.
func TestGiven(t *testing.T) {
	label := func(id pregel.VertexID) (uint64, bool) { return uint64(id) + 100, id < 9 }
	find := func(label uint64) (pregel.VertexID, bool) { return pregel.VertexID(label - 100), true }
	sample := filled{Extra: []int{1}, hidden: nil}
	registered := engine.Register("filled", pregel.Erase[int, int](&sample))
	for _, p := range []filled{
		{Extra: []int{1}},
		{Source: 8, Text: "a b=\"", Wide: math.Pi, Narrow: 0.1, Count: -128, Size: math.MaxUint, Rate: 1e-300, Extra: []int{1}},
		{Wide: math.Inf(-1), Narrow: math.MaxFloat32, On: true, Extra: []int{1}},
		{
			Extra: []int{1}, Every: -time.Nanosecond, Sources: []pregel.VertexID{8, 0, 8},
			Rates: []float32{0, 0.1, -1e-9}, Sizes: []int8{-128, 127},
			Names: []string{"a,b", `\`, "", "x=y ,", `\,`}, Times: []time.Duration{time.Hour, 3},
			Flags: []bool{true, false},
		},
		{Extra: []int{1}, Names: []string{""}},
		{Extra: []int{1}, Names: []string{"", ""}},
		{Extra: []int{1}, Names: []string{`\`}},
	} {
		values, ok, err := registered.Given(p, nil, label)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		made := sample
		if err := engine.Fill(&made, values, find); err != nil {
			t.Fatal(err)
		}
		// 0 means the default, and so does the empty list
		p.Text, p.Narrow, p.On = cmp.Or(p.Text, "x"), cmp.Or(p.Narrow, 2), true
		p.Rate, p.Every = cmp.Or(p.Rate, 0.5), cmp.Or(p.Every, 2*time.Second)
		if p.Rates == nil {
			p.Rates = []float32{1}
		}
		if p.Names == nil {
			p.Names = []string{"a", "b"}
		}
		if !reflect.DeepEqual(made, p) {
			t.Errorf("found %+v, expected %+v", made, p)
		}
	}
	for want, p := range map[string]any{
		"field Extra has no param tag":                                               filled{Extra: []int{2}},
		"field hidden has no param tag":                                              filled{Extra: []int{1}, hidden: map[string]int{"a": 1}},
		"parameter source: the graph has no vertex with VertexID 9":                  filled{Source: 9, Extra: []int{1}},
		"parameter sources: element 2 of 3: the graph has no vertex with VertexID 9": filled{Sources: []pregel.VertexID{1, 9, 2}, Extra: []int{1}},
		"filled: the program is nil":                                                 (*filled)(nil),
	} {
		if _, _, err := registered.Given(p, nil, label); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}

// FuzzStringLists writes and reads lists of strings, cut from one text, and also reads the text
// itself.
func FuzzStringLists(f *testing.F) {
	f.Add("a,b", "|")
	f.Add(`\,|,||\`, "|")
	registered := engine.Register("filled", pregel.Erase[int, int](filled{}))
	f.Fuzz(func(t *testing.T, text, cut string) {
		for _, parts := range [][]string{strings.Split(text, cut), engine.SplitNames(text)} {
			values, _, err := registered.Given(filled{Names: parts}, nil,
				func(pregel.VertexID) (uint64, bool) { return 0, true })
			check(t, err)
			joined, given := values["names"]
			if read := engine.SplitNames(joined); !slices.Equal(read, parts) ||
				given != (len(parts) > 0) {
				t.Errorf("%q are written %q, and read as %q", parts, joined, read)
			}
		}
	})
}

// TestBackslashes: a backslash is omitted only before a comma or another backslash, and if it is
// the whole text.
func TestBackslashes(t *testing.T) {
	for text, want := range map[string][]string{
		`a\b`: {`a\b`}, `x\`: {`x\`}, `a,\`: {"a", `\`}, `a\,b`: {"a,b"}, `a\\,b`: {`a\`, "b"},
		`\`: {""}, `\\`: {`\`}, "": nil, ",": {"", ""},
	} {
		if got := engine.SplitNames(text); !slices.Equal(got, want) {
			t.Errorf("%s is read as %q, expected %q", text, got, want)
		}
	}
}

// TestListsAreNotShared: filling a list does not change the registered program's list.
func TestListsAreNotShared(t *testing.T) {
	sample := filled{Sizes: []int8{1, 2}}
	made := sample
	if err := engine.Fill(&made, map[string]string{"source": "1", "sizes": "3,4"},
		nil); err != nil {
		t.Fatal(err)
	}
	if sample.Sizes[0] != 1 || !slices.Equal(made.Sizes, []int8{3, 4}) ||
		!slices.Equal(made.Sources, []pregel.VertexID{pregel.None, pregel.None}) {
		t.Errorf("found %v and %v, sources %v", sample.Sizes, made.Sizes, made.Sources)
	}
}

// TestListsThatAreRefused: errors contain the parameter, the element and the text found.
func TestListsThatAreRefused(t *testing.T) {
	find := func(label uint64) (pregel.VertexID, bool) { return pregel.VertexID(label), label < 9 }
	for want, values := range map[string]map[string]string{
		"parameter sources: element 3 of 3: the graph has no vertex 9":               {"sources": "1,2,9"},
		`parameter sources: element 2 of 3: found "", expected the id of a vertex`:   {"sources": "1,,2"},
		`parameter sources: element 2 of 2: found " 2", expected the id of a vertex`: {"sources": "1, 2"},
		`parameter sizes: element 1 of 2: found 128, expected -128 to 127`:           {"sizes": "128,x"},
		`parameter times: element 2 of 2: found "3", expected a time, such as 1m30s`: {"times": "3s,3"},
		`parameter every: found "", expected a time, such as 1m30s`:                  {"every": ""},
		`parameter flags: element 1 of 1: found "yes", expected true or false`:       {"flags": "yes"},
		"parameter rates: found an empty list, expected one or more":                 {"rates": ""},
	} {
		if err := engine.Fill(new(filled), values, find); err == nil || err.Error() != want {
			t.Errorf("%v: found %v, expected %s", values, err, want)
		}
	}
}

// TestFormHasWhatListsAreOf: the form distinguishes lists of different types.
func TestFormHasWhatListsAreOf(t *testing.T) {
	form := engine.Register("filled", pregel.Erase[int, int](filled{})).Form()
	for _, want := range []string{"Sources slice of uint64;", "Names slice of string;", "Every int64;"} {
		if !strings.Contains(form, want) {
			t.Errorf("%s has no %s", form, want)
		}
	}
}

var (
	mineOf  = pregel.NewVertexColumn[int]("mine").Private()
	inputOf = pregel.NewVertexColumn[float64]("input")
	weights = pregel.NewEdgeColumn[float64]("cost").Private()
)

// own has only private columns. guarded also has a column that is an input.
type own struct{}

func (own) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (own) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{mineOf, weights}}
}
func (own) Compute(v *pregel.Vertex[int64, int64], _ int64) { mineOf.Set(v, 1); v.VoteToHalt() }

type guarded struct{ own }

func (guarded) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{mineOf, inputOf, weights}}
}

// TestPrivateColumns: initial values of a private column cannot be set.
func TestPrivateColumns(t *testing.T) {
	for _, test := range []struct {
		program pregel.Program[int64, int64]
		column  string
		want    string
	}{
		{own{}, "mine", `own: column "mine" is private to the program, and no other column can be filled`},
		{own{}, "cost", `own: column "cost" is private to the program, and no other column can be filled`},
		{own{}, "other", `own: its Traits lists no column "other"`},
		{guarded{}, "mine", `guarded: column "mine" is private to the program: the columns that can be filled are input`},
		{guarded{}, "other", `guarded: its Traits lists no column "other", only input`},
		{guarded{}, "input", ""},
	} {
		p, err := engine.NewProgram(pregel.Erase(test.program))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Column(test.column)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || err.Error() != test.want) {
			t.Errorf("found %v, expected %s", err, test.want)
		}
	}
}

package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// summing is a program without parameters, for embedding.
type summing struct{}

func (summing) Combiner() pregel.Combiner[int64]                { return combiners.Sum[int64]() }
func (summing) Compute(v *pregel.Vertex[int64, int64], _ int64) { v.VoteToHalt() }

type (
	combinerless struct{}
	repeated     struct {
		summing
		First  int `param:"n"`
		Second int `param:"n"`
	}
	unnamed struct {
		summing
		A int `param:""`
		B int `param:"two words"`
		C int `param:"k=v"`
	}
	listing struct {
		summing
		Sources [][]pregel.VertexID `param:"sources"`
		Weights map[string]int      `param:"weights"`
	}
	defaults struct {
		summing
		Limit int8            `param:"limit" default:"128"`
		Rate  float64         `param:"rate" default:"fast"`
		From  pregel.VertexID `param:"from" default:"-1"`
		Loud  bool            `param:"loud" default:"true"`
	}
	private struct {
		summing
		limit int `param:"limit"`
	}
	// Inner is embedded with its parameter.
	Inner struct {
		Depth int `param:"depth"`
	}
	nested struct {
		summing
		Inner
	}
)

func (combinerless) Compute(v *pregel.Vertex[int64, int64], _ int64) { v.VoteToHalt() }

// TestProgramsThatCannotBeRegistered registers invalid programs: nothing runs, and each problem is
// reported on a line.
func TestProgramsThatCannotBeRegistered(t *testing.T) {
	_ = private{}.limit
	for _, test := range []struct {
		name    string
		entries []pregel.Registered
		want    []string
	}{
		{"names", []pregel.Registered{
			engine.Register("", pregel.Erase(summing{})), engine.Register("two words",
				pregel.Erase(summing{})), engine.Register("-x", pregel.Erase(summing{})),
		}, []string{
			`program "": a program's name has letters, digits, _ . and -, and begins with none of . and -`,
			`program "two words": a program's name has letters, digits, _ . and -, and begins with none of . and -`,
			`program "-x": a program's name has letters, digits, _ . and -, and begins with none of . and -`,
		}},
		{"taken", []pregel.Registered{
			engine.Register("bfs",
				pregel.Erase(summing{})), engine.Register("x", pregel.Erase(summing{})),
			engine.Register("x", pregel.Erase(summing{})),
		}, []string{
			`program "x": another program has this name`,
		}},
		{"methods", []pregel.Registered{
			engine.Register("x",
				pregel.Erase(combinerless{})),
			engine.Register("y", pregel.Erase[int64, int64](nil)),
			engine.Register("z", pregel.Erase((*nested)(nil))),
		}, []string{
			`program "x": combinerless: the method Combiner() pregel.Combiner[int64] is missing; or wrap a list program in pregel.List`,
			`program "y": the program is nil`, `program "z": the program is nil`,
		}},
		{"tags", []pregel.Registered{
			engine.Register("x",
				pregel.Erase(repeated{})), engine.Register("y", pregel.Erase(&unnamed{})),
			engine.Register("z", pregel.Erase(private{})),
		}, []string{
			`program "x": field Second: parameter "n" is field First already`,
			`program "y": field A: a parameter cannot be named "": use letters, digits, _ . and -`,
			`program "y": field B: a parameter cannot be named "two words": use letters, digits, _ . and -`,
			`program "y": field C: a parameter cannot be named "k=v": use letters, digits, _ . and -`,
			`program "z": field limit: parameter "limit": the field is not exported`,
		}},
		{"types", []pregel.Registered{engine.Register("x",
			pregel.Erase(listing{})), engine.Register("y", pregel.Erase(nested{}))}, []string{
			`program "x": field Sources: parameter "sources": a field of type [][]pregel.VertexID cannot be a parameter, only strings, booleans, numbers, time.Duration, pregel.VertexID and slices of these can`,
			`program "x": field Weights: parameter "weights": a field of type map[string]int cannot be a parameter, only strings, booleans, numbers, time.Duration, pregel.VertexID and slices of these can`,
			`program "y": field Inner: parameters in an embedded struct are not found: declare its fields here`,
		}},
		{"defaults", []pregel.Registered{engine.Register("x", pregel.Erase(defaults{}))}, []string{
			`program "x": field Limit: parameter "limit": the default: found 128, expected -128 to 127`,
			`program "x": field Rate: parameter "rate": the default: found "fast", expected a number`,
			`program "x": field From: parameter "from": the default: found "-1", expected the id of a vertex`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := cli.Run("own", []string{"algorithms"}, test.entries, &out, &errs)
			want := "superstep: " + strings.Join(test.want, "\nsuperstep: ") + "\n"
			if status != 2 || out.Len() > 0 || errs.String() != want {
				t.Errorf("status %d, output %q, errors\n%s\nwant status 2 and\n%s", status,
					out.String(), errs.String(), want)
			}
		})
	}
}

// count is a named integer type.
type count int

// named has parameters of named types.
type named struct {
	summing
	Many count           `param:"many" default:"3"`
	Rate rate            `param:"rate"`
	Word word            `param:"word"`
	Yes  yes             `param:"yes"`
	From pregel.VertexID `param:"from"`

	Every time.Duration     `param:"every" default:"1m30s"`
	All   []pregel.VertexID `param:"all"`
	Rates []rate            `param:"rates" default:"0.5,2"`
	Names []string          `param:"names"`
	Times []time.Duration   `param:"times"`
	Bits  []bool            `param:"bits"`
}

type (
	rate float32
	word string
	yes  bool
)

// TestParametersOfNamedTypes: the list of parameters shows their underlying types.
func TestParametersOfNamedTypes(t *testing.T) {
	var out, errs bytes.Buffer
	if status := cli.Run("own", []string{"algorithms"},
		[]pregel.Registered{engine.Register("named", pregel.Erase(named{}))}, &out,
		&errs); status != 0 {
		t.Fatal(errs.String())
	}
	for _, want := range []string{
		"-p many=N ", "-p rate=NUMBER ", "-p word=TEXT ", "-p yes=true|false ", "-p from=VERTEX ",
		"-p every=TIME ", "-p all=VERTEX,... ", "-p rates=NUMBER,... ", "-p names=TEXT,... ",
		"-p times=TIME,... ", "-p bits=true|false,... ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("found\n%s\nwithout %s", out.String(), want)
		}
	}
}

// TestOwnProgramsTakeThePlaceOfBuiltInOnes: the list of programs shows the replacement, and
// --verify has no certificate for it.
func TestOwnProgramsTakeThePlaceOfBuiltInOnes(t *testing.T) {
	own := []pregel.Registered{pregel.Register("bfs", summing{})}
	run := func(args ...string) (status int, out, errs bytes.Buffer) {
		status = cli.Run("own", args, own, &out, &errs)
		return status, out, errs
	}
	if status, out, errs := run("algorithms"); status != 0 || !strings.Contains(out.String(),
		"a program of this binary, in place of the built-in program") {
		t.Errorf("status %d, %s%s", status, &out, &errs)
	}
	if status, out, errs := run("run", "bfs", "-g", "path:vertices=3", "--output",
		"-"); status != 0 || strings.Contains(errs.String(), "source") {
		t.Errorf("status %d, %s%s", status, &out, &errs)
	}
	if status, _, errs := run("run", "bfs", "-g", "path:vertices=3", "--verify"); status != 2 ||
		!strings.Contains(errs.String(), "found bfs, expected an algorithm with a certificate") {
		t.Errorf("status %d, %s", status, &errs)
	}
}

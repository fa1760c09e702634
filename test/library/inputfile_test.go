package library_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// typed has a column of every kind that files support.
type typed struct{}

type kinds struct {
	Float  float32
	Whole  int8
	Count  uint64
	Flag   bool
	Text   string
	Wait   time.Duration
	Vertex pregel.VertexID
}

var (
	typedFloat  = pregel.NewVertexColumn[float32]("float")
	typedWhole  = pregel.NewVertexColumn[int8]("whole")
	typedCount  = pregel.NewVertexColumn[uint64]("count")
	typedFlag   = pregel.NewVertexColumn[bool]("flag")
	typedText   = pregel.NewVertexColumn[string]("text")
	typedWait   = pregel.NewVertexColumn[time.Duration]("wait")
	typedVertex = pregel.NewVertexColumn[pregel.VertexID]("vertex")
	typedPair   = pregel.NewVertexColumn[[2]int]("pair")
)

func (typed) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (typed) Traits() pregel.Traits {
	return pregel.Traits{
		Columns: []pregel.Column{typedFloat, typedWhole, typedCount, typedFlag, typedText, typedWait, typedVertex, typedPair},
	}
}

func (typed) Compute(v *pregel.Vertex[kinds, int64], _ int64) {
	v.Set(kinds{typedFloat.Of(v), typedWhole.Of(v), typedCount.Of(v), typedFlag.Of(v), typedText.Of(v), typedWait.Of(v), typedVertex.Of(v)})
	v.VoteToHalt()
}

// TestInputFromFunction: every vertex begins with the function's value for its input id.
func TestInputFromFunction(t *testing.T) {
	everywhere(t, "uniform:vertices=500,degree=3", func(g *superstep.Graph) {
		asked := map[uint64]int{}
		squares := superstep.From(sumBefore,
			func(id uint64) int64 { asked[id]++; return int64(id * id) })
		n := 0
		for label, sum := range must(t, g, summing{}, squares).All() {
			if want := int64(label*label + label); sum != want || asked[label] != 1 {
				t.Fatalf("in %v: vertex %d has %d after %d calls, expected %d", g.Grid(), label,
					sum, asked[label], want)
			}
			n++
		}
		if n != 500 || len(asked) != n {
			t.Fatalf("found %d values and %d calls", n, len(asked))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		stopping := superstep.From(sumBefore, func(uint64) int64 { cancel(enough); return 0 })
		if _, err := superstep.Run(ctx, g, summing{},
			superstep.Options{Columns: []superstep.Input{stopping}}); !errors.Is(err, enough) {
			t.Errorf("a run that was cancelled while its columns were filled: %v", err)
		}
	})
}

// TestInputFromFile reads every kind of value. Vertices that are not in the file begin with zero.
func TestInputFromFile(t *testing.T) {
	everywhere(t, "path:vertices=9", func(g *superstep.Graph) {
		res := must(
			t, g, typed{},
			superstep.FromFile(typedFloat,
				file(t, "values.txt", "# floats\n3 0.1\n4 infinity\n5   1e-3 \r\n")),
			superstep.FromFile(typedWhole, file(t, "values.txt", "3 -128\n4 127\n")),
			superstep.FromFile(typedCount, file(t, "values.txt", "3 18446744073709551615")),
			superstep.FromFile(typedFlag, file(t, "values.txt", "3 true\n4 false\n")),
			superstep.FromFile(typedText,
				file(t, "values.txt", "3 two  words \n4 \"a\\nb\"\n5 \n")),
			superstep.FromFile(typedWait, file(t, "values.txt", "4 1m30s\n")),
			superstep.FromFile(typedVertex, file(t, "values.txt", "3 8\n4 -1\n")),
		)
		eight, _ := g.Vertex(8)
		for label, found := range res.All() {
			want := map[uint64]string{
				3: fmt.Sprint(kinds{0.1, -128, 1<<64 - 1, true, "two  words ", 0, eight}),
				4: fmt.Sprint(kinds{inf32(), 127, 0, false, "a\nb", 90 * time.Second, pregel.None}),
				5: fmt.Sprint(kinds{Float: 1e-3}),
			}[label]
			if want == "" {
				want = fmt.Sprint(kinds{})
			}
			if fmt.Sprint(found) != want {
				t.Errorf("in %v: vertex %d has %v, expected %s", g.Grid(), label, found, want)
			}
		}
	})
}

// TestInputFromFunctionThatPanics: the run fails with the name of the column and the vertex, also
// if the function ends its goroutine.
func TestInputFromFunctionThatPanics(t *testing.T) {
	everywhere(t, "path:vertices=9", func(g *superstep.Graph) {
		for want, fail := range map[string]func(){"boom": func() { panic("boom") }, "Goexit": runtime.Goexit} {
			failing := superstep.From(sumBefore, func(id uint64) int64 {
				if id == 5 {
					fail()
				}
				return 0
			})
			err := run(t, g, summing{}, superstep.Options{Columns: []superstep.Input{failing}})
			refusedWith(t, err, "program summing, the function of column sum of vertex 5: ")
			refusedWith(t, err, want)
			if failed := new(pregel.ProgramError); !errors.As(err, &failed) ||
				failed.Method != "the function of column sum" || failed.Vertex != 5 {
				t.Errorf("the error is %#v", err)
			}
		}
	})
}

func inf32() float32 {
	zero := float32(0)
	return 1 / zero
}

// TestInputFromFileRefuses: errors have the file, the line, what was found and what was expected.
func TestInputFromFileRefuses(t *testing.T) {
	path := func(text string) string { return file(t, "values.txt", text) }
	_, conn := connected(t)
	there, err := conn.Load(t.Context(), "grid:rows=5,columns=6")
	there = open(t, there, err)
	here := grid(t)
	for want, input := range map[string]superstep.Input{
		"values.txt:2:1: found vertex 900, expected one of ":                            superstep.FromFile(typedFloat, path("1 2\n900 1\n")),
		"values.txt:3:1: found vertex 1 again, expected every vertex once":              superstep.FromFile(typedFloat, path("1 2\n2 2\n1 2\n")),
		`values.txt:1:3: found "x", expected a number`:                                  superstep.FromFile(typedFloat, path("1 x")),
		`values.txt:1:3: found "1 2", expected a number`:                                superstep.FromFile(typedFloat, path("1 1 2")),
		`values.txt:1:3: found "", expected a number`:                                   superstep.FromFile(typedFloat, path("1 ")),
		`values.txt:1:1: found no value in "1", expected "id value"`:                    superstep.FromFile(typedText, path("1")),
		`values.txt:1:3: found 128, expected -128 to 127`:                               superstep.FromFile(typedWhole, path("1 128")),
		`values.txt:1:3: found "-1", expected a whole number, not negative`:             superstep.FromFile(typedCount, path("1 -1")),
		`values.txt:1:3: found "yes", expected true or false`:                           superstep.FromFile(typedFlag, path("1 yes")),
		`values.txt:1:3: found "90", expected a time, such as 1m30s`:                    superstep.FromFile(typedWait, path("1 90")),
		`values.txt:2:3: found vertex 900 as a value, expected one of the graph, or -1`: superstep.FromFile(typedVertex, path("\n1 900")),
		`values.txt:1:3: found "x", expected the id of a vertex`:                        superstep.FromFile(typedVertex, path("1 x")),
		`values.txt:1:3: found "\"a", expected text quoted as in Go`:                    superstep.FromFile(typedText, path(`1 "a`)),
		"column pair: values of type [2]int cannot be read from files, only strings":    superstep.FromFile(typedPair, path("1 2 3")),
		"column float: open nowhere: no such file":                                      superstep.FromFile(typedFloat, "nowhere"),
		`values.txt:1:3: found ` + strings.Repeat("7", 150) +
			`, expected a number that fits 32`: superstep.FromFile(typedFloat,
			path("1 "+strings.Repeat("7", 400))),
		"superstep: Options.Columns: From or FromFile did not make an Input": {},
	} {
		for _, g := range []*superstep.Graph{here, there} {
			refusedWith(t, run(t, g, typed{}, superstep.Options{Columns: []superstep.Input{input}}),
				want)
		}
	}
}

// TestInputFromLargeFile fills columns from a file and a function with more data than a message
// contains. It finds an error at the end of a file.
func TestInputFromLargeFile(t *testing.T) {
	const n = 30_000
	var text strings.Builder
	for i := range n {
		id := (i*7919 + 3) % n
		fmt.Fprintf(&text, "%d %d\n", id, (id+1)%n)
	}
	everywhere(t, fmt.Sprintf("path:vertices=%d", n), func(g *superstep.Graph) {
		tree := must(t, g, parents{},
			superstep.FromFile(parentBefore, file(t, "next.txt", text.String())))
		names := must(t, g, reader{}, superstep.From(wordsBefore,
			func(id uint64) []string { return []string{fmt.Sprint("vertex ", id)} }))
		for label, next := range tree.All() {
			want, _ := g.Vertex((label + 1) % n)
			if word, _ := names.At(label); next != want || len(word.Words) != 1 ||
				word.Words[0] != fmt.Sprint("vertex ", label) {
				t.Fatalf("vertex %d has %d, expected %d, and %v", label, next, want, word)
			}
		}
		for line, want := range map[string]string{
			"30000 0": "next.txt:30001:1: found vertex 30000, expected one of ",
			"0 30000": "next.txt:30001:1: found vertex 0 again, expected every vertex once",
		} {
			input := superstep.FromFile(parentBefore, file(t, "next.txt", text.String()+line))
			refusedWith(t,
				run(t, g, parents{}, superstep.Options{Columns: []superstep.Input{input}}), want)
		}
	})
}

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

var errUser = errors.New("a user's error")

// failing panics in a given place, or ends its goroutine.
type failing struct {
	sums
	in        string
	superstep int
	exit      bool
}

func (p failing) fail(in string, superstep int) {
	if in == p.in && superstep == p.superstep {
		if p.exit {
			runtime.Goexit()
		}
		panic(fmt.Errorf("%s failed: %w", in, errUser))
	}
}

func (p failing) Combiner() pregel.Combiner[int64] {
	p.fail("Combiner", 0)
	return combiners.Func(0, func(a, b int64) int64 {
		p.fail("combine", 0)
		return a + b
	})
}

func (p failing) Start() (string, []pregel.VertexID) {
	p.fail("Start", 0)
	return "", []pregel.VertexID{0, 1, 2, 3, 4}
}

func (p failing) Init(v talker) {
	p.fail(fmt.Sprint("Init of ", v.Label()), 0)
	v.SendToAllNeighbors(1)
}

func (p failing) Compute(v talker, _ int64) {
	p.fail(fmt.Sprint("Compute of ", v.Label()), v.Superstep())
	v.SendToAllNeighbors(1)
	if v.Superstep() == 3 {
		v.Finish()
	}
}

func (p failing) Coordinate(c *pregel.Coordinator) { p.fail("Coordinate", c.Superstep) }

func (p failing) Traits() pregel.Traits {
	p.fail("Traits", 0)
	return p.sums.Traits()
}

func (p failing) Report() pregel.Report[string] {
	p.fail("Report", 0)
	return pregel.Report[string]{}
}

func TestAPanicInUserCodeFailsTheJobAndSaysWhere(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-4 0-4 0-2")
	for i, c := range []struct {
		in        string
		superstep int
		vertex    uint64
		known     bool
	}{
		{in: "Init of 3", vertex: 3, known: true},
		{in: "Compute of 0", superstep: 1, known: true},
		{in: "Compute of 4", superstep: 3, vertex: 4, known: true},
		{in: "Coordinate"},
		{in: "Coordinate", superstep: 2},
		{in: "Start"},
		{in: "Combiner"},
		{in: "Traits"},
		{in: "Report"},
		{in: "combine"}, // when the first messages are delivered
	} {
		p := failing{in: c.in, superstep: c.superstep}
		for _, s := range aFew(i, inGrids()) {
			if s.o.Deterministic && s.o.Delivery != 0 {
				continue
			}
			_, err := tryOn(t, w, pregel.Program[string, int64](p), s)
			var e *bsp.ProgramError
			if !errors.As(err, &e) || !errors.Is(err, errUser) {
				t.Fatalf("%s in %d, %v: the error is %v", c.in, c.superstep, s, err)
			}
			superstep := c.superstep
			switch c.in {
			case "combine":
				superstep = 1
			case "Start", "Combiner", "Traits", "Report":
				superstep = -1
			}
			if e.Program != "failing" || e.Superstep != superstep || e.Known != c.known ||
				e.Vertex != c.vertex {
				t.Fatalf("%s in %d, %v: %+v", c.in, c.superstep, s, e)
			}
			if !strings.Contains(e.Stack, "semantics_fail_test.go") {
				t.Fatalf("%s in %d, %v: the stack does not tell where:\n%s", c.in, c.superstep, s,
					e.Stack)
			}
			if where := fmt.Sprintf("vertex %d, superstep %d: Compute of %d failed: a user's error",
				c.vertex, c.superstep, c.vertex); strings.HasPrefix(c.in, "Compute") &&
				!strings.Contains(err.Error(), where) {
				t.Fatal(err)
			}
		}
	}
}

// waits is a program whose vertex 0 does not return from superstep 2 until the test allows it.
type waits struct{ until chan struct{} }

func (waits) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p waits) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.Label() == 0 && v.Superstep() == 2 {
		select {
		case <-p.until:
		case <-time.After(time.Minute):
		}
	}
	if v.Superstep() > 3 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(1)
}

// TestASuperstepThatTakesLongerThanItsLimitEndsTheRun: the error has the superstep and the limit.
// Other supersteps are faster.
func TestASuperstepThatTakesLongerThanItsLimitEndsTheRun(t *testing.T) {
	for _, parts := range []int{1, 3} {
		until := make(chan struct{})
		g := on(t, "0-1 1-2 2-3 3-4").load(t, parts, edges.Unweighted)
		const want = "waits: superstep 2: it took longer than 1s"
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(waits{until}),
			engine.Options{SuperstepTimeout: time.Second, Host: bsp.Host{Late: func(err error) {
				if err.Error() != want {
					t.Errorf("%d partitions: late is told %v", parts, err)
				}
				close(until)
			}}})
		check(t, err)
		if _, err := j.Run(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%d partitions: the error is %v", parts, err)
		}
		j.Close()
	}
}

// blocks panics in ComputeBlock.
type blocks struct{ script }

func (blocks) ComputeBlock(b *pregel.Block[string, int64]) {
	if b.Superstep() == 2 {
		panic("ComputeBlock failed")
	}
}

func TestAPanicInComputeBlockNamesTheSuperstep(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-4")
	for _, parts := range []int{1, 3} {
		err := wantError(t, w, pregel.Program[string, int64](blocks{}), parts, "program blocks",
			"superstep 2", "failed")
		if e := new(bsp.ProgramError); !errors.As(err, &e) || e.Known || e.Superstep != 2 {
			t.Fatalf("%d partitions: %+v", parts, e)
		}
	}
}

// impostor sends another vertex's id.
type impostor struct {
	single bool
	id     pregel.VertexID
}

func (impostor) Combiner() pregel.Combiner[pregel.VertexID] { return combiners.Sender() }
func (p impostor) Compute(v *pregel.Vertex[int, pregel.VertexID], _ pregel.VertexID) {
	id := v.ID()
	if v.Superstep() == 1 && v.Label() == 2 {
		id = p.id
	}
	if p.single {
		v.Send(p.id, id)
	} else {
		v.SendToAllNeighbors(id)
	}
}

// impostorTree does so with a distance.
type impostorTree struct{ impostor }

func (impostorTree) Combiner() pregel.Combiner[combiners.Arrival[float64]] {
	return combiners.MinPlusSender[float64]()
}

func (p impostorTree) Compute(v *pregel.Vertex[int,
	combiners.Arrival[float64]], _ combiners.Arrival[float64],
) {
	a := combiners.Arrival[float64]{Dist: 1, From: v.ID()}
	if v.Superstep() == 1 && v.Label() == 2 {
		a.From = p.id
	}
	if p.single {
		v.Send(p.id, a)
	} else {
		v.SendToAllNeighbors(a)
	}
}

func TestUnderSenderAMessageMustNameItsSender(t *testing.T) {
	w := on(t, "0>1:1 1>2:1 2>3:1 2>2:1")
	for _, single := range []bool{false, true} {
		for _, parts := range []int{1, 2, 7} {
			p := impostor{single, w.id(3)}
			text := "vertex 2, superstep 1: Send"
			wantError(t, w, pregel.Program[int, pregel.VertexID](p), parts, "program impostor, ",
				text, "must name the vertex itself, v.ID()")
			wantError(t, w, pregel.Program[int, combiners.Arrival[float64]](impostorTree{p}), parts,
				"program impostorTree, ", text, "v.ID()")
		}
	}
}

// Programs with wrong methods.
type (
	wrongInit       struct{ script }
	wrongCoordinate struct{ script }
	wrongOutput     struct{ script }
	wrongBlock      struct{ script }
	pointerInit     struct{ script }
	noCombiner      struct{}
	nilCombiner     struct{ script }
	twoGroups       struct{ script }
	halfMutates     struct{ script }
	asynchronous    struct{ script }
	listCombiner    struct {
		listener
	}
	listBlock      struct{ listener }
	onlyInitBlock  struct{ script }
	wrongInitBlock struct{ script }
	wrongList      struct{ listener }
	misspelled     struct{ script }
	leftOut        struct{ script }
	added          struct{ script }
	swapped        struct{ listener }
	otherwise      struct{ script }
)

func (wrongInit) Init(talker, int64)                           {}
func (wrongCoordinate) Coordinate(*pregel.Coordinator) bool    { return true }
func (wrongOutput) Output(v string) (string, error)            { return v, nil }
func (wrongBlock) ComputeBlock(*pregel.Block[string, float64]) {}
func (*pointerInit) Init(talker)                               {}
func (noCombiner) Compute(*pregel.Vertex[int, bool], bool)     {}
func (nilCombiner) Combiner() pregel.Combiner[int64]           { return nil }
func (halfMutates) Traits() pregel.Traits {
	return pregel.Traits{CreateOnMessage: true}
}

func (twoGroups) Report() pregel.Report[string] {
	return pregel.Report[string]{
		Group: func(string) pregel.VertexID { return 0 }, Number: func(string) uint64 { return 0 },
	}
}

func (asynchronous) Traits() pregel.Traits {
	return pregel.Traits{Asynchronous: true}
}
func (listCombiner) Combiner() pregel.Combiner[int64]        { return combiners.Sum[int64]() }
func (listBlock) ComputeBlock(*pregel.Block[string, int64])  {}
func (onlyInitBlock) InitBlock(*pregel.Block[string, int64]) {}
func (wrongInitBlock) InitBlock(*pregel.Block[string, bool]) {}
func (wrongList) Traits() string                             { return "out" }

func (misspelled) Reprot() (r pregel.Report[string]) { return r }
func (leftOut) Cordinate(*pregel.Coordinator)        {}
func (added) Startt() (string, []pregel.VertexID)    { return "", nil }
func (swapped) Trait() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both}
}

// Methods whose names differ more from those of optional ones, are short, or have another signature
// are ignored.
func (otherwise) Coordinator(*pregel.Coordinator)    {}
func (otherwise) Inits(talker)                       {}
func (otherwise) Cordinate(*pregel.Coordinator, int) {}
func (otherwise) Traitss() bool                      { return true }

func TestMethodsThatAreNotNearlyOptionalAreFine(t *testing.T) {
	on(t, "0>1").expect(t, pregel.Program[string, int64](otherwise{script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		v.VoteToHalt()
	}}}), "0", "0")
}

func TestWrongMethodsAreRefusedByName(t *testing.T) {
	w := on(t, "0>1")
	type program = pregel.Program[string, int64]
	for text, p := range map[string]program{
		"wrongInit: method Init is func(*pregel.Vertex[string,int64], int64), want func(*pregel.Vertex[string,int64])":   wrongInit{},
		"wrongCoordinate: method Coordinate is func(*pregel.Coordinator) bool, want func(*pregel.Coordinator)":           wrongCoordinate{},
		"wrongOutput: method Output is func(string) (string, error), want func([]uint8, string) []uint8":                 wrongOutput{},
		"wrongBlock: method ComputeBlock is func(*pregel.Block[string,float64]), want func(*pregel.Block[string,int64])": wrongBlock{},
		"pointerInit: method Init has a pointer receiver: pass &pointerInit{...}, or give it a value receiver":           pointerInit{},
		"nilCombiner: method Combiner returns nil, want a combiner":                                                      nilCombiner{},
		"twoGroups: Group and Number of Report do the same: a program has one of them":                                   twoGroups{},
		"halfMutates: CreateOnMessage is for programs that change the graph: the trait Mutates is missing":               halfMutates{},
		"asynchronous: Asynchronous is for programs that are Monotone":                                                   asynchronous{},
		"listCombiner: a list program gets every message: it has no Combiner":                                            pregel.List(listCombiner{}),
		"listBlock: a list program has no ComputeBlock":                                                                  pregel.List(listBlock{}),
		"onlyInitBlock: InitBlock does the work of Init, which is missing":                                               onlyInitBlock{},
		"wrongInitBlock: method InitBlock is func(*pregel.Block[string,bool]), want func(*pregel.Block[string,int64])":   wrongInitBlock{},
		"wrongList: method Traits is func() string, want func() pregel.Traits":                                           pregel.List(wrongList{}),
		"misspelled: method Reprot has the signature of Report and nearly its name: it would be ignored":                 misspelled{},
		"leftOut: method Cordinate has the signature of Coordinate and nearly its name: it would be ignored":             leftOut{},
		"added: method Startt has the signature of Start and nearly its name: it would be ignored":                       added{},
		"swapped: method Trait has the signature of Traits and nearly its name: it would be ignored":                     pregel.List(swapped{}),
		"the program is nil": nil,
	} {
		wantError(t, w, p, 1, text)
		if _, err := engine.NewProgram(pregel.Erase(p)); err == nil ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("Erase: the error is %v, want %q", err, text)
		}
	}
	wantError(t, w, pregel.Program[int, bool](noCombiner{}), 1,
		"noCombiner: the method Combiner() pregel.Combiner[bool] is missing; or wrap a list program in pregel.List")
}

// Methods of earlier versions, with value and pointer receivers.
type (
	oldFacts    struct{ script }
	oldStart    struct{ listener }
	oldPointers struct{ script }
)

func (oldFacts) Direction() pregel.Direction              { return pregel.In }
func (oldFacts) Score(string) float64                     { return 1 }
func (oldStart) Initial() string                          { return "" }
func (oldStart) Sources() []pregel.VertexID               { return nil }
func (*oldPointers) ValidateGraph(pregel.GraphInfo) error { return nil }

func TestOldMethodsAreRefusedWithTheNewNames(t *testing.T) {
	for want, p := range map[string]pregel.Program[string, int64]{
		"oldFacts: the method Direction is now the field Direction of Traits\n" +
			"oldFacts: the method Score is now the field Score of Report": oldFacts{},
		"oldStart: the method Initial is now Start\noldStart: the method Sources is now Start": pregel.List(oldStart{}),
		"oldPointers: the method ValidateGraph is now Validate":                                oldPointers{},
	} {
		if _, err := engine.NewProgram(pregel.Erase(p)); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestPointersToProgramsAreFine(t *testing.T) {
	w := on(t, "0>1")
	p := &pointerInit{script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		v.VoteToHalt()
	}}}
	w.expect(t, pregel.Program[string, int64](p), "1", "1")
}

func TestAFailedJobCanRunAgain(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-4")
	for _, parts := range []int{1, 3} {
		j, err := engine.NewJob(t.Context(), w.load(t, parts, 0),
			pregel.Erase(pregel.Program[string, int64](failing{in: "Compute of 2", superstep: 2})),
			teamed(t, setting{threads: 3}))
		check(t, err)
		for range 2 {
			if _, err := j.Run(t.Context()); !errors.Is(err, errUser) {
				t.Fatal(err)
			}
		}
		check(t, j.Restart(pregel.Erase(failing{in: "nowhere"})))
		o, err := j.Run(t.Context())
		check(t, err)
		if o.Supersteps != 4 || !o.Ended.Complete() {
			t.Fatalf("%+v", o)
		}
		j.Close()
		j.Close()
	}
}

func TestTheRunEndsWhenItsContextDoes(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-4")
	cause := errors.New("enough")
	for _, s := range aFew(1, inGrids()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := sums{script: script{func(v talker, m int64) {
			if v.SendToAllNeighbors(m); v.Superstep() == 50 && v.Label() == 3 {
				cancel(cause)
			}
		}}}
		j, err := engine.NewJob(t.Context(), w.loadAs(t, s, 0),
			pregel.Erase(pregel.Program[string, int64](p)), teamed(t, s))
		check(t, err)
		if _, err := j.Run(ctx); !errors.Is(err, cause) ||
			err.Error() != "sums: superstep 50: enough" {
			t.Fatalf("%v: the error is %v", s, err)
		}
		if _, err := j.Run(ctx); !errors.Is(err, cause) {
			t.Fatalf("%v: a run that ended before it began: %v", s, err)
		}
		j.Close()
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	w := on(t, "0>1")
	for text, o := range map[string]engine.Options{
		"a limit of -1 supersteps: expected 0, for none, or more":                                    {MaxSupersteps: -1},
		"uncombined messages are pushed one by one: delivery pull is not possible, use push or auto": {Delivery: 4, Experiment: delivery.Experiment{Uncombined: true}},
		"there is no delivery 9":             {Delivery: 9},
		"there is no encoding 4 for columns": {Experiment: delivery.Experiment{Encoding: 4}},
	} {
		_, err := engine.NewJob(t.Context(), w.load(t, 1, 0),
			pregel.Erase(pregel.Program[string, int64](script{})), o)
		if err == nil || err.Error() != text {
			t.Errorf("the error is %v, want %q", err, text)
		}
	}
}

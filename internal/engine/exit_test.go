package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// bounded calls f on a new goroutine. It fails the test if f ends the goroutine, or does not
// return.
func bounded[R any](t *testing.T, what string, f func() R) R {
	t.Helper()
	result := make(chan R, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result <- f()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("%s: it hangs", what)
	}
	select {
	case r := <-result:
		return r
	default:
		t.Fatalf("%s: the program ended the caller's goroutine", what)
		panic("unreachable")
	}
}

// exit is a place where a program calls runtime.Goexit, and the beginning of the error.
type exit struct {
	in        string
	superstep int
	where     string
}

// exits are the places in a process that has partitions.
var exits = []exit{
	{"Init of 3", 0, "program failing, vertex 3, superstep 0: "},
	{"Compute of 0", 1, "program failing, vertex 0, superstep 1: "},
	{"Compute of 4", 3, "program failing, vertex 4, superstep 3: "},
	{"Start", 0, "program failing, before superstep 0: "},
	{"Combiner", 0, "program failing, before superstep 0: "},
	{"combine", 0, "program failing, superstep 1: "},
}

func (e exit) program() pregel.Program[string, int64] {
	return failing{in: e.in, superstep: e.superstep, exit: true}
}

func (e exit) want(t *testing.T, err error) {
	t.Helper()
	const text = "runtime.Goexit ended the goroutine"
	if p := new(bsp.ProgramError); !errors.As(err, &p) || !strings.Contains(err.Error(),
		e.where+text) || !strings.Contains(p.Stack, "semantics_fail_test.go") {
		t.Errorf("%s: the error is %v, expected %q, with the stack", e.in, err, e.where+text)
	}
}

// TestGoexitInUserCodeFailsTheJob: a program that ends its goroutine, like testing.T.FailNow, ends
// only the run. The team still works afterwards.
func TestGoexitInUserCodeFailsTheJob(t *testing.T) {
	w := on(t, "0-1 1-2 2-3 3-4 0-4 0-2")
	for _, s := range []setting{{parts: 1, threads: 1}, {parts: 1, threads: 3}, {parts: 3, threads: 1}, {parts: 3, threads: 4}} {
		o := teamed(t, s)
		for _, e := range append(exits, exit{"Coordinate", 2, "program failing, superstep 2: "}) {
			err := bounded(t, e.in, func() error {
				j, err := engine.NewJob(t.Context(), w.loadAs(t, s, 0), pregel.Erase(e.program()),
					o)
				if err != nil {
					return err
				}
				defer j.Close()
				_, err = j.Run(t.Context())
				return err
			})
			e.want(t, err)
		}
		j, err := engine.NewJob(t.Context(), w.loadAs(t, s, 0),
			pregel.Erase(pregel.Program[string, int64](failing{in: "nowhere"})), o)
		check(t, err)
		_, err = j.Run(t.Context())
		check(t, err)
		j.Close()
	}
}

// TestGoexitInAProcessOfManyFailsTheJob: the same if the driver is in another process.
func TestGoexitInAProcessOfManyFailsTheJob(t *testing.T) {
	g := on(t, "0-1 1-2 2-3 3-4 0-4 0-2").load(t, 3, edges.Unweighted)
	for _, owners := range [][][]int{alone(g), {{0, 1}, {2}}} {
		for _, e := range exits {
			if e.in == "Combiner" {
				continue // it is not bound
			}
			all, d := apart(t, g, e.program(), engine.Options{}, owners)
			local := transport.NewLocal(len(g.Parts))
			err := bounded(t, e.in, func() error {
				_, err := all.run(t.Context(), d, local.Endpoint, local.Close)
				return err
			})
			e.want(t, err)
		}
	}
}

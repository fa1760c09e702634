package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/collective"
)

// role is the environment variable that makes this binary a rank.
const role = "SUPERSTEP_TEST_RANK"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "good":
		if err := toy.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "babbles":
		fmt.Println(`{"Stage":"begging"}`)
		return
	}
	goleak.VerifyTestMain(m)
}

// sum is the report of toy.
type sum struct {
	Sum    uint64
	Sites  []int
	Slowed bool // a connection was given to Slow
}

// slowed is whether Slow was called, with the task.
var slowed atomic.Bool

// toy adds the ranks' numbers from 1 on, or waits.
var toy = Rank{
	Do: func(ctx context.Context, link collective.Link, task Task,
		stage func(name string, done, all int),
	) (any, error) {
		stage("adding", 1, 1)
		switch string(task.Work) {
		case `"add"`:
			g, err := collective.NewGroup(link, nil, nil)
			if err != nil {
				return nil, err
			}
			n, err := collective.CombineOne(ctx, g, collective.Call{Tag: 1}, collective.SumUint64,
				uint64(link.Rank()+1))
			return sum{n, task.Sites, slowed.Load()}, err
		case `"wait"`:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("cannot %s", task.Work)
	},
	Slow: func(c net.Conn, task Task, from, to int) net.Conn {
		slowed.Store(from != to && len(task.Sites) == 3)
		return c
	},
}

// process makes ranks of this binary; those of which what says so are special.
func process(what func(i int) string) func(context.Context) (*exec.Cmd, error) {
	i := 0
	return func(ctx context.Context) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(os.Environ(), role+"="+what(i))
		i++
		return cmd, err
	}
}

func good(int) string { return "good" }

// bad makes rank 1 another.
func bad(what string) func(int) string {
	return func(i int) string {
		if i == 1 {
			return what
		}
		return "good"
	}
}

func TestProcessesDoTheTask(t *testing.T) {
	stages := map[string]int{}
	report, err := Launch(t.Context(), Options{
		Ranks: 3, Task: Task{Sites: []int{0, 1, 1}, Work: json.RawMessage(`"add"`)},
		Command: process(good),
		Stage:   func(name string, done, all int) { stages[name] = all },
	})
	if err != nil || string(report) != `{"Sum":6,"Sites":[0,1,1],"Slowed":true}` ||
		stages["adding"] != 1 {
		t.Errorf("%s, stages %v, %v", report, stages, err)
	}
}

func TestFailuresAreNamed(t *testing.T) {
	for what, want := range map[string]string{
		"dies":    "rank 1: exit status 3: out of luck",
		"babbles": "rank 1: it says what it was not asked",
	} {
		_, err := Launch(t.Context(), Options{Ranks: 3, Command: process(bad(what))})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	_, err := Launch(t.Context(),
		Options{Ranks: 2, Command: process(good), Task: Task{Work: json.RawMessage(`"fly"`)}})
	if err == nil || !strings.HasSuffix(err.Error(), `: cannot "fly"`) {
		t.Error(err)
	}
	_, err = Launch(t.Context(),
		Options{Ranks: 2, Command: func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, "/nowhere/superstep"), nil
		}})
	if err == nil || !strings.Contains(err.Error(), "starting rank 0") {
		t.Error(err)
	}
}

func TestInterruptEndsTheProcesses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Launch(ctx, Options{
		Ranks: 2, Command: process(good), Task: Task{Work: json.RawMessage(`"wait"`)},
		Stage: func(string, int, int) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRankEndsWithItsParent: whose input ends, ends.
func TestRankEndsWithItsParent(t *testing.T) {
	for _, said := range []string{"", `{"Token":"x"}`, `{"Token":"x"}{"Peers":[{"Name":"rank 0","Incarnation":1}]}`, "no JSON"} {
		var out strings.Builder
		if err := toy.Serve(t.Context(), strings.NewReader(said), &out); err != nil ||
			!strings.Contains(out.String(), errAlone.Error()) &&
				!strings.Contains(out.String(), "context canceled") {
			t.Errorf("%s: said %s, %v", said, &out, err)
		}
	}
}

package ranks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/netbench"
)

// role is the environment variable that makes this binary a rank.
const role = "SUPERSTEP_TEST_RANK"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "good":
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
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

func TestProcessesMeasure(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stages := map[string]int{}
	r, err := Launch(ctx, Options{
		Ranks: 3, Sites: []int{0, 1, 1}, Command: process(good),
		Stage: func(name string, done, all int) { stages[name] = all },
		Measures: netbench.Options{
			Sizes: []int{8, 64 << 10}, Least: 2, Most: 2, Raw: "127.0.0.1:0",
			Collectives: []collective.Collective{netbench.PointToPoint, netbench.Stream, collective.Allreduce},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2*2 + 2*len(collective.Algorithms(collective.Allreduce)); r.Ranks != 3 || len(r.Points) != want || len(r.Shares) != 4 {
		t.Errorf("%d ranks, %d points of %d, %d shares", r.Ranks, len(r.Points), want, len(r.Shares))
	}
	for _, p := range r.Points {
		if p.Seconds <= 0 || p.Bandwidth <= 0 || (p.Predicted > 0) == (p.Algorithm == netbench.Raw) {
			t.Errorf("%+v", p)
		}
	}
	if p := r.Model.Pair(0, 2); p.Alpha <= 0 || p.Beta <= 0 {
		t.Errorf("%+v", p)
	}
	if _, ok := stages[Calibrating]; !ok || stages[Measuring] != 6 {
		t.Errorf("stages %v", stages)
	}
}

func TestNoRawConnectionIsSaid(t *testing.T) {
	r, err := Launch(t.Context(), Options{
		Ranks: 2, Command: process(good),
		Measures: netbench.Options{Sizes: []int{8}, Least: 1, Most: 1, Raw: "203.0.113.1:0", Collectives: []collective.Collective{netbench.PointToPoint}},
	})
	if err != nil || len(r.Points) != 1 || !strings.Contains(r.NoRaw, "203.0.113.1") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFailuresAreNamed(t *testing.T) {
	for what, want := range map[string]string{
		"dies": "rank 1: exit status 3: out of luck", "babbles": "rank 1: it says what it was not asked",
	} {
		_, err := Launch(t.Context(), Options{Ranks: 3, Command: process(bad(what))})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	_, err := Launch(t.Context(), Options{Ranks: 2, Command: process(good), Measures: netbench.Options{Sizes: []int{3, 2}}})
	if err == nil || !strings.Contains(err.Error(), "sizes must rise") {
		t.Error(err)
	}
	_, err = Launch(t.Context(), Options{Ranks: 2, Command: func(ctx context.Context) (*exec.Cmd, error) {
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
		Ranks: 2, Command: process(good), Measures: netbench.Options{Least: 1 << 30},
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
		if err := Serve(t.Context(), strings.NewReader(said), &out); err != nil || !strings.Contains(out.String(), errAlone.Error()) && !strings.Contains(out.String(), "context canceled") {
			t.Errorf("%s: said %s, %v", said, &out, err)
		}
	}
}

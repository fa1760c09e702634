package between

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/job"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/pregel"
)

// role is the environment variable that makes this binary a worker.
const role = "SUPERSTEP_TEST_BETWEEN"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := cluster.Serve(context.Background(), os.Stdin, os.Stdout, os.Args[1],
		nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestWhatIsSentIsWhatOneProcessSends: the results of both deliveries of Ueno13 are equal.
// Processes send the same as partitions in one process, and as expected from the graph. Naive
// delivery sends a pair of 12 bytes for every arc between partitions. Columns have a value for
// every vertex and each partition to which it has an arc.
func TestWhatIsSentIsWhatOneProcessSends(t *testing.T) {
	const workers, iterations, header = 3, 2, 24
	name := "rmat:scale=15,a=0.45,b=0.15,c=0.15"
	c := cluster.Cluster{Workers: workers, Threads: 1, Compress: "off", Command: func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.CommandContext(ctx, self, arguments...)
		cmd.Env = append(os.Environ(), role+"=worker")
		return cmd, err
	}}
	ways := []Way{
		{"naive", &job.Options{Delivery: "naive", Uncombined: true}},
		{"bitmap", &job.Options{Delivery: "pull", Encoding: "bitmap"}},
	}
	var r *Report
	err := c.Run(t.Context(),
		func(ctx context.Context, address string, token control.Token) (err error) {
			r, err = Options{
				Program:    "pagerank",
				Parameters: map[string]string{"iterations": fmt.Sprint(iterations)}, Ways: ways,
				Rounds: 2, Compare: true,
				Source: &job.Source{Input: name, Weights: "none"},
			}.Run(ctx, address, token)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	if r.Compared != 1<<15 || len(r.Ways) != 2 || len(r.Ways[0].Steps) < iterations {
		t.Fatalf("report %+v", r)
	}
	generator, err := generate.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := generate.Input(t.Context(), generator, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: workers})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for i, o := range []engine.Options{{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}}, {Delivery: delivery.ChoosePull, Experiment: delivery.Experiment{Encoding: delivery.Bitmap}}} {
		job, err := engine.NewJob(t.Context(), g,
			pregel.Erase(algorithms.PageRank{Damping: 0.85, Iterations: iterations}), o)
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := job.Run(t.Context())
		job.Close()
		if err != nil {
			t.Fatal(err)
		}
		w := r.Ways[i]
		if int(w.Values) != outcome.Sent || int(w.Bytes) != outcome.Bytes ||
			int(w.Messages) != outcome.Messages {
			t.Errorf("%s: %d values, %d bytes and %d messages between processes, %d, %d and %d in one", w.Way, w.Values, w.Bytes, w.Messages, outcome.Sent, outcome.Bytes, outcome.Messages)
		}
		sum := 0
		for _, s := range w.Steps {
			sum += s.Bytes
			if s.Total <= 0 || s.Wait < 0 {
				t.Errorf("%s: superstep %+v", w.Way, s)
			}
		}
		if sum != int(w.Bytes) {
			t.Errorf("%s: %d bytes in supersteps, %d in all", w.Way, sum, w.Bytes)
		}
	}
	arcs, columns := crossing(g)
	if naive := r.Ways[0]; int(naive.Values) != iterations*arcs ||
		int(naive.Bytes) != 12*int(naive.Values)+header*workers*(workers-1)*iterations {
		t.Errorf("naive: %d values and %d bytes, and %d arcs cross", naive.Values, naive.Bytes,
			arcs)
	}
	if bitmap := r.Ways[1]; int(bitmap.Values) != iterations*columns {
		t.Errorf("bitmap: %d values, and there are %d vertices with an arc to another partition",
			bitmap.Values, columns)
	}
	var text strings.Builder
	if err := r.Text(&text, true); err != nil ||
		!strings.Contains(text.String(), "32768 values equal in all ways") {
		t.Errorf("%v: %s", err, &text)
	}
}

// crossing counts the arcs between partitions, and the pairs of a vertex and another partition to
// which it has an arc.
func crossing(g *graph.Graph) (arcs, columns int) {
	for _, p := range g.Parts {
		layout := p.Layout(pregel.Out)
		columns += layout.Blocks[0].Pull.Senders.Count()
		for w, lists := 0, p.Out; w < len(lists.Bits); w++ {
			lo, hi := lists.Words(w)
			for _, to := range lists.Adj[lo:hi] {
				if to >= layout.Slots.Ghost {
					arcs++
				}
			}
		}
	}
	return arcs, columns
}

func TestResultsThatDiffer(t *testing.T) {
	for _, c := range []struct{ one, other, want string }{
		{"1 2\n2 3\n", "1 2\n2 3\n", ""},
		{"1 0.5\n2 3\n", "1 0.5000000000001\n2 3\n", ""},
		{"1 0.5\n", "1 0.50001\n", "vertex 1 has 0.5 and 0.50001"},
		{"1 a b\n2 3\n", "1 a b\n2 3\n", ""},
		{"1 3\n2 inf\n3 -\n", "1 3\n2 inf\n3 -\n", ""},
		{"1 3\n2 -\n", "1 3\n2 4\n", "vertex 2 has - and 4"},
		{"1 3\n2 4\n", "1 3\n2 -\n", "vertex 2 has 4 and -"},
		{"1 3\n2 4\n", "1 3\n", "there are 2 values and 1"},
		{"1 3\n", "1 3\n2 4\n", "there is a value for 2, the 2-th"},
		{"1 3\n", "1 3\n2", `the result ends in "2"`},
		{"1 3\n", "1\n", `found the line "1", expected ID VALUE`},
	} {
		for _, piece := range []int{1, 3, 100} {
			first := &values{}
			second := &values{against: first}
			found := ""
			for _, v := range []*values{first, second} {
				text := c.one
				if v == second {
					text = c.other
				}
				var err error
				for len(text) > 0 && err == nil {
					n := min(piece, len(text))
					_, err = v.Write([]byte(text[:n]))
					text = text[n:]
				}
				if err == nil {
					err = v.end()
				}
				if err != nil {
					found = err.Error()
				}
			}
			if found != c.want {
				t.Errorf("%q and %q: found %q, expected %q", c.one, c.other, found, c.want)
			}
		}
	}
}

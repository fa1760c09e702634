package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/pregel"
)

// registry has the programs of the master and the workers.
var registry = func() engine.Registry {
	all, problems := builtin.With(nil)
	if len(problems) > 0 {
		panic(problems)
	}
	return append(all, engine.Register("mixing", pregel.Erase(mixing{})),
		engine.Register("ages", pregel.Erase(ages{})))
}()

// mixing makes vertices send, sleep and wake depending on their values. Its result depends on each
// message.
type mixing struct{}

func (mixing) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (mixing) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	x := v.Value()*31 + sum*7 + int64(v.Label())
	v.Set(x)
	if v.Superstep() < 14 && x%3 != 0 {
		v.SendToAllNeighbors(x % 1000)
	}
	if v.Superstep() >= 14 || x%5 < 2 {
		v.VoteToHalt()
	}
}

// job is a program, its parameters and a graph.
type job struct {
	program, params, input string
}

// jobs are small jobs of each kind: a monotone program, sums of floats, many supersteps, few
// supersteps.
var jobs = []job{
	{"wcc", "", "grid:rows=16,columns=16"},
	{"sssp", "source=3", "kronecker:scale=7"},
	{"bfs", "source=0,output=level", "grid:rows=12,columns=20"},
	{"pagerank", "iterations=25", "kronecker:scale=6"},
	{"cdlp", "iterations=12", "kronecker:scale=6"},
	{"kcore", "", "kronecker:scale=6"},
	{"mixing", "", "kronecker:scale=7"},
}

func (j job) String() string { return j.program }

func (j job) parameters() map[string]string {
	all := map[string]string{}
	for _, p := range strings.Split(j.params, ",") {
		if key, value, ok := strings.Cut(p, "="); ok {
			all[key] = value
		}
	}
	return all
}

func (j job) spec() *jobspec.Spec {
	input := j.input
	if j.ofFile() {
		input = fileName
	}
	return &jobspec.Spec{Program: j.program, Parameters: j.parameters(), Source: &jobspec.Source{Input: input}, KeepResult: true}
}

// Prefixes of inputs: the graph is a generator's graph with an additional cycle, in a file; or
// another file of the same size.
const (
	ofFile    = "file of "
	otherFile = "other file of "
)

func (j job) ofFile() bool { return strings.Contains(j.input, ofFile) }

// inFile returns the same job with its graph in a file.
func (j job) inFile() job {
	j.input = ofFile + j.input
	return j
}

// other returns the same job with the other file.
func (j job) other() job {
	j.input = strings.Replace(j.input, ofFile, otherFile, 1)
	return j
}

func (j job) weighted() bool { return j.program == "sssp" || j.program == "msf" }

// text returns the content of the graph's file.
func (j job) text(t testing.TB) []byte {
	other, generator := strings.HasPrefix(j.input, otherFile),
		j.input[strings.Index(j.input, ofFile)+len(ofFile):]
	in, err := load.Open(t.Context(), load.Request{Name: generator, Weights: edges.Float64})
	check(t, err)
	defer in.Close()
	var text bytes.Buffer
	line := func(n int, u, v uint64, w float64) {
		if other && n%5 == 0 {
			v ^= 1
		}
		fmt.Fprint(&text, u, v)
		if j.weighted() {
			fmt.Fprint(&text, " ", w)
		}
		text.WriteByte('\n')
	}
	var b edges.Block
	for i := range edges.Blocks(in.Edges) {
		check(t, in.Edges.Read(i, &b))
		for k := range b.N {
			line(k, b.U[k], b.V[k], b.W[k])
		}
	}
	for v := range uint64(in.Vertices) { // so that every vertex has an edge
		line(1, v, (v+1)%uint64(in.Vertices), 0.5)
	}
	return text.Bytes()
}

var results = struct {
	mu  sync.Mutex
	all map[job]map[uint64]string
}{all: map[job]map[uint64]string{}}

// result returns the job's result in one process, computed once.
func (j job) result(t testing.TB) map[uint64]string {
	t.Helper()
	results.mu.Lock()
	defer results.mu.Unlock()
	if results.all[j] == nil {
		results.all[j], _ = j.expected(t)
	}
	return results.all[j]
}

// expected runs a job in one process, on one partition.
func (j job) expected(t testing.TB) (map[uint64]string, int) {
	t.Helper()
	known, err := registry.Find(j.program)
	check(t, err)
	form, err := known.New(j.parameters(), nil)
	check(t, err)
	request := load.Request{Name: j.input, Weights: edges.Float64}
	if j.ofFile() {
		request.Name, request.IfAny = filepath.Join(t.TempDir(), fileName), true
		check(t, os.WriteFile(request.Name, j.text(t), 0o600))
	}
	in, err := load.Open(t.Context(), request)
	check(t, err)
	defer in.Close()
	g, err := build.Local(t.Context(), in, graph.Options{Weights: form.Weights()})
	check(t, err)
	defer g.Close()
	program, err := known.New(j.parameters(), g.Find)
	check(t, err)
	bound, err := program.Bind(t.Context(), g, engine.Options{})
	check(t, err)
	defer bound.Close()
	outcome, err := bound.Run(t.Context())
	check(t, err)
	lines := map[uint64]string{}
	for v := pregel.VertexID(0); uint64(v) < bound.IDs(); v++ {
		if bound.Exists(v) {
			lines[bound.Label(v)] = string(bound.Append(nil, v))
		}
	}
	return lines, outcome.Supersteps
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare describes a difference between a result and the expected values, or returns "".
func compare(text string, want map[uint64]string) string {
	left := maps.Clone(want)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		label, err := strconv.ParseUint(name, 10, 64)
		expected, ok := left[label]
		if err != nil || !ok || !near(value, expected) {
			return fmt.Sprintf("found %q, expected %q", strings.TrimSpace(line), expected)
		}
		delete(left, label)
	}
	if len(left) > 0 {
		return fmt.Sprintf("%d vertices of %d are missing", len(left), len(want))
	}
	return ""
}

// near reports whether two values differ at most by the order of float additions.
func near(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if _, err := strconv.ParseInt(b, 10, 64); err == nil || err1 != nil || err2 != nil {
		return a == b
	}
	return x == y || max(x-y, y-x) <= 1e-9*max(x, -x, y, -y)
}

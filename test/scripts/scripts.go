// Package scripts runs the command line in tests as users do, by scripts and with clusters of
// processes. Start with scripts.go and cluster.go.
package scripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
)

// Main makes the test binary available to scripts as superstep, as a user's own binary, and under
// other names.
func Main(m *testing.M, others map[string]func()) {
	commands := map[string]func(){
		"superstep": func() { program() },
		"own":       func() { program(own()...) },
	}
	maps.Copy(commands, others)
	testscript.Main(m, commands)
}

// Run runs the scripts in a directory with the commands of this package. root is the module's
// directory.
func Run(t *testing.T, root, dir string) {
	examples, err := filepath.Abs(filepath.Join(root, "internal/graphio/testdata/graphalytics"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			// Most processes need little garbage collection. A larger value needs more processor
			// time, because the kernel has to provide more pages.
			e.Setenv("GOGC", "200")
			c := &Processes{Env: e.Vars, Dir: e.WorkDir, Running: map[string]*Member{}, servers: map[string]*Server{}}
			e.Values[clusterKey{}] = c
			e.Defer(func() { c.end(t) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"call": call, "exits": exits, "match": match, "jsonkeys": jsonKeys, "json": jsonValue,
			"jsonlines": jsonLines, "bytes": writeBytes, "only": only, "fields": fields,
			"fails": fails, "cut": cut, "same": same,
			"cluster": startCluster, "worker": startWorker, "stop": stopProcess,
			"ended": endedProcess, "crash": crashProcess, "restart": restartMaster,
			"standby": standsBy, "until": untilJob, "appears": appears, "freeport": freePort,
		},
	})
}

// exits is exits STATUS PROGRAM ARG...: it runs a program and checks its exit status. It runs
// superstep and own like call.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if args[1] == "superstep" || args[1] == "own" {
		got = perform(ts, args[1:]).Status
	} else if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// fails is fails STATUS TEXT ARG...: it runs superstep, which must print exactly the one line TEXT
// to standard error. If TEXT ends with ..., it is the beginning of the line.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	a := perform(ts, append([]string{"superstep"}, args[2:]...))
	want, got := "superstep: "+args[1], string(a.Stderr)
	if begin, ok := strings.CutSuffix(want, "..."); ok && strings.HasPrefix(got, begin) &&
		strings.Count(got, "\n") == 1 {
		want = strings.TrimSuffix(got, "\n")
	}
	if strconv.Itoa(a.Status) != args[0] || got != want+"\n" || len(a.Stdout) > 0 {
		ts.Fatalf("status %d, found\n%s%s\nwant %s\n%s", a.Status, a.Stdout, got, args[0], want)
	}
}

// match is match exact|epsilon|equivalence EXPECTED ACTUAL: it compares results as Graphalytics
// does.
func match(ts *testscript.TestScript, _ bool, args []string) {
	want, got := values(ts, args[1]), values(ts, args[2])
	if len(want) != len(got) {
		ts.Fatalf("%d values, want %d", len(got), len(want))
	}
	there, back := map[string]string{}, map[string]string{}
	for id, w := range want {
		g, ok := got[id]
		switch {
		case !ok:
			ts.Fatalf("vertex %s is missing", id)
		case args[0] == "exact" && g != w, args[0] == "epsilon" && !near(ts, w, g):
			ts.Fatalf("vertex %s has %s, want %s", id, g, w)
		case args[0] == "equivalence":
			if was, ok := there[w]; ok && was != g {
				ts.Fatalf("label %s became %s and %s", w, was, g)
			}
			if was, ok := back[g]; ok && was != w {
				ts.Fatalf("label %s stands for %s and %s", g, was, w)
			}
			there[w], back[g] = g, w
		}
	}
}

func values(ts *testscript.TestScript, file string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(ts.ReadFile(file)) {
		f := strings.Fields(line)
		if len(f) != 2 || all[f[0]] != "" {
			ts.Fatalf("%s: line %q", file, line)
		}
		all[f[0]] = f[1]
	}
	return all
}

func near(ts *testscript.TestScript, want, got string) bool {
	w, err := strconv.ParseFloat(want, 64)
	ts.Check(err)
	g, err := strconv.ParseFloat(got, 64)
	ts.Check(err)
	return w == g || math.Abs(w-g) <= 1e-4*math.Abs(w)
}

// jsonKeys is jsonKeys FILE KEYS: it checks that an object has exactly the keys in a file, in this
// order.
func jsonKeys(ts *testscript.TestScript, _ bool, args []string) {
	want := strings.Fields(ts.ReadFile(args[1]))
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	token, err := d.Token()
	ts.Check(err)
	if token != json.Delim('{') {
		ts.Fatalf("found %v, want an object", token)
	}
	var got []string
	for d.More() {
		key, err := d.Token()
		ts.Check(err)
		got = append(got, key.(string))
		var value any
		ts.Check(d.Decode(&value))
	}
	if !slices.Equal(got, want) {
		ts.Fatalf("keys %v\nwant %v", got, want)
	}
}

// jsonValue is jsonValue FILE KEY VALUE: it checks a value of an object. #N means an array of N
// elements, > a positive number.
func jsonValue(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	got, ok := object[args[1]]
	if !ok {
		ts.Fatalf("no key %s", args[1])
	}
	if n, ok := strings.CutPrefix(args[2], "#"); ok {
		if list, ok := got.([]any); !ok || strconv.Itoa(len(list)) != n {
			ts.Fatalf("%s is %v, want %s elements", args[1], got, n)
		}
		return
	}
	if args[2] == ">" {
		if x, ok := got.(float64); !ok || x <= 0 {
			ts.Fatalf("%s is %v, want a positive number", args[1], got)
		}
		return
	}
	var want any
	ts.Check(json.Unmarshal([]byte(args[2]), &want))
	if !reflect.DeepEqual(got, want) {
		ts.Fatalf("%s is %v, want %v", args[1], got, want)
	}
}

// same is same FILE FILE KEY...: it checks that two objects have the same values.
func same(ts *testscript.TestScript, _ bool, args []string) {
	var a, b map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &a))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &b))
	for _, key := range args[2:] {
		if a[key] == nil || !reflect.DeepEqual(a[key], b[key]) {
			ts.Fatalf("%s is %v and %v", key, a[key], b[key])
		}
	}
}

// jsonLines is jsonLines FILE KIND KEY...: it checks that every line of a kind is an object with
// these keys. For lists it checks the first element.
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	lines := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]any
		ts.Check(json.Unmarshal([]byte(line), &object))
		if object["kind"] != args[1] {
			continue
		}
		lines++
		for _, key := range args[2:] {
			at := object
			names := strings.Split(key, ".")
			for _, name := range names[:len(names)-1] {
				if list, ok := at[name].([]any); ok && len(list) > 0 {
					at, _ = list[0].(map[string]any)
				} else {
					at, _ = at[name].(map[string]any)
				}
			}
			if _, ok := at[names[len(names)-1]]; !ok {
				ts.Fatalf("line %d has no %s: %s", lines, key, line)
			}
		}
	}
	if lines == 0 {
		ts.Fatalf("%s has no lines of kind %s", args[0], args[1])
	}
}

// fields is fields FILE NAMES: it checks the labels of a report, in order.
func fields(ts *testscript.TestScript, _ bool, args []string) {
	var got []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if label, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			got = append(got, label)
		}
	}
	if want := strings.TrimSpace(ts.ReadFile(args[1])); strings.Join(got, "\n") != want {
		ts.Fatalf("fields %q\nwant %q", got, strings.Split(want, "\n"))
	}
}

// writeBytes is writeBytes FILE TEXT [TIMES]: it writes TEXT, in the syntax of a Go string, this
// many times.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	times := 1
	if len(args) > 2 {
		times, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, times)), 0o644))
}

// cut is cut FROM TO N: it copies the first N bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	data := ts.ReadFile(args[0])
	if len(data) <= n {
		ts.Fatalf("%s has %d bytes", args[0], len(data))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(data[:n]), 0o644))
}

// only is only DIR NAME...: it checks that a directory has exactly these files.
func only(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := args[1:]; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		ts.Fatalf("%s has %v, want %v", args[0], got, want)
	}
}

package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/superstep-go/superstep/lab/between"
)

// TestMain makes this binary available to scripts as lab.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lab": main})
}

// TestScripts runs the command line like a user.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"fails": fails, "carried": carried},
	})
}

// carried is carried FILE: it checks in a report of lab between that the namespaces' cables have
// carried the sent bytes and headers.
func carried(ts *testscript.TestScript, _ bool, args []string) {
	var r between.Report
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	for _, w := range r.Ways {
		if low, high := int64(w.Bytes), int64(2*w.Bytes+(1<<17)); r.Network == "namespaces" &&
			(w.Wire < low || w.Wire > high) || r.Network != "namespaces" && w.Wire != 0 {
			ts.Fatalf("%s, %s: %d bytes on the wire, %d were sent", r.Network, w.Way, w.Wire,
				w.Bytes)
		}
	}
}

// fails is fails STATUS TEXT ARG...: it runs lab, which must print exactly the one line TEXT to
// standard error. If TEXT ends with ..., it is the beginning of the line.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	if err := ts.Exec("lab", args[2:]...); !errors.As(err, &exit) || exit.ExitCode() != want {
		ts.Fatalf("found %v, expected exit status %d", err, want)
	}
	line, stderr := "lab: "+args[1], ts.ReadFile("stderr")
	begin, open := strings.CutSuffix(line, "...")
	if stderr != line+"\n" && !(open && strings.HasPrefix(stderr, begin) &&
		strings.Count(stderr, "\n") == 1) {
		ts.Fatalf("found\n%s\nexpected\n%s", stderr, line)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("found on standard output\n%s", out)
	}
}

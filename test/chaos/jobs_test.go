//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// job is a run whose result does not depend on how it is executed.
type job struct {
	name string
	args []string
	want []byte // the result of a run in one process

	other []byte // the result with the other file, for a worker that runs alone
}

// jobs returns jobs with all kinds of programs: exact values, and sums of floats that
// --deterministic adds in a fixed order. Their graphs are 2^larger times the size in a short test.
func jobs(larger int) []*job {
	kronecker := func(scale int) string { return fmt.Sprintf("kronecker:scale=%d", scale+larger) }
	all := []*job{
		{name: "bfs", args: []string{"bfs", "-p", "source=3", "--graph", kronecker(14)}},
		{name: "levels", args: []string{"bfs", "-p", "source=1", "-p", "output=level", "--graph", "grid:rows=60,columns=60"}},
		{name: "wcc", args: []string{"wcc", "--graph", kronecker(13)}},
		{name: "sssp", args: []string{"sssp", "-p", "source=3", "--graph", kronecker(12)}},
		{name: "pagerank", args: []string{"pagerank", "-p", "iterations=40", "--graph", kronecker(13)}},
		{name: "catalog", args: []string{"pagerank", "-p", "iterations=30", "--graph", "catalog:g"}},
		{name: "file", args: []string{"pagerank", "-p", "iterations=20", "--graph", ofFile}},
	}
	for _, j := range all {
		j.args = append(append([]string{"run"}, j.args...), "--deterministic")
	}
	return all
}

// fileName is a graph file that each worker has. ofFile is its name in jobs.
const (
	fileName = "graph.el"
	ofFile   = "file:g"
)

// ofCatalog is the source of the catalog's graph.
const ofCatalog = "kronecker:scale=12"

// Time limits: a longer job hangs, and a cluster that is not complete after healTime never will be.
const (
	jobTime  = 100 * time.Second
	healTime = 60 * time.Second
	retryFor = "15s"
)

// expect runs the jobs in one process.
func (c *cluster) expect(all []*job) {
	here, other := c.shared(), filepath.Join(c.dir, "other")
	err := errors.Join(os.Mkdir(other, 0o700), putFile(here, false), putFile(other, true))
	for _, w := range c.workers {
		err = errors.Join(err, putFile(c.root(w.name), false))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for _, j := range all {
		j.want = c.alone(j, here)
		if i := slices.Index(j.args, ofFile); i >= 0 {
			j.other = c.alone(j, other)
			j.args[i] = filepath.Join(here, fileName)
		}
	}
}

// alone runs a job in one process, with a graph file in a directory.
func (c *cluster) alone(j *job, dir string) []byte {
	args := append([]string(nil), j.args...)
	for i, a := range args {
		switch a {
		case "catalog:g":
			args[i] = ofCatalog
		case ofFile:
			args[i] = filepath.Join(dir, fileName)
		}
	}
	var said bytes.Buffer
	cmd := exec.Command(binary, append(args, "--output", "-", "--quiet")...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%s in one process: %v: %s", j.name, err, said.String())
	}
	return out
}

// causes are the allowed errors of failed jobs, with names. Any other error is a finding.
var causes = []struct {
	name string
	is   *regexp.Regexp
}{
	{"worker lost", regexp.MustCompile(`failed: .*\bworker \S+ (was|is) lost`)},
	{"master restarted", regexp.MustCompile(`the master restarted`)},
	{"no such job after a restart", regexp.MustCompile(`there is no job "`)},
	{"master lost", regexp.MustCompile(`^superstep: job \S+ may go on: lost the master at `)},
	{"master unreachable", regexp.MustCompile(`(?m)^superstep: the master at \S+ (cannot be reached|closed the connection|does not answer|no longer answers|did not answer in time)|^superstep: the server at \S+ closes connections without an answer`)},
	{"master stopping", regexp.MustCompile(`the master is stopping`)},
	{graphGone + " with a master", regexp.MustCompile(`there is no graph "g"`)},
	{graphGone + " with a worker", regexp.MustCompile(`failed: graph g: worker \S+, which held a share of it, (was lost|left|restarted|no longer has it|did not come back within \S+):`)},
	{graphGone + " with a connection", regexp.MustCompile(`failed: graph g: there is no connection between workers \S+ and \S+, which hold shares of it`)},
	{"workers cut from each other", regexp.MustCompile(`failed: .*worker \S+: .*(connection|worker) .*`)},
	{"damaged result", regexp.MustCompile(`the result of job \S+: .*damaged`)},
	{"no data", regexp.MustCompile(`the master (takes no job|loads no graph): `)},
	{"full disk", regexp.MustCompile(`(failed: result|the master.s state cannot be written): .*no space left on device`)},
	{"differing files", regexp.MustCompile(`workers \S+ and \S+ see different files: `)},
	{"cancelled", regexp.MustCompile(`was cancelled`)},
}

// graphGone begins the names of errors about a missing graph of the catalog.
const graphGone = "graph lost"

// load loads the graph into the catalog, in place of a lost one.
func (c *cluster) load() (said string, err error) {
	_, _, _ = c.client(30*time.Second, "graphs", "drop", "g") // there may be none
	_, said, err = c.client(jobTime, "graphs", "load", "g", "--graph", ofCatalog)
	return said, err
}

// cause returns the name of a client's last error, or "".
func cause(said string) string {
	line := last(said, 1)
	for _, c := range causes {
		if c.is.MatchString(line) {
			return c.name
		}
	}
	return ""
}

// client runs a command against the master. It returns the output, and an error unless the exit
// status is 0. A command that does not end in time hangs; then its stacks and those of the cluster
// are shown.
func (c *cluster) client(within time.Duration, args ...string) (out, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--master", c.clients.address(),
		"--retry-for", retryFor)...)
	cmd.Env = c.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		err = errHangs
	}
	return stdout.String(), stderr.String(), err
}

var errHangs = fmt.Errorf("it has not ended in time")

// outcome is the outcome of a job.
type outcome struct {
	job   *job
	cause string // the name of the error; "" if the result is right
	bad   string // a finding
}

// do runs a job on the cluster, or interrupts it after some time, and checks the outcome.
func (c *cluster) do(j *job, id int) outcome {
	file := filepath.Join(c.dir, fmt.Sprintf("result-%d", id))
	defer os.Remove(file)
	began := time.Now()
	_, said, err := c.client(jobTime, append(append([]string(nil), j.args...), "--output", file)...)
	o := outcome{job: j}
	switch {
	case err == errHangs:
		c.hung(fmt.Sprintf("%s for %v", j.name, time.Since(began).Round(time.Millisecond)), said)
		o.bad = "hangs: " + last(said, 40)
	case err != nil:
		if o.cause = cause(said); o.cause == "" {
			o.bad = fmt.Sprintf("%v, without a cause that has a name: %s", err, last(said, 3))
		}
		if _, err := os.Stat(file); err == nil {
			o.bad = "it failed, and left a result: " + last(said, 3)
		}
	default:
		got, err := os.ReadFile(file)
		c.mu.Lock()
		other := j.other != nil && bytes.Equal(got, j.other) &&
			(c.differed || c.differing.After(began))
		c.mu.Unlock()
		if err != nil || !bytes.Equal(got, j.want) && !other {
			kept := filepath.Join(c.dir, fmt.Sprintf("wrong-%s-%d", j.name, id))
			_ = os.WriteFile(kept, got, 0o600)
			o.bad = fmt.Sprintf("WRONG RESULT: %d bytes of %d are kept in %s (%v)", len(got),
				len(j.want), kept, err)
		}
	}
	if o.bad != "" {
		c.event("%s: %s", j.name, strings.ReplaceAll(o.bad, "\n", "\n    "))
	} else if o.cause != "" {
		c.event("%s: %s: %s", j.name, o.cause, last(said, 1))
	}
	return o
}

// stream runs jobs one after the other until stop is closed.
func (c *cluster) stream(
	random *rand.Rand, all []*job, first int, stop <-chan struct{}, done chan<- outcome,
) {
	for id := first; ; id += 1000 {
		select {
		case <-stop:
			return
		default:
		}
		o := c.do(all[random.IntN(len(all))], id)
		done <- o
		if o.cause != "" {
			<-time.After(100 * time.Millisecond) // otherwise a long fault fails a hundred jobs
		}
		if strings.HasPrefix(o.cause, graphGone) {
			c.load() // others may load it too, or it fails: the next job reports it
		}
	}
}

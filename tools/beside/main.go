// Beside runs superstep and the programs of a peer by turns on graphs of the same parameters, and
// prints their medians as a table of Markdown.
//
//	go -C tools run ./beside [--superstep FILE] [--scales 18,20,22] [--rounds 5] PEERS
//
// PEERS is a folder with programs of the GAP Benchmark Suite (https://github.com/sbeamer/gapbs), as
// its Makefile makes them: bfs, pr, cc and sssp; and, if there are such, bfs-relabelled and
// pr-relabelled, whose main calls Builder::RelabelByDegree. Those that are missing are left out.
// Nothing is built and nothing is written. What other work the machine does falls on both sides of
// a round; a ratio says more than a time.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "beside:", err)
		}
		os.Exit(1)
	}
}

// row is a thing that both sides do.
type row struct {
	name  string
	ours  []string // arguments of superstep; SCALE and FILE stand for these
	time  func(report map[string]any) (seconds float64, err error)
	peers []peer
}

// peer is a program beside ours.
type peer struct {
	column string
	file   string
	args   []string // SCALE stands for this
	huge   bool     // with huge pages
	line   string   // of its output that has the seconds
	per    float64  // how many things that takes
}

const (
	plain      = "GAPBS"
	relabelled = "relabelled, huge pages"
	hugePages  = "GAPBS, huge pages"
)

var columns = []string{plain, hugePages, relabelled}

var rows = []row{
	{
		"BFS, mean of 16 roots",
		[]string{"graph500", "--scale", "SCALE", "--roots", "16", "--no-validate", "--json", "FILE"},
		searching("bfs"),
		[]peer{
			{plain, "bfs", []string{"-g", "SCALE", "-n", "16"}, false, "Average Time", 1},
			{relabelled, "bfs-relabelled", []string{"-g", "SCALE", "-n", "16"}, true, "Average Time", 1},
		},
	},
	{
		"kernel 1 (construction)",
		[]string{"graph500", "--scale", "SCALE", "--roots", "1", "--no-validate", "--json", "FILE"},
		number("construction_time"),
		[]peer{{plain, "bfs", []string{"-g", "SCALE", "-n", "1"}, false, "Build Time", 1}},
	},
	{
		"PageRank, an iteration", simple("pagerank", "-p", "iterations=20", "-p", "tolerance=0"),
		medianSuperstep,
		[]peer{
			{plain, "pr", []string{"-g", "SCALE", "-i", "20", "-t", "0", "-n", "2"}, false, "Average Time", 20},
			{relabelled, "pr-relabelled", []string{"-g", "SCALE", "-i", "20", "-t", "0", "-n", "2"}, true, "Average Time", 20},
		},
	},
	{
		"WCC", simple("wcc"), number("run_time"),
		[]peer{{plain, "cc", []string{"-g", "SCALE", "-n", "8"}, false, "Average Time", 1}},
	},
	{
		"SSSP, mean of 8 roots",
		[]string{"graph500", "--scale", "SCALE", "--roots", "8", "--sssp", "--no-validate", "--json", "FILE"},
		searching("sssp"),
		[]peer{
			{plain, "sssp", []string{"-g", "SCALE", "-n", "8"}, false, "Average Time", 1},
			{hugePages, "sssp", []string{"-g", "SCALE", "-n", "8"}, true, "Average Time", 1},
		},
	},
}

func simple(args ...string) []string {
	return append([]string{"run", args[0], "--graph", "kronecker:scale=SCALE", "--duplicates", "first", "--self-loops", "drop", "-q", "--json", "FILE"}, args[1:]...)
}

// number takes a number of superstep's report.
func number(key string) func(map[string]any) (float64, error) {
	return func(report map[string]any) (float64, error) {
		x, ok := report[key].(float64)
		if !ok {
			return 0, fmt.Errorf("the report of superstep has no %s", key)
		}
		return x, nil
	}
}

// searching takes the mean time of a kernel's searches, whose results are by the program's own
// vertex numbers, as those of the peers are.
func searching(kernel string) func(map[string]any) (float64, error) {
	return func(report map[string]any) (float64, error) {
		mean, err := number(kernel + "_mean_time")(report)
		translate, _ := report[kernel+"_translate"].([]any)
		for _, x := range translate {
			x, _ := x.(float64)
			mean -= x / float64(len(translate))
		}
		return mean, err
	}
}

// medianSuperstep takes the median of the supersteps of a report.
func medianSuperstep(report map[string]any) (float64, error) {
	list, _ := report["superstep_time"].([]any)
	var times []float64
	for _, x := range list {
		x, _ := x.(float64)
		times = append(times, x)
	}
	if len(times) == 0 {
		return 0, errors.New("the report of superstep has no superstep_time")
	}
	return median(times), nil
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("beside", flag.ContinueOnError)
	flags.SetOutput(stderr)
	superstep := flags.String("superstep", "superstep", "the program superstep")
	scales := flags.String("scales", "18,20,22", "the SCALEs of the graphs")
	rounds := flags.Int("rounds", 5, "how often each program runs, by turns")
	only := flags.String("only", "", "only rows whose name begins so")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rounds < 1 {
		return errors.New("expected one folder of peers, and rounds of 1 or more: beside [--superstep FILE] [--scales 18,20,22] [--rounds 5] PEERS")
	}
	program, err := exec.LookPath(*superstep)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "| ms, medians of %d rounds | SCALE | superstep | %s |\n|---|---|---|%s\n",
		*rounds, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, r := range rows {
		if !strings.HasPrefix(r.name, *only) {
			continue
		}
		for _, scale := range strings.Split(*scales, ",") {
			if n, err := strconv.Atoi(scale); err != nil || n < 1 {
				return fmt.Errorf("%q is no SCALE", scale)
			}
			line, err := r.measure(program, flags.Arg(0), scale, *rounds)
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, line)
		}
	}
	return nil
}

// measure runs both sides of a row by turns, and returns its line of the table: in brackets the
// peer's time over ours.
func (r *row) measure(program, peers, scale string, rounds int) (string, error) {
	var ours []float64
	theirs := map[string][]float64{}
	for range rounds {
		x, err := r.runOurs(program, scale)
		if err != nil {
			return "", err
		}
		ours = append(ours, x)
		for _, p := range r.peers {
			x, err := p.run(peers, scale)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", err
			}
			theirs[p.column] = append(theirs[p.column], x)
		}
	}
	mine := median(ours)
	cells := []string{r.name, scale, figure(mine)}
	for _, column := range columns {
		cell := ""
		if x := theirs[column]; len(x) > 0 {
			cell = fmt.Sprintf("%s (%.2f)", figure(median(x)), median(x)/mine)
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |", nil
}

// runOurs runs superstep once, and returns the seconds that its report has.
func (r *row) runOurs(program, scale string) (float64, error) {
	f, err := os.CreateTemp("", "beside-*.json")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return 0, err
	}
	args := slices.Clone(r.ours)
	for i, a := range args {
		args[i] = strings.NewReplacer("SCALE", scale, "FILE", f.Name()).Replace(a)
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, err
	}
	var report map[string]any
	if err := json.Unmarshal(data, &report); err != nil {
		return 0, err
	}
	return r.time(report)
}

// run runs the peer once, and returns the seconds that it prints of one thing. The error is
// os.ErrNotExist if there is no such program.
func (p *peer) run(folder, scale string) (float64, error) {
	file := filepath.Join(folder, p.file)
	if _, err := os.Stat(file); err != nil {
		return 0, err
	}
	args := slices.Clone(p.args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "SCALE", scale)
	}
	c := exec.Command(file, args...)
	if p.huge {
		c.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", file, strings.Join(args, " "), err, out)
	}
	x, err := secondsOf(string(out), p.line)
	return x / p.per, err
}

// secondsOf takes the seconds of a line "NAME: 1.25" of what a peer printed.
func secondsOf(out, name string) (float64, error) {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) +
		`:\s+([0-9.eE+-]+)\s*$`).FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the peer printed no line %q:\n%s", name, out)
	}
	return strconv.ParseFloat(m[1], 64)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// figure writes seconds as milliseconds, of three digits or more.
func figure(seconds float64) string {
	ms, decimals := 1000*seconds, 2
	for x := ms; x >= 10 && decimals > 0; x /= 10 {
		decimals--
	}
	return strconv.FormatFloat(ms, 'f', decimals, 64)
}

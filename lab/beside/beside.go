// Package beside compares superstep.Run with the programs of the GAP Benchmark Suite (GAPBS,
// https://github.com/sbeamer/gapbs) on the same files. Both run alternately. Start with beside.go.
//
//	file -- superstep.Load, Run, Run, ... (a process) --+
//	     -- GAPBS: read, trial, trial, ... (a process) -+-- rounds --> Row
package beside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Config has the options of a comparison.
type Config struct {
	Peers string // the directory of GAPBS' programs
	// the command that calls Trials; FILE, ALGORITHM, trials and threads are appended
	Ours           []string
	Rounds, Trials int
	Threads        int // for both sides
}

// Row has the times of an algorithm on a graph, in seconds. The time of later trials is the median
// over rounds of each process's median.
type Row struct {
	Graph     string  `json:"graph"`
	Algorithm string  `json:"algorithm"`
	First     float64 `json:"first_seconds"` // the first Run on a graph
	Later     float64 `json:"later_seconds"`
	Peers     []Peer  `json:"peers"`
}

// Peer has the times of a program of GAPBS.
type Peer struct {
	Name  string  `json:"name"`
	First float64 `json:"first_seconds"`
	Later float64 `json:"later_seconds"`
}

// peer is a program of GAPBS. Its variants have different arguments; the fastest counts.
type peer struct {
	name, program string
	variants      [][]string
	huge          bool // uses huge pages
}

var peers = map[string][]peer{
	"bfs": {
		{"GAPBS", "bfs", [][]string{nil}, false},
		{"relabelled, huge pages", "bfs-relabelled", [][]string{nil}, true},
	},
	"pagerank": {
		{"GAPBS", "pr", [][]string{{"-i", strconv.Itoa(Iterations), "-t", "0"}}, false},
		{"relabelled, huge pages", "pr-relabelled", [][]string{{"-i", strconv.Itoa(Iterations), "-t", "0"}}, true},
	},
	// delta is the width of a bucket of distances; the best delta depends on the graph
	"sssp": {{"GAPBS", "sssp", [][]string{{"-d", "1"}, {"-d", "16"}, {"-d", "64"}, {"-d", "256"}}, false}},
	"wcc":  {{"GAPBS", "cc", [][]string{nil}, false}},
}

// Fits reports whether an algorithm can use a file. Files with weights (.wsg) are for sssp only.
func Fits(file, algorithm string) bool {
	return filepath.Ext(file) == ".wsg" == (algorithm == "sssp")
}

// Compare runs both sides alternately. Missing programs of GAPBS are left out.
func (c Config) Compare(ctx context.Context, file, algorithm string) (*Row, error) {
	type side struct {
		peer    int // -1: superstep
		variant int
		first   []float64
		later   []float64
	}
	sides := []*side{{peer: -1}}
	for i, p := range peers[algorithm] {
		if _, err := os.Stat(filepath.Join(c.Peers, p.program)); errors.Is(err, os.ErrNotExist) {
			continue
		}
		for v := range p.variants {
			sides = append(sides, &side{peer: i, variant: v})
		}
	}
	for range c.Rounds {
		for _, s := range sides {
			command := c.ours(ctx, file, algorithm)
			if s.peer >= 0 {
				command = c.theirs(ctx, file, peers[algorithm][s.peer], s.variant)
			}
			times, err := c.times(command)
			if err != nil {
				return nil, err
			}
			s.first, s.later = append(s.first, times[0]), append(s.later, median(times[1:]))
		}
	}
	row := &Row{Graph: filepath.Base(file), Algorithm: algorithm, First: median(sides[0].first), Later: median(sides[0].later)}
	for _, s := range sides[1:] {
		p := Peer{peers[algorithm][s.peer].name, median(s.first), median(s.later)}
		if n := len(row.Peers); n > 0 && row.Peers[n-1].Name == p.Name {
			if p.Later < row.Peers[n-1].Later {
				row.Peers[n-1] = p
			}
			continue
		}
		row.Peers = append(row.Peers, p)
	}
	return row, nil
}

func (c Config) ours(ctx context.Context, file, algorithm string) *exec.Cmd {
	args := append(slices.Clone(c.Ours[1:]), file, algorithm, strconv.Itoa(c.Trials),
		strconv.Itoa(c.Threads))
	return exec.CommandContext(ctx, c.Ours[0], args...)
}

func (c Config) theirs(ctx context.Context, file string, p peer, variant int) *exec.Cmd {
	args := append([]string{"-f", file, "-n", strconv.Itoa(c.Trials)}, p.variants[variant]...)
	command := exec.CommandContext(ctx, filepath.Join(c.Peers, p.program), args...)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS="+strconv.Itoa(c.Threads))
	if p.huge {
		command.Env = append(command.Env, "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
	}
	return command
}

// times runs a command and returns the times of its trials in seconds.
func (c Config) times(command *exec.Cmd) ([]float64, error) {
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, out)
	}
	times := seconds(string(out))
	if len(times) != c.Trials {
		return nil, fmt.Errorf("%s printed the times of %d trials, expected %d:\n%s",
			strings.Join(command.Args, " "), len(times), c.Trials, out)
	}
	return times, nil
}

// trialTime begins GAPBS' output line with the time of a trial.
const trialTime = "Trial Time"

var trialLine = regexp.MustCompile(`(?m)^` + trialTime + `:\s+([0-9.]+)\s*$`)

func seconds(out string) (all []float64) {
	for _, m := range trialLine.FindAllStringSubmatch(out, -1) {
		if x, err := strconv.ParseFloat(m[1], 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Title is the head of a table of rows in Markdown.
const Title = "| graph | algorithm | superstep, ms | first Run | GAPBS, ms | first trial | speed | relabelled, huge pages | speed |\n|---|---|---|---|---|---|---|---|---|"

// String returns the row as a line of that table. Speed is the peer's time divided by superstep's.
func (r *Row) String() string {
	cells := []string{r.Graph, r.Algorithm, figure(r.Later), figure(r.First), "", "", "", "", ""}
	for _, p := range r.Peers {
		if p.Name == "GAPBS" {
			copy(cells[4:],
				[]string{figure(p.Later), figure(p.First), fmt.Sprintf("%.2f", p.Later/r.Later)})
		} else {
			copy(cells[7:], []string{figure(p.Later), fmt.Sprintf("%.2f", p.Later/r.Later)})
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// figure formats seconds as milliseconds, with at least three digits.
func figure(seconds float64) string {
	ms, decimals := 1000*seconds, 2
	for x := ms; x >= 10 && decimals > 0; x /= 10 {
		decimals--
	}
	return strconv.FormatFloat(ms, 'f', decimals, 64)
}

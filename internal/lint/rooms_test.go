package lint

import (
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// room is a group of packages with one purpose, and a budget of code lines for all of them
// together. Budgets only fall: added code must be compensated by removed code.
type room struct {
	name     string
	budget   int
	packages []string // with their subfolders, unless another room has these
}

// rooms are ordered from the bottom. A package may import only from its own room and from rooms
// below.
var rooms = []room{
	{"ground", 3488, []string{
		"internal/wire", "internal/bitmap", "internal/parallel", "internal/mem",
		"internal/statefile",
		"internal/figure", "internal/buildinfo", "internal/invariants",
		"internal/faults", "internal/lint", "internal/escape", "record", "internal/trace",
	}},
	{"programs", 4271, []string{
		"internal/kernel", "pregel", "combiners", "internal/plans", "plan", "internal/laws",
	}},
	{"storage", 3266, []string{
		"internal/store", "internal/checkpoint", "internal/backup", "internal/standby",
		"drivers/s3",
	}},
	{"formats", 10402, []string{
		"internal/names", "internal/edges", "internal/graphio", "drivers/parquet", "internal/job",
	}},
	{"transport", 7962, []string{
		"internal/certs", "internal/membership", "internal/transport", "internal/collective", "internal/netbench",
		"internal/testcluster/memlink",
	}},
	{"graphs", 11486, []string{
		"internal/graph", "internal/generate", "internal/snapshot", "internal/load",
	}},
	{"engine", 11263, []string{
		"internal/delivery", "internal/bsp", "internal/engine", "internal/fill", "internal/backend",
		"internal/resultlines",
	}},
	{"sets", 1, []string{"vertexset", "internal/sets"}},
	{"algorithms", 5485, []string{"algorithms", "internal/builtin"}},
	{"graph500", 2696, []string{"internal/graph500", "internal/graphalytics"}},
	{"cluster", 7863, []string{
		"internal/history", "internal/otlp", "internal/metrics", "internal/jobtrace",
		"internal/web",
		"drivers/otlp", "internal/control", "internal/client",
		"internal/objects",
		"internal/job/resolve",
	}},
	{"daemons", 11639, []string{"master", "worker", "internal/daemon"}},
	{"users", 11691, []string{
		"internal/cli", "internal/following", "internal/keeping", "", "cluster", "command", "cmd",
		"internal/reference",
		"pregel/pregeltest",
		"internal/testcluster", "internal/programtest", "internal/laxgc",
		"internal/statefile/statetest",
	}},
	{"examples and tests", 0, []string{"examples", "test"}},
}

// features has the lines that features have added to rooms: vertex sets, also on clusters, LALP,
// trees of steps and reports, classes of sizes, curves of workers, supersteps that work by lists,
// also with several threads and on clusters, exchanges of few messages, short frames that their
// sender writes and a waiting worker polls for, results that take over their arrays, the numbers of
// Graph500, huge pages of small arrays, sums of short lists, vertices dealt in
// blocks, and the window of shortest paths in road
// networks. The budgets of the rooms do not rise for them.
var features = map[string]int{
	"ground":     224,
	"programs":   282,
	"storage":    2,
	"formats":    28,
	"transport":  266,
	"graphs":     648,
	"engine":     695,
	"sets":       621,
	"algorithms": 40,
	"graph500":   38,
	"cluster":    127,
	"daemons":    309,
	"users":      291,
}

// maxFeatures is the maximum of all features together.
const maxFeatures = 3578

// uncounted are generated files that are older than the budgets. New ones count.
var uncounted = map[string]bool{
	"combiners/kernels_gen.go":            true,
	"internal/control/control.pb.go":      true,
	"internal/control/control.connect.go": true,
}

// maxFloors is the maximum length of a chain of imports.
const maxFloors = 13

// slack is the number of lines that a room may be below its budget before the budget must be
// lowered.
const slack = 60

// roomOf returns the room that names the package or its nearest parent folder.
func roomOf(pkg string) (int, bool) {
	for {
		for i, r := range rooms {
			if slices.Contains(r.packages, pkg) {
				return i, true
			}
		}
		above, _, found := cutLast(pkg, "/")
		if !found {
			return 0, false
		}
		pkg = above
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// TestImportsGoDown: no package imports from a higher room, and chains of imports are short.
func TestImportsGoDown(t *testing.T) {
	imports := map[string]map[string]bool{}
	for _, f := range all(t) {
		own, known := roomOf(f.pkg())
		if !known {
			t.Errorf("%s: no room has package %q", f.path, f.pkg())
			continue
		}
		if f.test {
			continue
		}
		if imports[f.pkg()] == nil {
			imports[f.pkg()] = map[string]bool{}
		}
		for _, path := range f.imports() {
			target, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			target = strings.TrimPrefix(target, "/")
			if at, ok := roomOf(target); !ok || at > own {
				t.Errorf("%s, of room %s, imports %q, of a room above", f.path, rooms[own].name,
					target)
			}
			imports[f.pkg()][target] = true
		}
	}
	floors := map[string]int{}
	var chain func(string) []string
	var floor func(string) int
	floor = func(pkg string) int {
		if floors[pkg] == 0 {
			floors[pkg] = 1 // Go allows no cycles
			for target := range imports[pkg] {
				floors[pkg] = max(floors[pkg], 1+floor(target))
			}
		}
		return floors[pkg]
	}
	chain = func(pkg string) []string {
		for _, target := range slices.Sorted(maps.Keys(imports[pkg])) {
			if floors[target] == floors[pkg]-1 {
				return append([]string{pkg}, chain(target)...)
			}
		}
		return []string{pkg}
	}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		if n := floor(pkg); n > maxFloors {
			t.Errorf("%d floors, of at most %d: %s", n, maxFloors, strings.Join(chain(pkg), " > "))
		}
	}
}

// TestBudgets: no room exceeds its budget, and no budget is larger than necessary.
func TestBudgets(t *testing.T) {
	lines := make([]int, len(rooms))
	for _, f := range all(t) {
		if at, ok := roomOf(f.pkg()); ok && !f.test && !uncounted[f.path] && rooms[at].budget > 0 {
			lines[at] += codeLines(t, filepath.Join("../..", f.path))
		}
	}
	together, budget, added := 0, 0, 0
	for i, r := range rooms {
		most := r.budget + features[r.name]
		if lines[i] > most {
			t.Errorf("room %s has %d code lines, and its budget is %d: take code out", r.name,
				lines[i], most)
		}
		if lines[i] < most-slack {
			t.Errorf("room %s has only %d code lines: lower its budget of %d", r.name, lines[i],
				most)
		}
		together, budget, added = together+lines[i], budget+most, added+features[r.name]
	}
	if added > maxFeatures {
		t.Errorf("features have %d lines, of at most %d", added, maxFeatures)
	}
	t.Logf("%d code lines, of %d", together, budget)
}

// TestBudgetsOnlyFall compares the budgets with those of the previous commit, if git has one.
func TestBudgetsOnlyFall(t *testing.T) {
	before := exec.Command("git", "show", "HEAD~1:internal/lint/rooms_test.go")
	before.Dir = "../.."
	old, err := before.Output()
	if err != nil {
		t.Skip("no earlier commit to compare with")
	}
	for _, r := range rooms {
		_, rest, found := strings.Cut(string(old), fmt.Sprintf("{%q, ", r.name))
		if !found {
			continue // the room is new: other rooms have become smaller, or the total grows
		}
		var was int
		if _, err := fmt.Sscanf(rest, "%d", &was); err != nil {
			t.Fatal(err)
		}
		if r.budget > was {
			t.Errorf("the budget of room %s rose from %d to %d", r.name, was, r.budget)
		}
	}
}

// codeLines counts the code lines of a file: without blank lines and comments. Lines longer than
// 100 columns, with tabs of four, count twice.
func codeLines(t *testing.T, path string) int {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file := set.AddFile(path, set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	has := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && literal != ";" {
			continue // at the end of a line
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(literal, "\n") {
			has[first+i] = true
		}
	}
	count := 0
	for i, line := range strings.Split(string(source), "\n") {
		switch {
		case !has[i+1] || strings.TrimSpace(line) == "":
		case len([]rune(strings.ReplaceAll(line, "\t", "    "))) > 100:
			count += 2
		default:
			count++
		}
	}
	return count
}

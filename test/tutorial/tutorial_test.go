//go:build unix

// Package tutorial_test runs every block of docs/tutorial.md, docs/concepts.md and docs/programs.md
// as a reader would. Each page runs in one shell. The output of the commands must match the page.
package tutorial_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/command"
)

// step is a block of commands, or of a program to write to a file, with the expected output.
type step struct {
	line     int
	commands string
	printed  string
}

// program matches the text before the block of a file, with the file's name.
var program = regexp.MustCompile("Put this into `([^`]+)`:$")

// parse returns the steps of a page: a block of sh with a following block of text. A block of go
// becomes a command that writes it to a file.
func parse(page string) ([]step, error) {
	var steps []step
	var before string // the last line of text
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			if lines[i] != "" {
				before = lines[i]
			}
			continue
		}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: a block without an end", begin)
		}
		text := strings.Join(lines[begin:i], "\n") + "\n"
		switch language {
		case "sh":
			steps = append(steps, step{line: begin, commands: text})
		case "go":
			file := program.FindStringSubmatch(before)
			if file == nil {
				return nil, fmt.Errorf("line %d: a program, and no file to put it into", begin)
			}
			steps = append(steps,
				step{line: begin, commands: "cat > " + file[1] + " <<'END OF FILE'\n" + text + "END OF FILE\n"})
		case "text":
			if len(steps) == 0 || steps[len(steps)-1].printed != "" {
				return nil, fmt.Errorf("line %d: printed by which commands?", begin)
			}
			steps[len(steps)-1].printed = text
		case "":
			// a drawing
		default:
			return nil, fmt.Errorf("line %d: a block of %q", begin, language)
		}
	}
	return steps, nil
}

// matches reports whether got matches want. In want, a line ... stands for any lines, and ... at
// the end of a line for the rest of the line.
func matches(want, got string) bool {
	pattern := regexp.QuoteMeta(strings.TrimSuffix(want, "\n"))
	dots := regexp.QuoteMeta("...")
	pattern = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(dots)+`$`).ReplaceAllString(pattern,
		`(?s:.*)`)
	pattern = regexp.MustCompile(`(?m)`+regexp.QuoteMeta(dots)+`$`).ReplaceAllString(pattern, `.*`)
	return regexp.MustCompile(`\A` + pattern + `\n*\z`).MatchString(got)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n...\n", "a\nb\nc\n", true},
		{"a\n...\nd\n", "a\nb\nc\n", false},
		{"a 1.5...\nb\n", "a 1.57\nb\n", true},
		{"a 1.5...\nb\n", "a 1.57\nc\nb\n", false},
		{"a.c\n", "abc\n", false},
	} {
		if got := matches(c.want, c.got); got != c.ok {
			t.Errorf("matches(%q, %q) = %v", c.want, c.got, got)
		}
	}
}

// TestMain makes the test binary superstep under that name, so that no page links it again.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "superstep" {
		command.Main()
	}
	os.Exit(m.Run())
}

// both is a test file by which the test binary of a page's programs is also their binary. The
// programs compile and link once.
const both = `package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "programs" {
		main()
	}
	os.Exit(m.Run())
}
`

func TestTutorial(t *testing.T) { run(t, "docs/tutorial.md") }

func TestConcepts(t *testing.T) { run(t, "docs/concepts.md") }

func TestPrograms(t *testing.T) { run(t, "docs/programs.md") }

// run runs a page. Its clone is this tree, and its cluster uses a free port.
func run(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	steps, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "superstep"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer(
		"git clone ADDRESS superstep && cd superstep", "cd superstep",
		"go build ./cmd/superstep", "cp '"+self+"' superstep",
		// The page runs go vet before, with the same checks.
		"go test .\ngo build .", "cat > both_test.go <<'END'\n"+both+
			"END\ngo test -vet off -c -o programs.test . && ./programs.test && cp programs.test programs",
		"superstep=../../superstep", "superstep="+tree,
		"superstep=../superstep", "superstep="+tree,
		"up --workers", "up --listen "+address+" --workers",
		"127.0.0.1:7700", address)
	var script strings.Builder
	// -m: as at a terminal, the cluster has its own process group. It ends with the page, even if a
	// block fails.
	script.WriteString(
		"exec 2>&1\nset -eum\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for i, s := range steps {
		if strings.Contains(s.commands, "up --workers") { // from here there is a cluster
			fmt.Fprintf(&script, "export SUPERSTEP_MASTER=%s\n", address)
		}
		fmt.Fprintf(&script, "echo '=== %d'\n%s", i, page.Replace(s.commands))
	}
	shell := exec.Command("bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"GOCACHE="+goCache(t), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod '-ldflags=-s -w'")
	shell.WaitDelay = 30 * time.Second
	out, err := shell.CombinedOutput()
	printed := strings.Split("\n"+string(out), "\n=== ")[1:]
	for i, p := range printed {
		_, p, _ = strings.Cut(p, "\n")
		if i < len(printed)-1 {
			p += "\n"
		}
		if s := steps[i]; s.printed != "" && !matches(s.printed, p) &&
			(err == nil || i < len(printed)-1) {
			t.Errorf("%s:%d: the page has\n%s\nit printed\n%s", path, s.line, s.printed, p)
		}
	}
	if err != nil {
		last := max(len(printed)-1, 0)
		t.Fatalf("%s:%d: %v: %s", path, steps[last].line, err, strings.Join(printed[last:], ""))
	}
	if len(printed) != len(steps) {
		t.Errorf("%d blocks ran, of %d", len(printed), len(steps))
	}
}

// goCache returns the directory of the build cache, because the blocks have another HOME.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

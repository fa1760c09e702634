//go:build unix

package cli_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns README's blocks of shell commands by their headings.
func blocks(readme string) map[string][]string {
	all := map[string][]string{}
	for _, section := range strings.Split(readme, "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		for _, block := range strings.Split(text, "```sh\n")[1:] {
			commands, _, _ := strings.Cut(block, "```\n")
			all[heading] = append(all[heading], commands)
		}
	}
	return all
}

// TestREADME runs README's blocks in a shell in a clone, on smaller graphs. They leave no file that
// git would show. Other tests run the blocks that compile: .ci/run program follows the first
// program, and the two commands are in .ci/run itself.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	readme := string(text)
	ignore, err := os.ReadFile("../../.gitignore")
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	binary, err := exec.LookPath("superstep")
	must(t, err)
	dir := t.TempDir()
	shell := func(commands string) string {
		t.Helper()
		cmd := exec.Command("bash", "-e")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(commands)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	made := regexp.MustCompile(
		"go build ./cmd/superstep && (mkdir -p out)`").FindStringSubmatch(readme)
	if made == nil {
		t.Fatal("README does not say how the binary is made")
	}
	shell("git init -q . && " + made[1])
	must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), ignore, 0o600))
	must(t, os.Symlink(binary, filepath.Join(dir, "superstep")))

	scale := regexp.MustCompile(`scale=\d+`)
	all := blocks(scale.ReplaceAllString(readme, "scale=8"))
	count := map[string]int{
		"Two commands": 1, "A first program": 2, "From a table of edges to an answer": 1,
		"See what a run does": 1, "A cluster": 1,
	}
	for heading, found := range all {
		if len(found) != count[heading] {
			t.Fatalf("README has %d blocks below %q, and %d are run", len(found), heading,
				count[heading])
		}
	}
	if len(all) != len(count) {
		t.Fatalf("README has blocks below %d headings, want %d", len(all), len(count))
	}
	out := shell(all["From a table of edges to an answer"][0])
	// the note about the input, and three vertices
	first := strings.Join(strings.SplitAfterN(out, "\n", 5)[:4], "")
	if _, want, _ := strings.Cut(readme, "--top 3\n```\n\n```text\n"); !strings.HasPrefix(want,
		first) {
		t.Errorf("the table's answer is\n%s", out)
	}
	if out = shell(all["See what a run does"][0]); strings.Count(out, "converged") != 1 {
		t.Errorf("the traced run printed\n%s", out)
	}
	cluster := all["A cluster"][0]
	cluster = strings.NewReplacer("superstep up", "superstep up --listen "+address,
		"127.0.0.1:7700", address).Replace(cluster)
	out = shell(cluster)
	if !strings.HasPrefix(out, "pagerank on kronecker:scale=8: ") ||
		strings.Contains(out, "warning") || !strings.Contains(out, " between 2 partitions\n") {
		t.Errorf("on the cluster it said\n%s", out)
	}
	if left := shell("git status --porcelain --untracked-files=all"); left != "?? .gitignore\n" {
		t.Errorf("git shows\n%s", left)
	}
	if err := exec.Command("superstep", "health", address).Run(); err == nil {
		t.Error("the cluster is still there")
	}
}

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

// block returns the first commands for a shell below a heading of README.
func block(t *testing.T, readme, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readme, "\n## "+heading+"\n")
	_, rest, found := strings.Cut(rest, "```sh\n")
	text, _, closed := strings.Cut(rest, "```\n")
	if !ok || !found || !closed {
		t.Fatalf("README has no commands below %s", heading)
	}
	return text
}

// TestREADME pastes what README has for a shell into one, on smaller graphs, in a clone: it works at once, and leaves nothing
// there that git would show.
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
	made := regexp.MustCompile("go build ./cmd/superstep && (mkdir -p out)`").FindStringSubmatch(readme)
	if made == nil {
		t.Fatal("README does not say how the binary is made")
	}
	shell("git init -q . && " + made[1])
	must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), ignore, 0o600))
	must(t, os.Symlink(binary, filepath.Join(dir, "superstep")))

	scale := regexp.MustCompile(`scale=\d+`)
	out := shell(scale.ReplaceAllString(block(t, readme, "Commands"), "scale=8"))
	if strings.Count(out, "converged") != 2 {
		t.Errorf("the commands said\n%s", out)
	}
	cluster := scale.ReplaceAllString(block(t, readme, "A cluster"), "scale=8")
	cluster = strings.NewReplacer("superstep up", "superstep up --listen "+address, "127.0.0.1:7700", address).Replace(cluster)
	out = shell(cluster)
	if !strings.HasPrefix(out, "pagerank on kronecker:scale=8: ") || strings.Contains(out, "warning") || !strings.Contains(out, " between 2 partitions\n") {
		t.Errorf("on the cluster it said\n%s", out)
	}
	if left := shell("git status --porcelain --untracked-files=all"); left != "?? .gitignore\n" {
		t.Errorf("git shows\n%s", left)
	}
	if err := exec.Command("superstep", "health", address).Run(); err == nil {
		t.Error("the cluster is still there")
	}
}

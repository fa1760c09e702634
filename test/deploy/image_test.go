package deploy

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// containerfile returns the stages of the Containerfile, parsed as image builders do.
func containerfile() ([]instructions.Stage, error) {
	text, err := os.ReadFile(deployed + "/Containerfile")
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	return stages, err
}

// buildCommand returns the go command in the Containerfile, without the argument of -o.
func buildCommand() ([]string, error) {
	stages, err := containerfile()
	if err != nil {
		return nil, err
	}
	for _, c := range stages[0].Commands {
		if r, ok := c.(*instructions.RunCommand); ok {
			line := strings.Join(r.CmdLine, " ")
			if m := regexp.MustCompile(`^CGO_ENABLED=0 go (build .*?)\s+-o /out/superstep ./cmd/superstep$`).FindStringSubmatch(line); m != nil {
				var args []string
				for _, a := range regexp.MustCompile(`[^\s"]*"[^"]*"|\S+`).FindAllString(m[1], -1) {
					args = append(args, strings.ReplaceAll(a, `"`, ""))
				}
				return args, nil
			}
		}
	}
	return nil, errors.New("the Containerfile does not build superstep without cgo")
}

// TestNoSecretsInTheContext: files that the compose setup creates and git ignores are not in the
// build context of the image.
func TestNoSecretsInTheContext(t *testing.T) {
	made, err := os.ReadFile(deployed + "/compose/.gitignore")
	must(t, err)
	ignored, err := os.ReadFile(deployed + "/../.dockerignore")
	must(t, err)
	for name := range strings.FieldsSeq(string(made)) {
		if line := "deploy/compose/" + strings.TrimSuffix(name,
			"/"); !slices.Contains(strings.Split(string(ignored), "\n"), line) {
			t.Errorf(".dockerignore does not have %s", line)
		}
	}
}

// TestContainerfile: the image is from scratch and does not run as root.
func TestContainerfile(t *testing.T) {
	stages, err := containerfile()
	must(t, err)
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image is from %s", last.BaseName)
	}
	user, entry, copied := "", "", map[string]bool{}
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = strings.Join(c.CmdLine, " ")
		case *instructions.CopyCommand:
			if c.From != stages[0].Name {
				t.Errorf("it copies from %q", c.From)
			}
			copied[c.DestPath] = true
		case *instructions.RunCommand:
			t.Error("it runs something, where there is nothing to run")
		}
	}
	if !regexp.MustCompile(`^[1-9][0-9]+:[1-9][0-9]+$`).MatchString(user) {
		t.Errorf("its user is %q: Kubernetes knows only of numbers that they are not root's", user)
	}
	for _, path := range []string{"/superstep", "/etc", "/data", "/tmp"} {
		if !copied[path] {
			t.Errorf("%s is not in it", path)
		}
	}
	if entry != "/superstep" {
		t.Errorf("it starts %q", entry)
	}
}

// TestStatic: the binary is statically linked.
func TestStatic(t *testing.T) {
	f, err := elf.Open(superstep(t))
	must(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %v", p.Type)
		}
	}
	info, err := os.Stat(superstep(t))
	must(t, err)
	t.Logf("%d bytes", info.Size())
}

// TestImageRuns starts a master and a worker in a root directory with only the image's files, as
// the image's user.
func TestImageRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change its root directory")
	}
	image := t.TempDir()
	must(t, os.Chmod(image, 0o755))
	for _, dir := range []string{"data", "tmp"} {
		must(t, os.Mkdir(filepath.Join(image, dir), 0o755))
		must(t, os.Chown(filepath.Join(image, dir), 65532, 65532))
	}
	program := read(t, superstep(t))
	must(t, os.WriteFile(filepath.Join(image, "superstep"), program, 0o755))
	within := func(c *exec.Cmd) {
		c.Dir, c.Env = "/", nil
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	m := launch(t, within, "/superstep", "master", "--listen", "127.0.0.1:0", "--gossip-listen",
		"off", "--data", "/data")
	line, err := m.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, m.stderr.String())
	}
	at := regexp.MustCompile(`master at (\S+);`).FindStringSubmatch(line)[1]
	launch(t, within, "/superstep", "worker", "--master", at, "--gossip-listen", "off")
	ask := func(args ...string) error {
		c := exec.Command("/superstep", args...)
		within(c)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", args, out)
		}
		return err
	}
	until(t, "the master to be ready", func() bool { return ask("health", at) == nil })
	until(t, "a job to run", func() bool {
		return ask("run", "bfs", "--master", at, "--graph", "star:vertices=10", "-p",
			"source=0") == nil
	})
	// Only /data and /tmp are writable.
	if err := ask("generate", "star:vertices=10", "--output", "/star.el"); err == nil {
		t.Error("the image's root can be written to")
	}
	must(t, ask("generate", "star:vertices=10", "--output", "/tmp/star.el"))
}

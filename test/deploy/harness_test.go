// Package deploy checks the files in deploy/. Prometheus' rules and Grafana's dashboards must match
// the exported metrics. The compose file, the Kubernetes manifests, the systemd units and the
// Containerfile must match their schemas, and the flags of superstep. Start with harness_test.go.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// root is the main module's directory. deployed has the files to check.
const (
	root     = "../.."
	deployed = root + "/deploy"
)

// work is a directory for all tests.
var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "deploy"); err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_STATE_HOME", filepath.Join(work, "state"))
	code := m.Run()
	_ = os.RemoveAll(work)
	os.Exit(code)
}

// needs skips a test whose tool is missing. It fails the test if CI requires the tool.
func needs(t testing.TB, tool, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err == nil {
		return path
	}
	text := fmt.Sprintf("there is no %s here: apt-get install %s", tool, pkg)
	if os.Getenv("SUPERSTEP_DEPLOY_REQUIRED") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// binary is superstep, built as in the image.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(work, "superstep")
	args, err := buildCommand()
	if err != nil {
		return "", err
	}
	args = append(args[:len(args):len(args)], "-o", path, "./cmd/superstep")
	c := exec.Command("go", args...)
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func superstep(t testing.TB) string {
	t.Helper()
	path, err := binary()
	must(t, err)
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

// process is a program that runs until the test ends.
type process struct {
	*exec.Cmd
	t      testing.TB
	stdout *bufio.Reader
	stderr lockedBuffer
	ended  chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts a program. At the end of the test it stops the program as a service manager does.
func launch(t testing.TB, change func(*exec.Cmd), name string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(name, args...), t: t, ended: make(chan struct{})}
	if change != nil {
		change(p.Cmd)
	}
	out, in := io.Pipe()
	p.Stdout, p.Stderr, p.stdout = in, &p.stderr, bufio.NewReader(out)
	must(t, p.Start())
	go func() {
		defer close(p.ended)
		_ = p.Wait()
		_ = in.Close()
	}()
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = out.Close()
		select {
		case <-p.ended:
		case <-time.After(45 * time.Second):
			_ = p.Process.Kill()
			t.Errorf("%s did not end", name)
		}
		if t.Failed() {
			t.Logf("%s: %s", strings.Join(p.Args, " "), p.stderr.String())
		}
	})
	return p
}

const metricsToken = "a-token-for-metrics"

// cluster is a master and its workers.
type cluster struct {
	t       testing.TB
	master  string
	secrets []string // flags
	token   string   // file name
	workers []*process
}

// startCluster starts a master with these flags, and workers.
func startCluster(t testing.TB, workers int, flags ...string) *cluster {
	t.Helper()
	dir := t.TempDir()
	secret := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		return path
	}
	c := &cluster{t: t, token: secret("token", "the-token-of-the-cluster")}
	c.secrets = []string{"--token-file", c.token, "--metrics-token-file", secret("metrics",
		metricsToken), "--gossip-listen", "off"}
	flags = append([]string{"master", "--listen", "127.0.0.1:0"}, flags...)
	p := launch(t, nil, superstep(t), append(flags, c.secrets...)...)
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	found := regexp.MustCompile(`master at (\S+);`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("found %q", line)
	}
	c.master = found[1]
	for i := range workers {
		c.workers = append(c.workers, launch(t, nil, superstep(t),
			append([]string{"worker", "--master", c.master, "--name", fmt.Sprint("w",
				i), "--threads", "1"}, c.secrets...)...))
	}
	until(t, "workers", func() bool {
		_, text := page(t, "http://"+c.master+"/metrics")
		return strings.Contains(text, fmt.Sprintf("\nsuperstep_workers_attached %d\n", workers))
	})
	return c
}

// run runs a program and returns the output.
func (c *cluster) run(args ...string) string {
	c.t.Helper()
	return c.command("run", args...)
}

// command runs a command of superstep that uses the cluster, and returns its output.
func (c *cluster) command(name string, args ...string) string {
	c.t.Helper()
	out := &lockedBuffer{}
	if err := c.begin(out, name, args...)(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return out.String()
}

// begin starts a command that uses the cluster. The result waits for its end.
func (c *cluster) begin(out io.Writer, name string, args ...string) (wait func() error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, superstep(c.t),
		append([]string{name, "--master", c.master, "--token-file", c.token}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	must(c.t, cmd.Start())
	return func() error { defer cancel(); return cmd.Wait() }
}

// startRun starts a local run that keeps serving its page. It returns its address.
func startRun(t testing.TB) string {
	t.Helper()
	at, token := freePort(t), filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte(metricsToken), 0o600))
	launch(t, nil, superstep(t), "run", "pagerank", "--graph", "kronecker:scale=10", "-p",
		"iterations=20", "--partitions", "2", "--http", at, "--http-token-file", token,
		"--http-linger")
	until(t, "a run to end", func() bool {
		_, text := page(t, "http://"+at+"/metrics")
		return strings.Contains(text, "\nsuperstep_job_running{") &&
			strings.Contains(text, `state="done"`)
	})
	return at
}

// page requests a page with the token for metrics.
func page(t testing.TB, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+metricsToken)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(t, err)
	return a.StatusCode, string(text)
}

// until waits until a condition holds.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	end := time.After(90 * time.Second)
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited for %s", what)
		}
	}
}

// freePort returns an address that was free a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// flagsOf returns the flags of a command.
func flagsOf(t testing.TB, command string) map[string]bool {
	t.Helper()
	out, err := exec.Command(superstep(t), command, "--help-all").Output()
	must(t, err)
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z0-9-]+)`).FindAllSubmatch(out,
		-1) {
		all[string(m[1])] = true
	}
	return all
}

// checkArguments fails for a command or flag that superstep does not have.
func checkArguments(t testing.TB, where string, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Errorf("%s: no arguments", where)
		return
	}
	known := flagsOf(t, args[0])
	if len(known) == 0 {
		t.Errorf("%s: superstep %s has no flags", where, args[0])
	}
	for _, a := range args[1:] {
		name, ok := strings.CutPrefix(a, "--")
		if !ok {
			continue // the value of a flag
		}
		name, _, _ = strings.Cut(name, "=")
		if !known[name] {
			t.Errorf("%s: superstep %s has no flag --%s", where, args[0], name)
		}
	}
}

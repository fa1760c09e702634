//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/scripts"
)

// process is a user's binary in a separate process.
type process struct {
	*exec.Cmd
	t      *testing.T
	stderr safeBuffer
	stdout *bufio.Reader
}

// safeBuffer is a buffer for concurrent writes and reads.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func launch(t *testing.T, args ...string) *process { return launchTo(t, nil, args...) }

// launchTo starts a process with the given standard error. If it is nil, the process keeps its
// output in a buffer.
func launchTo(t *testing.T, stderr *os.File, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	p := &process{Cmd: exec.CommandContext(ctx, "own", args...), t: t}
	out, err := p.StdoutPipe()
	must(t, err)
	p.Stderr, p.stdout = &p.stderr, bufio.NewReader(out)
	if stderr != nil {
		p.Stderr = stderr
	}
	must(t, p.Start())
	t.Cleanup(func() {
		cancel()
		_ = p.Wait()
	})
	return p
}

// ended waits for the process and checks its exit status.
func (p *process) ended(status int) {
	p.t.Helper()
	_, _ = io.Copy(io.Discard, p.stdout)
	_ = p.Wait() // the status is checked below
	if got := p.ProcessState.ExitCode(); got != status {
		p.t.Errorf("%v: exit status %d, expected %d: %s", p.Args[1:], got, status,
			p.stderr.String())
	}
}

func page(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Timeout: time.Minute}
	a, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(t, err)
	return a.StatusCode, strings.TrimSpace(string(text))
}

// until waits until a condition holds.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited for %s", what)
		}
	}
}

const clusterToken, prometheusToken = "the-token-of-the-cluster", "the-token-of-prometheus"

// secrets writes the tokens to files.
func secrets(t *testing.T) (cluster, prometheus string) {
	t.Helper()
	dir := t.TempDir()
	cluster, prometheus = filepath.Join(dir, "token"), filepath.Join(dir, "prometheus")
	must(t, os.WriteFile(cluster, []byte(clusterToken+"\n"), 0o600))
	must(t, os.WriteFile(prometheus, []byte(prometheusToken+"\n"), 0o600))
	return cluster, prometheus
}

// startMaster starts a master and returns its address.
func startMaster(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	return startMasterTo(t, nil, args...)
}

func startMasterTo(t *testing.T, stderr *os.File, args ...string) (*process, string) {
	t.Helper()
	m := launchTo(t, stderr,
		append([]string{"master", "--listen", "127.0.0.1:0", "--gossip-listen", "off"}, args...)...)
	line, err := m.stdout.ReadString('\n')
	must(t, err)
	_, address, _ := strings.Cut(line, "master at ")
	address, _, ok := strings.Cut(address, ";")
	if !ok {
		t.Fatalf("found %q", line)
	}
	return m, address
}

// target returns the address of the worker's pages.
func target(t *testing.T, master string) string {
	t.Helper()
	var targets []struct{ Targets []string }
	until(t, "the worker to register", func() bool {
		_, text := page(t, "http://"+master+"/metrics/targets", prometheusToken)
		return json.Unmarshal([]byte(text), &targets) == nil && len(targets) == 1
	})
	return targets[0].Targets[0]
}

// listening accepts connections, writes a text to each, and waits. It returns its address.
func listening(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

// TestOperate starts a master and a worker as a container runtime does, and stops them while a job
// runs.
func TestOperate(t *testing.T) {
	t.Parallel()
	token, prometheus := secrets(t)
	m, at := startMaster(t, "--token-file", token, "--metrics-token-file", prometheus,
		"--log-format", "json")
	w := launch(t, "worker", "--master", at, "--token-file", token, "--metrics-token-file",
		prometheus, "--gossip-listen", "off",
		"--name", "w0", "--threads", "1", "--log-format", "json")
	own := target(t, at)
	until(t, "the worker to be ready",
		func() bool { status, _ := page(t, "http://"+own+"/readyz", ""); return status == 200 })
	for _, k := range []struct {
		path, token string
		want        int
	}{
		{"/healthz", "", 200},
		{"/metrics", "", 401},
		{"/metrics", "no-such-token-anywhere", 401},
		{"/metrics", prometheusToken, 200},
		{"/metrics", clusterToken, 200},
		{"/", clusterToken, 404},
	} {
		if status, text := page(t, "http://"+own+k.path, k.token); status != k.want {
			t.Errorf("%s with %q: found %d %s, expected %d", k.path, k.token, status, text, k.want)
		}
	}
	for _, k := range []struct {
		args   string
		status int
		word   string
	}{
		{at, 0, "ok"},
		{own, 0, "ok"},
		{own + " --alive", 0, "ok"},
		{"127.0.0.1:1", 1, "127.0.0.1:1: dial tcp 127.0.0.1:1: "},
		{"nowhere", 2, "expected HOST:PORT"},
		{
			listening(t,
				"SSH-2.0-OpenSSH_9.6\r\n"), 1,
			": the server is neither a master nor a worker's --listen: ",
		},
		{listening(t, ""), 1, ": no answer within 3s"},
	} {
		p := launch(t, append([]string{"health"}, strings.Fields(k.args)...)...)
		out, _ := io.ReadAll(p.stdout)
		p.ended(k.status)
		if text := string(out) + p.stderr.String(); !strings.Contains(text, k.word) {
			t.Errorf("health %s: found %q, expected %q", k.args, text, k.word)
		}
	}
	// The job takes longer than a process may take to end without a request to wait.
	job := launch(t, "run", "mixes", "--master", at, "--token-file", token, "--graph",
		"path:vertices=9", "-p", "rounds=60", "-p", "while="+token)
	until(t, "supersteps", func() bool {
		_, text := page(t, "http://"+own+"/metrics", prometheusToken)
		for line := range strings.Lines(text) {
			var n float64
			if _, err := fmt.Sscanf(line, `superstep_partition_supersteps_total %g`,
				&n); err == nil {
				return n >= 5
			}
		}
		return false
	})
	must(t, w.Process.Signal(syscall.SIGTERM))
	leaving := false
	until(t, "the worker to be leaving, or gone", func() bool {
		status, text := page(t, "http://"+own+"/readyz", "")
		if status == 503 && text == "leaving" {
			leaving = true
		}
		return status != 200
	})
	if !leaving {
		t.Error("the worker did not say that it was leaving")
	}
	job.ended(0)
	w.ended(0)
	must(t, m.Process.Signal(syscall.SIGTERM))
	m.ended(0)
	for _, p := range []*process{m, w} {
		for line := range strings.Lines(p.stderr.String()) {
			var entry struct{ Time, Level, Msg string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" ||
				entry.Level == "" {
				t.Errorf("%s: found %q, %v", p.Args[1], line, err)
			}
			for _, secret := range []string{clusterToken, prometheusToken} {
				if strings.Contains(line, secret) {
					t.Errorf("%s: a token is in the log: %s", p.Args[1], line)
				}
			}
		}
	}
}

// TestStuckWorker: a worker with a command that does not stop reports it at /healthz, and its log
// says why it ends.
func TestStuckWorker(t *testing.T) {
	t.Parallel()
	_, prometheus := secrets(t)
	c := scripts.NewCluster(t, "own", 0, "--metrics-token-file", prometheus)
	must(t, c.StartWorker("w0", "--stop-timeout", "3s"))
	pages := target(t, c.Address)
	must(t, c.Start("job", "run", "stuck", "--master", c.Address, "--graph", "star:vertices=1",
		"--superstep-timeout", "10ms", "--workers", "1"))
	var text string
	until(t, "/healthz to say that the worker is stuck", func() bool {
		var status int
		status, text = page(t, "http://"+pages+"/healthz", "")
		return status == 503
	})
	if text != "a command does not stop, as it was told to" {
		t.Errorf("/healthz says %s", text)
	}
	job, w := c.Running["job"], c.Running["w0"]
	<-job.Ended
	if !strings.HasSuffix(job.Said.String(), " failed: superstep 0: it took longer than 10ms\n") {
		t.Errorf("the job says %s", job.Said)
	}
	<-w.Ended
	if w.ProcessState.ExitCode() != 1 {
		t.Errorf("the worker ended with %v: %s", w.ProcessState, w.Said)
	}
	if want := "superstep 0 has not stopped 3s after it was cancelled"; !strings.Contains(
		w.Said.String(), want) {
		t.Errorf("the worker says %s, expected %q", w.Said, want)
	}
}

// TestErrorsAsJSON: the final error of a command is a JSON object, too.
func TestErrorsAsJSON(t *testing.T) {
	p := launch(t, "--log-format", "json", "worker", "--threads", "0")
	p.ended(2)
	var entry struct{ Level, Msg string }
	text := p.stderr.String()
	if err := json.Unmarshal([]byte(text), &entry); err != nil || entry.Level != "ERROR" ||
		entry.Msg != `--threads: found "0", expected 1 to 4096` {
		t.Errorf("found %q, %v", text, err)
	}
}

// TestWorkerWithoutPages runs a worker with --listen off.
func TestWorkerWithoutPages(t *testing.T) {
	token, prometheus := secrets(t)
	_, at := startMaster(t, "--token-file", token, "--metrics-token-file", prometheus)
	w := launch(t, "worker", "--master", at, "--token-file", token, "--gossip-listen", "off",
		"--listen", "off")
	until(t, "the worker to register", func() bool {
		_, text := page(t, "http://"+at+"/metrics", prometheusToken)
		return strings.Contains(text, "\nsuperstep_workers_attached 1")
	})
	if _, text := page(t, "http://"+at+"/metrics/targets", prometheusToken); text != "[]" {
		t.Errorf("found %s", text)
	}
	must(t, w.Process.Signal(syscall.SIGTERM))
	w.ended(0)
}

package testcluster

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/master"
)

// loads tries to load a graph, and returns why that failed, or nothing.
func (c *Cluster) loads(t *testing.T, name, input string) string {
	t.Helper()
	if _, err := c.Client.LoadGraph(t.Context(), connect.NewRequest(&control.LoadGraphRequest{Name: name, Source: &control.GraphSource{Input: input}})); err != nil {
		return err.Error()
	}
	reason := ""
	c.Until("the load of "+input+" to end", func() bool {
		g := c.inspect(t, name)
		reason = g.Reason
		return g.State == control.GraphState_GRAPH_STATE_READY || g.State == control.GraphState_GRAPH_STATE_FAILED
	})
	return reason
}

// TestJobsNameFilesBelowTheRoots: with roots a worker opens nothing else by the name of a job, whatever way the name takes.
func TestJobsNameFilesBelowTheRoots(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{"graphs/a.el": "1 2\n2 3\n", "secret.el": "7 8\n", "snap/snapshot.json": "{}"} {
		full := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.el", filepath.Join(base, "graphs/link.el")); err != nil {
		t.Skip("there are no links here:", err)
	}
	c := Start(t, 0, master.Config{}, programs()...)
	c.Worker.DataRoots = []string{filepath.Join(base, "graphs")}
	c.StartWorker("w0")
	c.StartWorker("w1")
	c.Await(2)
	if why := c.loads(t, "good", filepath.Join(base, "graphs/a.el")); why != "" {
		t.Error(why)
	}
	if why := c.loads(t, "generated", "path:vertices=10"); why != "" {
		t.Error(why)
	}
	for name, input := range map[string]string{
		"absolute": filepath.Join(base, "secret.el"), "dots": filepath.Join(base, "graphs") + "/../secret.el", "link": filepath.Join(base, "graphs/link.el"),
		"system": "/etc/passwd", "snapshot": filepath.Join(base, "snap"), "url": "file:///etc/passwd", "proc": "/proc/self/environ",
	} {
		if why := c.loads(t, name, input); !strings.Contains(why, "outside of what may be read here: below "+filepath.Join(base, "graphs")+" alone (--data-root)") {
			t.Errorf("%s: %q", input, why)
		}
	}
}

// TestJobsNameNoServers: names of files lead to no server but the one of the worker's environment.
func TestJobsNameNoServers(t *testing.T) {
	var asked atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_ = conn.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://"+closed.Addr().String())
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	_ = closed.Close()
	c := Start(t, 1, master.Config{}, programs()...)
	at := l.Addr().String()
	for i, input := range []string{
		"http://" + at + "/x", "https://" + at + "/x", "ftp://" + at + "/x", "//" + at + "/x", "s3://" + at + "/x", "s3://user@" + at + "/x",
		"s3://bucket@" + at + "/x", "s3://" + at + "#/x", "s3:" + at + "/x", "s3://http:/" + at + "/x",
	} {
		if why := c.loads(t, string(rune('a'+i)), input); why == "" {
			t.Errorf("%s was loaded", input)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("a server that a job names was asked %d times", n)
	}
}

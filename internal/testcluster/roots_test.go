package testcluster

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// loads tries to load a graph. It returns the error text, or "".
func (c *Cluster) loads(t *testing.T, name, input string) string {
	t.Helper()
	if _, err := c.Client.LoadGraph(t.Context(),
		&control.LoadGraphRequest{Name: name, SourceJson: job.Text(&job.Source{Input: input})}); err != nil {
		return err.Error()
	}
	reason := ""
	c.Until("the load of "+input+" to end", func() bool {
		g := c.inspect(t, name)
		reason = g.Reason
		return g.State == control.GraphState_GRAPH_STATE_READY ||
			g.State == control.GraphState_GRAPH_STATE_FAILED
	})
	return reason
}

// TestJobsNameFilesBelowTheRoots: with data roots, a worker opens only files below them, whatever
// form the name has.
func TestJobsNameFilesBelowTheRoots(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{"graphs/a.el": "1 2\n2 3\n", "graphs/t.csv": "source,target\n1,2\n", "secret.el": "7 8\n", "snap/snapshot.json": "{}"} {
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
		"absolute": filepath.Join(base, "secret.el"), "dots": filepath.Join(base, "graphs") +
			"/../secret.el", "link": filepath.Join(base, "graphs/link.el"),
		"second": filepath.Join(base, "graphs/a.el") + "," + filepath.Join(base, "secret.el"),
		"object": "s3://bucket/secret.el",
		"system": "/etc/passwd", "snapshot": filepath.Join(base, "snap"),
		"url": "file:///etc/passwd", "proc": "/proc/self/environ",
	} {
		if why := c.loads(t, name, input); !strings.Contains(why,
			"outside of what jobs may read and write here: only files below "+
				filepath.Join(base, "graphs")+
				" are allowed (--data-root)") {
			t.Errorf("%s: %q", input, why)
		}
	}
	source := &job.Source{Input: filepath.Join(base, "graphs/t.csv"), Vertices: filepath.Join(base,
		"secret.el")}
	_, err := c.Client.LoadGraph(t.Context(),
		&control.LoadGraphRequest{Name: "vertices", SourceJson: job.Text(source)})
	if err == nil ||
		!strings.Contains(err.Error(), "outside of what jobs may read and write here") {
		t.Errorf("a file of vertices: %v", err)
	}
}

// TestJobsNameNoFilesWithoutRoots: a worker without data roots neither opens nor creates files for
// jobs.
func TestJobsNameNoFilesWithoutRoots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "group")
	if err := os.WriteFile(file, []byte("1 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := Start(t, 0, master.Config{}, programs()...)
	c.Worker.DataRoots = nil
	c.StartWorker("w0")
	c.Await(1)
	for name, input := range map[string]string{"file": file, "object": "s3://bucket/secret.el", "relative": "group"} {
		if why := c.loads(t, name, input); !strings.Contains(why,
			"no files are allowed without --data-root") {
			t.Errorf("%s: %q", input, why)
		}
	}
	if why := c.loads(t, "g", "path:vertices=10"); why != "" {
		t.Fatal(why)
	}
	place := filepath.Join(t.TempDir(), "new")
	_, err := c.Client.SaveGraph(t.Context(),
		&control.SaveGraphRequest{Name: "g", Place: place})
	if err == nil || !strings.Contains(err.Error(), "no files are allowed without --data-root") {
		t.Errorf("found %v", err)
	}
	if _, err := os.Stat(place); err == nil {
		t.Error("a directory was made")
	}
}

// TestOwnFilesAreNoGraphs: a master's results, state and checkpoints cannot be loaded as graphs,
// and no graph can be saved there, even if they are below the workers' data root.
func TestOwnFilesAreNoGraphs(t *testing.T) {
	base := t.TempDir()
	data, checkpoints := filepath.Join(base, "data"), filepath.Join(base, "checkpoints")
	if err := os.Mkdir(checkpoints, 0o700); err != nil {
		t.Fatal(err)
	}
	c := Start(t, 0, master.Config{Options: master.Options{Data: data, Checkpoints: checkpoints}},
		programs()...)
	c.Worker.DataRoots = []string{base}
	c.StartWorker("w0")
	c.Await(1)
	for path, text := range map[string]string{"data/results/x-1/part-00000": "1 2\n", "checkpoints/wcc-x/owner": "1 2\n", "a.el": "1 2\n"} {
		full := filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, input := range map[string]string{
		"result": "data/results/x-1/part-00000", "directory": "data/results/x-1",
		"state":      "data/state/log/00000000000000000001",
		"checkpoint": filepath.Join(checkpoints, "wcc-x/owner"), "pattern": "data/results/*/part-*",
		"second": "a.el,checkpoints/wcc-x/owner",
	} {
		if why := c.loads(t, name, input); !strings.Contains(why,
			"outside of what jobs may read and write here") {
			t.Errorf("%s: %q", input, why)
		}
	}
	if why := c.loads(t, "g", "a.el"); why != "" {
		t.Fatal(why)
	}
	for _, place := range []string{"data/results/mine", "file://" + data + "/results/mine", "checkpoints", "data", "ftp://host/x"} {
		if _, err := c.Client.SaveGraph(t.Context(),
			&control.SaveGraphRequest{Name: "g", Place: place}); err == nil {
			t.Errorf("a graph was saved to %s", place)
		}
	}
	if _, err := c.Client.SaveGraph(t.Context(),
		&control.SaveGraphRequest{Name: "g", Place: "file://" + base + "/saved"}); err != nil {
		t.Error(err)
	}
	if why := c.loads(t, "h", "saved"); why != "" {
		t.Error(why)
	}
	for _, path := range []string{"data/results/mine", "file:", "ftp:"} {
		if _, err := os.Stat(filepath.Join(base, path)); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

// TestResultsAreTheMastersAlone: other users of the machine cannot read results.
func TestResultsAreTheMastersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes here")
	}
	data := filepath.Join(t.TempDir(), "data")
	c := Start(t, 1, master.Config{Options: master.Options{Data: data}}, programs()...)
	j := c.submitSpec(t, &job.Spec{Program: "wcc", Source: small(), KeepResult: true})
	c.watch(t, j.Id, nil)
	files := 0
	err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: found %v", path, info.Mode())
		}
		if strings.Contains(path, "part-") {
			files++
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("found %d parts, %v", files, err)
	}
}

// TestKeysLieOutsideOfRoots: a worker does not start if jobs could read its key or token.
func TestKeysLieOutsideOfRoots(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "ca", "secret")
	if err := os.Mkdir(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]worker.Config{
		"token":      {Options: worker.Options{TokenFile: secret}},
		"gossip key": {Worker: daemon.Worker{Process: daemon.Process{Token: control.RandomToken()}, Secrets: []string{secret}}},
	} {
		o.DataRoots = []string{dir}
		if _, err := worker.New(o); err == nil ||
			!strings.Contains(err.Error(), "lies in the data root") {
			t.Errorf("%s: %v", name, err)
		}
		o.DataRoots = []string{t.TempDir()}
		if _, err := worker.New(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJobsNameNoServers: names of files cannot address a server other than that in the worker's
// environment.
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
		"http://" + at + "/x", "https://" + at + "/x", "ftp://" + at + "/x", "//" + at + "/x",
		"s3://" + at + "/x", "s3://user@" + at + "/x",
		"s3://bucket@" + at + "/x", "s3://" + at + "#/x", "s3:" + at + "/x", "s3://http:/" + at +
			"/x",
	} {
		if why := c.loads(t, string(rune('a'+i)), input); why == "" {
			t.Errorf("%s was loaded", input)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("a server that a job names was asked %d times", n)
	}
}

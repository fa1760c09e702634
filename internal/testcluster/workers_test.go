package testcluster

import (
	"context"
	"flag"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/daemon"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/pregel"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/testcluster/memgroup"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// Parallel tests wait for leases and slow links, so there may be more of them than threads. A probe
// of memberlist that runs at shutdown ends by its own timeout.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

func TestFourWorkersRegister(t *testing.T) {
	c := Start(t, 4, master.Config{Master: daemon.Master{Process: daemon.Process{Version: "test"}}})
	incarnations := map[uint64]bool{}
	for _, w := range c.Workers() {
		if w.State != control.WorkerState_WORKER_STATE_REGISTERED || w.Version != "test" {
			t.Errorf("found %v", w)
		}
		incarnations[w.Incarnation] = true
	}
	if len(incarnations) != 4 {
		t.Errorf("found %d incarnations, expected 4", len(incarnations))
	}
	page := c.status(t)
	for _, word := range []string{"superstep test", "w0", "w3", "registered"} {
		if !strings.Contains(page, word) {
			t.Errorf("the status has no %q:\n%s", word, page)
		}
	}
}

// status returns the master's status page.
func (c *Cluster) status(t *testing.T) string {
	t.Helper()
	status, text := ask(t, "http://"+c.Address+"/debug/status", c.Master.Token.Secret())
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	return text
}

func TestRefusals(t *testing.T) {
	token, _ := control.NewToken("0123456789abcdef", "test")
	other, _ := control.NewToken("0123456789abcdeX", "test")
	c := Start(t, 0, master.Config{Master: daemon.Master{Process: daemon.Process{Token: token}}},
		engine.Register("idle", pregel.Erase(idle{})))
	c.StartWorker("first")
	c.Await(1)
	refused := func(name, text string) {
		t.Helper()
		err := c.StartWorker(name).Wait(t)
		if err == nil || !strings.Contains(err.Error(), text) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected one line with %q", name, err, text)
		}
	}
	first := c.Process("first")
	refused("first", "there is a worker first already")
	own := c.Worker.Registry
	c.Worker.Registry = nil
	refused("programs", "has no program idle")
	c.Worker.Registry, c.Worker.Build = own, "another"
	refused("fingerprint", "another version of program idle")
	c.Worker.Build = "test"
	c.Worker.Token = other
	refused("token", "a token is missing or wrong")
	c.Worker.Token = control.Token{}
	refused("token", "a token is missing or wrong")
	c.workers["first"] = first
	if n := len(c.Workers()); n != 1 {
		t.Errorf("found %d workers, expected the first alone", n)
	}
	if status, _ := ask(t, "http://"+c.Address+"/debug/status",
		""); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", status)
	}
	stranger, err := control.Connect(c.Address, control.Credentials{Token: other}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	_, err = stranger.Cluster.Status(context.Background(),
		&control.StatusRequest{})
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a client with another token: %v", err)
	}
	stream, err := stranger.Cluster.WatchJob(context.Background(),
		&control.WatchJobRequest{Id: "x"})
	if err == nil {
		for stream.Receive() {
		}
		err = stream.Err()
		_ = stream.Close()
	}
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a stream with another token: %v", err)
	}
}

// TestListenOffLoopback: other hosts can reach a master only with TLS, or with a token that is
// allowed without TLS.
func TestListenOffLoopback(t *testing.T) {
	token, err := control.NewToken("0123456789abcdef", "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who control.Credentials
		ok  bool
	}{
		{control.Credentials{}, false},
		{control.Credentials{Token: token}, false},
		{control.Credentials{InsecureToken: true}, false},
		{control.Credentials{Token: token, InsecureToken: true}, true},
		{control.Credentials{TLS: &certs.Files{Names: certs.Names{Cert: "c"}}}, true},
		{control.Credentials{TLS: &certs.Files{}}, false},
	} {
		if err := control.CheckListen("10.0.0.1:1", c.who); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.who, err)
		}
	}
	for address, ok := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:1": true, "0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "x": false} {
		if err := control.CheckListen(address, control.Credentials{}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestSilentWorkerIsLost freezes a worker. It is lost when its lease ends, its name is free again,
// and the others stay. When it continues, it is fenced.
func TestSilentWorkerIsLost(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, master.Config{Options: master.Options{Lease: 6 * time.Second}})
	began := time.Now()
	c.Freeze("w1")
	c.Until("w1 to be lost",
		func() bool { return c.WorkerNamed("w1").State == control.WorkerState_WORKER_STATE_LOST })
	if took := time.Since(began); took > prompt {
		t.Errorf("a silent worker was lost after %v", took)
	}
	if w := c.WorkerNamed("w0"); w.State != control.WorkerState_WORKER_STATE_REGISTERED ||
		!w.Attached {
		t.Errorf("found %v", w)
	}
	old, before := c.Process("w1"), c.WorkerNamed("w1").Incarnation
	c.StartWorker("w1")
	c.Await(2)
	if now := c.WorkerNamed("w1").Incarnation; now <= before {
		t.Errorf("incarnation %d came after %d", now, before)
	}
	old.Stop()
	_ = old.Wait(t)
}

func TestWorkerLeaves(t *testing.T) {
	c := Start(t, 2, master.Config{})
	c.Process("w0").Stop()
	if err := c.Process("w0").Wait(t); err != nil {
		t.Error(err)
	}
	c.Until("w0 to have left",
		func() bool { return c.WorkerNamed("w0").State == control.WorkerState_WORKER_STATE_LEFT })
	c.StartWorker("w0") // the name is free at once
	c.Await(2)
}

func TestNoMaster(t *testing.T) {
	t.Parallel()
	c := &Cluster{T: t, workers: map[string]*Process{}, Worker: worker.Config{Options: worker.Options{Hold: 200 * time.Millisecond}}}
	err := c.StartWorker("w0").Wait(t)
	if err == nil || !strings.Contains(err.Error(), "no master for 200ms") ||
		!strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("found %v", err)
	}
}

// TestGossipHints: gossip reports a death, which shortens the worker's lease. A live worker keeps
// its lease.
func TestGossipHints(t *testing.T) {
	t.Parallel()
	mesh := memgroup.New()
	group, err := mesh.Add(membership.Member{Name: "master", Role: membership.Master})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	for _, name := range []string{"w0", "w1"} {
		if _, err := mesh.Add(membership.Member{Name: name, Role: membership.Worker}); err != nil {
			t.Fatal(err)
		}
	}
	c := Start(t, 2, master.Config{Options: master.Options{Lease: 25 * time.Second}, Master: daemon.Master{Group: group}})
	c.Freeze("w1")
	mesh.Kill("w1")
	mesh.Kill("w0") // gossip wrongly considers it dead
	began := time.Now()
	c.Until("w1 to be lost",
		func() bool { return c.WorkerNamed("w1").State == control.WorkerState_WORKER_STATE_LOST })
	if took := time.Since(began); took > 17*time.Second { // 10 s; without the hint at least 20 s
		t.Errorf("the hint was of no use: %v", took)
	}
	c.Until("w0 to be trusted again", func() bool {
		w := c.WorkerNamed("w0")
		return w.State == control.WorkerState_WORKER_STATE_REGISTERED && !w.Suspected
	})
}

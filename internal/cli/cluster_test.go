package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// TestClusterScripts runs the command line against masters and workers that are processes.
func TestClusterScripts(t *testing.T) { runScripts(t, "testdata/cluster") }

type clusterKey struct{}

// processes are the master and the workers of a script.
type processes struct {
	env     []string
	dir     string
	binary  string
	flags   []string // of the master
	address string
	running map[string]*member
}

type member struct {
	*exec.Cmd
	said  *saidText
	ended chan struct{}
}

// saidText is what a process says.
type saidText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *saidText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *saidText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// patience bounds every wait of a script: machines are slow.
const patience = 60 * time.Second

// soon waits for something to be so.
func soon(so func() bool) bool {
	t := time.NewTicker(25 * time.Millisecond)
	defer t.Stop()
	end := time.After(patience)
	for !so() {
		select {
		case <-t.C:
		case <-end:
			return false
		}
	}
	return true
}

func (c *processes) start(name string, args ...string) error {
	p := &member{Cmd: exec.Command(c.binary, args...), said: &saidText{}, ended: make(chan struct{})}
	p.Env, p.Dir, p.Stdout, p.Stderr = c.env, c.dir, p.said, p.said
	if err := p.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.Wait() // those that are killed end with an error
		close(p.ended)
	}()
	c.running[name] = p
	return nil
}

func (c *processes) startMaster(listen string) error {
	args := append([]string{"master", "--listen", listen, "--gossip-listen", "off"}, c.flags...)
	if err := c.start("master", args...); err != nil {
		return err
	}
	p := c.running["master"]
	said := soon(func() bool {
		_, rest, ok := strings.Cut("\n"+p.said.String(), "\nmaster at ")
		if ok {
			c.address, _, ok = strings.Cut(rest, ";")
		}
		return ok
	})
	if !said {
		return fmt.Errorf("the master said %q", p.said.String())
	}
	return nil
}

func (c *processes) startWorker(name string, flags ...string) error {
	args := append([]string{"worker", "--master", c.address, "--name", name, "--threads", "1", "--gossip-listen", "off"}, flags...)
	for i, flag := range c.flags {
		if slices.Contains([]string{"--token-file", "--tls-cert", "--tls-key", "--tls-ca"}, flag) && !slices.Contains(flags, flag) {
			args = append(args, c.flags[i:i+2]...)
		}
	}
	return c.start(name, args...)
}

// signal sends a process a signal and waits for its end.
func (c *processes) signal(name string, s os.Signal) error {
	p := c.running[name]
	if p == nil {
		return fmt.Errorf("there is no process %s", name)
	}
	if err := p.Process.Signal(s); err != nil {
		return err
	}
	select {
	case <-p.ended:
		delete(c.running, name)
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s did not end", name)
	}
}

// end ends all processes, and shows what they said if the test failed.
func (c *processes) end(t *testing.T) {
	for name, p := range c.running {
		_ = p.Process.Kill()
		<-p.ended
		if t.Failed() && testing.Verbose() {
			t.Logf("%s said\n%s", name, p.said)
		}
	}
}

// connect calls the master.
func (c *processes) connect(do func(context.Context, control.ClusterClient) error) error {
	var token control.Token
	if i := slices.Index(c.flags, "--token-file"); i >= 0 {
		var err error
		if token, err = control.ReadToken(filepath.Join(c.dir, c.flags[i+1])); err != nil {
			return err
		}
	}
	file := func(flag string) string {
		if i := slices.Index(c.flags, flag); i >= 0 {
			return filepath.Join(c.dir, c.flags[i+1])
		}
		return ""
	}
	files, err := control.LoadTLS(nil, certs.Names{Cert: file("--tls-cert"), Key: file("--tls-key"), CA: file("--tls-ca")}, nil)
	if err != nil {
		return err
	}
	for _, address := range control.Addresses(c.address) { // of which one leads
		var conn *control.Connection
		if conn, err = control.Connect(address, control.Credentials{Token: token, TLS: files}, nil); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = do(ctx, conn.Cluster)
		cancel()
		conn.Close()
		if connect.CodeOf(err) != connect.CodeUnavailable {
			return err
		}
	}
	return err
}

// workers are how many there are.
func (c *processes) workers() (n int) {
	for _, p := range c.running {
		if p.Args[1] == "worker" {
			n++
		}
	}
	return n
}

// startStandby starts another master with the same flags, which stands by.
func (c *processes) startStandby(name string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	if err := c.start(name, append([]string{"master", "--listen", at, "--gossip-listen", "off"}, c.flags...)...); err != nil {
		return err
	}
	c.address += "," + at
	if p := c.running[name]; !soon(func() bool { return strings.Contains(p.said.String(), "stands by") }) {
		return fmt.Errorf("%s said %q", name, p.said)
	}
	return nil
}

// await waits for n workers with sessions.
func (c *processes) await(n int) error {
	attached := 0
	so := func() bool {
		return c.connect(func(ctx context.Context, client control.ClusterClient) error {
			r, err := client.ListWorkers(ctx, connect.NewRequest(&control.ListWorkersRequest{}))
			attached = 0
			for _, w := range r.Msg.GetWorkers() {
				if w.Attached {
					attached++
				}
			}
			return err
		}) == nil && attached == n
	}
	if !soon(so) {
		return fmt.Errorf("found %d workers, expected %d", attached, n)
	}
	return nil
}

// startCluster is cluster BINARY N FLAG...: a master with these flags and workers w1 to wN. SUPERSTEP_MASTER says where.
func startCluster(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	binary, err := exec.LookPath(args[0])
	ts.Check(err)
	c.binary, c.flags = binary, args[2:]
	listen := "127.0.0.1:0"
	if len(c.flags) > 1 && c.flags[0] == "--listen" {
		listen, c.flags = c.flags[1], c.flags[2:]
	}
	ts.Check(c.startMaster(listen))
	ts.Setenv("SUPERSTEP_MASTER", c.address)
	n := int(args[1][0] - '0')
	for i := range n {
		ts.Check(c.startWorker(fmt.Sprintf("w%d", i+1)))
	}
	ts.Check(c.await(n))
}

// freePort is freeport: SUPERSTEP_MASTER says where nobody listens yet.
func freePort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("SUPERSTEP_MASTER", l.Addr().String())
	ts.Check(l.Close())
}

// startWorker is worker NAME FLAG...
func startWorker(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	ts.Check(c.startWorker(args[0], args[1:]...))
	ts.Check(c.await(c.workers()))
}

// stopProcess is stop NAME: with SIGTERM.
func stopProcess(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(clusterKey{}).(*processes).signal(args[0], syscall.SIGTERM))
}

// endedProcess is ended NAME: waits for a process to end by itself, with status 0.
func endedProcess(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	p := c.running[args[0]]
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("%s ended with status %d", args[0], code)
	}
	delete(c.running, args[0])
}

// crashProcess is crash NAME: with SIGKILL.
func crashProcess(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(clusterKey{}).(*processes).signal(args[0], os.Kill))
}

// restartMaster is restart [WORKER...]: the master is killed, then these workers, and another begins at its address; the other workers come back.
func restartMaster(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	for _, name := range append([]string{"master"}, args...) {
		ts.Check(c.signal(name, os.Kill))
	}
	ts.Check(c.startMaster(c.address))
	ts.Check(c.await(c.workers()))
}

// standsBy is standby NAME: another master with the flags of the first. SUPERSTEP_MASTER says where all are.
func standsBy(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	ts.Check(c.startStandby(args[0]))
	ts.Setenv("SUPERSTEP_MASTER", c.address)
}

// appears GLOB waits for a file of such a name, and ! appears for there to be none.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	so := func() bool {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return (len(names) > 0) != neg
	}
	if !soon(so) {
		ts.Fatalf("waited for %s, %t", args[0], !neg)
	}
}

// untilJob is until STATE [SUPERSTEP]: waits for a job in a state, and then for a superstep. JOB is its name.
func untilJob(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*processes)
	superstep := 0
	if len(args) > 1 {
		_, err := fmt.Sscan(args[1], &superstep)
		ts.Check(err)
	}
	id := ""
	var found []string
	so := func() bool {
		found = nil
		ts.Check(c.connect(func(ctx context.Context, client control.ClusterClient) error {
			r, err := client.ListJobs(ctx, connect.NewRequest(&control.ListJobsRequest{Ended: true}))
			if err != nil {
				return err
			}
			for _, j := range r.Msg.GetJobs() {
				found = append(found, fmt.Sprint(j.Id, " ", j.State.Word(), " ", j.Supersteps))
				if j.State.Word() == args[0] && int(j.Supersteps) >= superstep {
					id = j.Id
				}
			}
			return nil
		}))
		return id != ""
	}
	if !soon(so) {
		ts.Fatalf("found the jobs %q", found)
	}
	ts.Setenv("JOB", id)
}

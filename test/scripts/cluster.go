package scripts

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

type clusterKey struct{}

// Processes are the master and the workers of a script.
type Processes struct {
	Env     []string
	Dir     string
	Binary  string
	Flags   []string // the master's flags
	Address string
	Running map[string]*Member
	servers map[string]*Server // servers of calls, by program
}

// Member is a running process.
type Member struct {
	*exec.Cmd
	Said  *Output
	Ended chan struct{}
}

// Output is a process's output.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *Output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *Output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Patience limits every wait of a script, as machines may be slow.
const Patience = 60 * time.Second

// Soon waits until a condition holds. It looks often at first, and then less and less often.
func Soon(so func() bool) bool {
	end, wait := time.After(Patience), 10*time.Millisecond
	for !so() {
		select {
		case <-time.After(wait):
			wait = min(wait*3/2, 100*time.Millisecond)
		case <-end:
			return false
		}
	}
	return true
}

// Start starts a process under a name.
func (c *Processes) Start(name string, args ...string) error {
	p := &Member{Cmd: exec.Command(c.Binary, args...), Said: &Output{}, Ended: make(chan struct{})}
	p.Env, p.Dir, p.Stdout, p.Stderr = c.Env, c.Dir, p.Said, p.Said
	if err := p.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.Wait() // killed processes end with an error
		close(p.Ended)
	}()
	c.Running[name] = p
	return nil
}

// StartMaster starts a master that listens at an address.
func (c *Processes) StartMaster(listen string) error {
	args := append([]string{"master", "--listen", listen, "--gossip-listen", "off"}, c.Flags...)
	if err := c.Start("master", args...); err != nil {
		return err
	}
	p := c.Running["master"]
	said := Soon(func() bool {
		_, rest, ok := strings.Cut("\n"+p.Said.String(), "\nmaster at ")
		if ok {
			c.Address, _, ok = strings.Cut(rest, ";")
		}
		return ok
	})
	if !said {
		return fmt.Errorf("the master said %q", p.Said.String())
	}
	return nil
}

// StartWorker starts a worker of the master.
func (c *Processes) StartWorker(name string, flags ...string) error {
	args := append([]string{"worker", "--master", c.Address, "--name", name, "--threads", "1", "--gossip-listen", "off"}, flags...)
	for i, flag := range c.Flags {
		if slices.Contains([]string{"--token-file", "--tls-cert", "--tls-key", "--tls-ca"}, flag) &&
			!slices.Contains(flags, flag) {
			args = append(args, c.Flags[i:i+2]...)
		}
	}
	root := ".." // clients have directories beside this one
	if slices.ContainsFunc(args,
		func(a string) bool { return a == "--token-file" || a == "--tls-key" }) {
		root = "graphs" // separate from the secret
	}
	if _, err := os.Stat(filepath.Join(c.Dir, root)); err == nil &&
		!slices.Contains(args, "--data-root") {
		args = append(args, "--data-root", root)
	}
	return c.Start(name, args...)
}

// Signal sends a signal to a process and waits for its end.
func (c *Processes) Signal(name string, s os.Signal) error {
	p := c.Running[name]
	if p == nil {
		return fmt.Errorf("there is no process %s", name)
	}
	if err := p.Process.Signal(s); err != nil {
		return err
	}
	select {
	case <-p.Ended:
		delete(c.Running, name)
		return nil
	case <-time.After(Patience):
		return fmt.Errorf("%s did not end", name)
	}
}

// end ends all processes. It shows their output if the test failed.
func (c *Processes) end(t *testing.T) {
	for name, p := range c.Running {
		_ = p.Process.Kill()
		<-p.Ended
		if t.Failed() && testing.Verbose() {
			t.Logf("%s said\n%s", name, p.Said)
		}
	}
	for _, s := range c.servers {
		s.Stop()
	}
}

// stateVariable sets the state directory of a script's processes.
const stateVariable = "XDG_STATE_HOME="

// connect connects to the master and calls do.
func (c *Processes) connect(do func(context.Context, control.ClusterClient) error) error {
	file := func(flag string) string {
		i := slices.Index(c.Flags, flag)
		switch {
		case i < 0:
			return ""
		case filepath.IsAbs(c.Flags[i+1]):
			return c.Flags[i+1]
		}
		return filepath.Join(c.Dir, c.Flags[i+1])
	}
	token, err := control.ReadToken(file("--token-file"))
	if err != nil {
		return err
	}
	files, err := control.LoadTLS(nil,
		certs.Names{Cert: file("--tls-cert"), Key: file("--tls-key"), CA: file("--tls-ca")}, nil)
	if err != nil {
		return err
	}
	for _, address := range control.Addresses(c.Address) { // one of them leads
		var conn *control.Connection
		if i := slices.IndexFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, stateVariable) }); i >= 0 && !token.Given() && files == nil {
			_, port, _ := net.SplitHostPort(address)
			if token, err = control.ReadToken(filepath.Join(c.Env[i][len(stateVariable):],
				"superstep/tokens/localhost-"+port)); err != nil {
				return err
			}
		}
		if conn, err = control.Connect(address, control.Credentials{Token: token, TLS: files},
			nil); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		err = do(ctx, conn.Cluster)
		cancel()
		conn.Close()
		if connect.CodeOf(err) != connect.CodeUnavailable {
			return err
		}
	}
	return err
}

// workers returns the number of workers.
func (c *Processes) workers() (n int) {
	for _, p := range c.Running {
		if p.Args[1] == "worker" {
			n++
		}
	}
	return n
}

// StartStandby starts a standby master with the same flags.
func (c *Processes) StartStandby(name string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	if err := c.Start(name, append([]string{"master", "--listen", at, "--gossip-listen", "off"},
		c.Flags...)...); err != nil {
		return err
	}
	c.Address += "," + at
	if p := c.Running[name]; !Soon(func() bool { return strings.Contains(p.Said.String(), "stands by") }) {
		return fmt.Errorf("%s said %q", name, p.Said)
	}
	return nil
}

// Await waits for n workers with sessions.
func (c *Processes) Await(n int) error {
	attached := 0
	so := func() bool {
		return c.connect(func(ctx context.Context, client control.ClusterClient) error {
			r, err := client.ListWorkers(ctx, &control.ListWorkersRequest{})
			if err != nil {
				return err
			}
			attached = 0
			for _, w := range r.GetWorkers() {
				if w.Attached {
					attached++
				}
			}
			return nil
		}) == nil && attached == n
	}
	if !Soon(so) {
		return fmt.Errorf("found %d workers, expected %d", attached, n)
	}
	return nil
}

// startCluster is cluster BINARY N FLAG...: it starts a master with these flags and workers w1 to
// wN. SUPERSTEP_MASTER is set to its address.
func startCluster(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
	binary, err := exec.LookPath(args[0])
	ts.Check(err)
	c.Binary, c.Flags = binary, args[2:]
	listen := "127.0.0.1:0"
	if len(c.Flags) > 1 && c.Flags[0] == "--listen" {
		listen, c.Flags = c.Flags[1], c.Flags[2:]
	}
	ts.Check(c.StartMaster(listen))
	ts.Setenv("SUPERSTEP_MASTER", c.Address)
	n := int(args[1][0] - '0')
	for i := range n {
		ts.Check(c.StartWorker(fmt.Sprintf("w%d", i+1)))
	}
	ts.Check(c.Await(n))
}

// freePort is freeport: SUPERSTEP_MASTER is set to an address where no process listens yet.
func freePort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("SUPERSTEP_MASTER", l.Addr().String())
	ts.Check(l.Close())
}

// startWorker is worker NAME FLAG...: it starts a worker.
func startWorker(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
	ts.Check(c.StartWorker(args[0], args[1:]...))
	ts.Check(c.Await(c.workers()))
}

// stopProcess is stop NAME: it sends SIGTERM.
func stopProcess(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(clusterKey{}).(*Processes).Signal(args[0], syscall.SIGTERM))
}

// endedProcess is ended NAME: it waits until a process ends by itself with status 0.
func endedProcess(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
	p := c.Running[args[0]]
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		ts.Fatalf("%s does not end", args[0])
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("%s ended with status %d", args[0], code)
	}
	delete(c.Running, args[0])
}

// crashProcess is crash NAME: it sends SIGKILL.
func crashProcess(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(clusterKey{}).(*Processes).Signal(args[0], os.Kill))
}

// restartMaster is restart [WORKER...]: it kills the master, then these workers, and starts another
// master at the same address. The other workers connect again.
func restartMaster(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
	for _, name := range append([]string{"master"}, args...) {
		ts.Check(c.Signal(name, os.Kill))
	}
	ts.Check(c.StartMaster(c.Address))
	ts.Check(c.Await(c.workers()))
}

// standsBy is standby NAME: it starts another master with the flags of the first. SUPERSTEP_MASTER
// is set to the addresses of all.
func standsBy(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
	ts.Check(c.StartStandby(args[0]))
	ts.Setenv("SUPERSTEP_MASTER", c.Address)
}

// appears is appears GLOB: it waits for a file with a matching name. With ! it waits until there is
// none.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	so := func() bool {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return (len(names) > 0) != neg
	}
	if !Soon(so) {
		ts.Fatalf("waited for %s, %t", args[0], !neg)
	}
}

// untilJob is until STATE [SUPERSTEP]: it waits for a job in a state, and then for a superstep. JOB
// is set to its id.
func untilJob(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clusterKey{}).(*Processes)
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
			r, err := client.ListJobs(ctx,
				&control.ListJobsRequest{Ended: true})
			if err != nil {
				return err
			}
			for _, j := range r.GetJobs() {
				found = append(found, fmt.Sprint(j.Id, " ", j.State.Word(), " ", j.Supersteps))
				if j.State.Word() == args[0] && int(j.Supersteps) >= superstep {
					id = j.Id
				}
			}
			return nil
		}))
		return id != ""
	}
	if !Soon(so) {
		ts.Fatalf("found the jobs %q", found)
	}
	ts.Setenv("JOB", id)
}

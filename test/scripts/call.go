package scripts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/pregel"
)

// serving is the environment variable that makes a program execute calls of a script.
const serving = "SUPERSTEP_SERVE_CALLS"

// variables are the environment variables that scripts change.
var variables = []string{
	"SUPERSTEP_MASTER", "SUPERSTEP_TOKEN_FILE", "SUPERSTEP_TLS_CA", "SUPERSTEP_TLS_CERT",
	"SUPERSTEP_TLS_KEY", "XDG_STATE_HOME",
}

// Server is a process of superstep, or of a user's binary, that executes calls one after the other.
type Server struct {
	*Member
	calls   *json.Encoder
	answers *json.Decoder
}

// Request is a call: the arguments, the directory, and the values of the variables if they have
// changed.
type Request struct {
	Args, Values []string
	Dir          string
}

// Answer is the exit status and output of a call.
type Answer struct {
	Status         int
	Stdout, Stderr []byte
}

// program is the main function of superstep and of a user's binary.
func program(programs ...pregel.Registered) {
	if os.Getenv(serving) == "" {
		command.Main(programs...)
	}
	if err := serve(programs); err != nil {
		panic(err)
	}
}

// serve runs the command line for each request on standard input, until its end.
func serve(programs []pregel.Registered) error {
	threads := runtime.GOMAXPROCS(0)
	if err := os.Unsetenv(serving); err != nil { // processes that a command starts do not serve
		return err
	}
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	os.Stdin, os.Stdout = nothing, os.Stderr // a command that uses them does not disturb answers
	for requests.More() {
		var r Request
		if err := requests.Decode(&r); err != nil {
			return err
		}
		if err := r.prepare(); err != nil {
			return err
		}
		runtime.GOMAXPROCS(threads) // --threads of the previous call may have changed it
		var stdout, stderr Output
		status := cli.Run(filepath.Base(os.Args[0]), r.Args, programs, &stdout, &stderr)
		err := answers.Encode(Answer{status, []byte(stdout.String()), []byte(stderr.String())})
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare sets this process's directory and environment to those of the call.
func (r *Request) prepare() error {
	if err := os.Chdir(r.Dir); err != nil {
		return err
	}
	if err := os.Setenv("PWD", r.Dir); err != nil {
		return err
	}
	for i, value := range r.Values {
		if err := os.Setenv(variables[i], value); err != nil {
			return err
		}
	}
	return nil
}

// Serve starts a server. cmd is the program without arguments.
func Serve(cmd *exec.Cmd) (*Server, error) {
	s := &Server{Member: &Member{Cmd: cmd, Said: &Output{}, Ended: make(chan struct{})}}
	s.Env, s.Stderr = append(s.Environ(), serving+"=1"), s.Said
	in, err := s.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.calls, s.answers = json.NewEncoder(in), json.NewDecoder(out)
	return s, s.Start()
}

// Do executes a command in the server. A server that does not answer in time is stopped with its
// stacks.
func (s *Server) Do(r Request) (a Answer, err error) {
	late := time.AfterFunc(2*Patience, func() { _ = s.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	if err = s.calls.Encode(r); err == nil {
		err = s.answers.Decode(&a)
	}
	if err != nil {
		s.Stop() // afterwards its output is complete
		err = fmt.Errorf("the process of the calls: %w: %s", err, s.Said)
	}
	return a, err
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.Process.Kill()
	_ = s.Wait() // it was killed
}

// server returns the server of a program. The first call starts it.
func (c *Processes) server(name string) (*Server, error) {
	if s := c.servers[name]; s != nil {
		return s, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	s, err := Serve(cmd)
	if err == nil {
		c.servers[name] = s
	}
	return s, err
}

// perform runs superstep or own in the script's server.
func perform(ts *testscript.TestScript, args []string) Answer {
	s, err := ts.Value(clusterKey{}).(*Processes).server(args[0])
	ts.Check(err)
	r := Request{Args: args[1:], Dir: ts.MkAbs(".")}
	for _, name := range variables {
		r.Values = append(r.Values, ts.Getenv(name))
	}
	a, err := s.Do(r)
	ts.Check(err)
	_, err = ts.Stdout().Write(a.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(a.Stderr)
	ts.Check(err)
	return a
}

// call is call PROGRAM ARG...: it runs superstep or own like exec, but in one process for all calls
// of the script. Starting a process takes ten times as long as most commands.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if a := perform(ts, args); (a.Status != 0) != neg {
		ts.Fatalf("exit status %d: %s", a.Status, a.Stderr)
	}
}

package scripts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/pregel"
)

// serving is the environment variable that makes a program serve the calls of a script.
const serving = "SUPERSTEP_SERVE_CALLS"

// variables are the environment variables of the program that scripts change.
var variables = []string{
	"SUPERSTEP_MASTER", "SUPERSTEP_TOKEN_FILE", "SUPERSTEP_TLS_CA", "SUPERSTEP_TLS_CERT",
	"SUPERSTEP_TLS_KEY", "XDG_STATE_HOME",
}

// server is the process that serves the calls of a script, of one program.
type server struct {
	*Member
	calls   *json.Encoder
	answers *json.Decoder
}

// request is a call: the arguments, the directory, and the values of the variables.
type request struct {
	Args, Values []string
	Dir          string
}

// answer is the exit status of a call, and what it wrote.
type answer struct {
	Status         int
	Stdout, Stderr []byte
}

// program is the main function of superstep, and of a user's own binary.
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
	for requests.More() {
		var r request
		if err := requests.Decode(&r); err != nil {
			return err
		}
		if err := r.prepare(); err != nil {
			return err
		}
		runtime.GOMAXPROCS(threads) // --threads of the call before may have raised it
		var stdout, stderr Output
		status := cli.Run(filepath.Base(os.Args[0]), r.Args, programs, &stdout, &stderr)
		err := answers.Encode(answer{status, []byte(stdout.String()), []byte(stderr.String())})
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare sets the directory and the environment of this process to those of the call.
func (r *request) prepare() error {
	if err := os.Chdir(r.Dir); err != nil {
		return err
	}
	if err := os.Setenv("PWD", r.Dir); err != nil {
		return err
	}
	for i, name := range variables {
		if err := os.Setenv(name, r.Values[i]); err != nil {
			return err
		}
	}
	return nil
}

// server returns the process that serves the calls of a program, and starts it for the first one.
func (c *Processes) server(name string) (*server, error) {
	if s := c.servers[name]; s != nil {
		return s, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	s := &server{Member: &Member{Cmd: exec.Command(path), Said: &Output{}, Ended: make(chan struct{})}}
	s.Env, s.Dir, s.Stderr = append(slices.Clip(c.Env), serving+"=1"), c.Dir, s.Said
	in, err := s.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.calls, s.answers = json.NewEncoder(in), json.NewDecoder(out)
	if err := s.Start(); err != nil {
		return nil, err
	}
	c.servers[name] = s
	return s, nil
}

// do has the server run a command.
func (s *server) do(r request) (a answer, err error) {
	if err = s.calls.Encode(r); err == nil {
		err = s.answers.Decode(&a)
	}
	if err != nil {
		err = fmt.Errorf("the process of the calls: %w: %s", err, s.Said)
	}
	return a, err
}

// perform runs superstep or own in the process of the script's calls.
func perform(ts *testscript.TestScript, args []string) answer {
	s, err := ts.Value(clusterKey{}).(*Processes).server(args[0])
	ts.Check(err)
	r := request{Args: args[1:], Dir: ts.MkAbs(".")}
	for _, name := range variables {
		r.Values = append(r.Values, ts.Getenv(name))
	}
	a, err := s.do(r)
	ts.Check(err)
	_, err = ts.Stdout().Write(a.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(a.Stderr)
	ts.Check(err)
	return a
}

// call is call PROGRAM ARG...: it runs superstep or own as exec does, but in one process for all
// calls of the script, since the start of a process takes ten times as long as most commands.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if a := perform(ts, args); (a.Status != 0) != neg {
		ts.Fatalf("exit status %d: %s", a.Status, a.Stderr)
	}
}

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// children are child processes of this binary that end with it. The standard input of each is a
// pipe, which closes whenever this process ends. A child started with --end-with-stdin then ends.
//
//	start --> runs --> ended <- how
//	            |
//	           end: the pipe closes --> it ends by itself, or is killed
type children struct {
	app    *app
	binary string
	ended  chan *childError // receives every child that ends before end is called

	write   sync.Mutex // held while writing a line
	mu      sync.Mutex
	running map[string]*child
	ending  bool
	all     sync.WaitGroup
}

type child struct {
	*exec.Cmd
	stdin io.Closer
}

// childError is the unexpected end of a child.
type childError struct {
	name string
	pid  int
	how  error // nil for status 0
}

func (e *childError) Error() string {
	how := "exit status 0"
	if e.how != nil {
		how = e.how.Error()
	}
	return fmt.Sprintf("%s (process %d) ended: %s", e.name, e.pid, how)
}

func (e *childError) Unwrap() error { return e.how }

func newChildren(a *app) (*children, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &children{app: a, binary: path, ended: make(chan *childError,
		maxUp), running: map[string]*child{}}, nil
}

// start starts a child. If first is not nil, it receives the first line of the child's standard
// output, which is not logged. first must have a buffer of one.
func (c *children) start(name string, first chan<- string, args ...string) error {
	args = append(args, "--end-with-stdin")
	if c.app.all.Quiet {
		args = append(args, "--quiet")
	}
	if c.app.all.LogFormat != "" {
		args = append(args, "--log-format", c.app.all.LogFormat)
	}
	cmd := exec.Command(c.binary, args...)
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = time.Second // for the last output, if another process holds the pipe
	cmd.Env = os.Environ()
	for _, variable := range variables {
		cmd.Env = append(cmd.Env, variable+"=") // would refer to another cluster
	}
	said, logged := &lines{name: name, to: c, first: first}, &lines{name: name, to: c}
	cmd.Stdout, cmd.Stderr = said, logged
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return stdin.Close()
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	c.running[name] = &child{cmd, stdin}
	c.all.Go(func() {
		err := cmd.Wait()
		said.flush()
		logged.flush()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, name)
		if !c.ending {
			c.ended <- &childError{name, cmd.Process.Pid, err}
		}
	})
	return nil
}

// end asks all children to end, kills them after patience, and waits for them. The error names the
// killed ones.
func (c *children) end(patience time.Duration) error {
	c.mu.Lock()
	c.ending = true
	for _, p := range c.running {
		_ = p.stdin.Close() // already closed if the child has ended
	}
	c.mu.Unlock()
	var killed []string
	t := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, p := range c.running {
			killed = append(killed, name)
			_ = p.Process.Kill() // it may have just ended
		}
	})
	c.all.Wait()
	t.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(killed) > 0 {
		return fmt.Errorf("%s did not end within %v and had to be killed",
			strings.Join(killed, ", "), patience)
	}
	return nil
}

// maxLine is the length in bytes at which a longer line of a child's output is split.
const maxLine = 64 << 10

// lines copies a child's output to standard error, each line prefixed by the child's name, or as
// JSON with the name.
type lines struct {
	name  string
	to    *children
	first chan<- string
	rest  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < maxLine {
			return len(p), nil
		}
		if i < 0 || i > maxLine {
			i = maxLine - 1
		}
		l.emit(strings.TrimSuffix(string(l.rest[:i+1]), "\n"))
		l.rest = l.rest[i+1:]
	}
}

// flush writes an unterminated last line.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.emit(string(l.rest))
		l.rest = nil
	}
}

func (l *lines) emit(line string) {
	if l.first != nil { // it may contain a secret, so do not log it
		l.first <- line
		l.first = nil
		return
	}
	l.to.write.Lock()
	defer l.to.write.Unlock()
	rest, object := strings.CutPrefix(line, "{")
	if object && l.to.app.all.LogFormat == "json" {
		fmt.Fprintf(l.to.app.err, "{\"process\":%q,%s\n", l.name, rest)
		return
	}
	fmt.Fprintf(l.to.app.err, "%s: %s\n", l.name, line)
}

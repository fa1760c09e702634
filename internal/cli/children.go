package cli

import (
	"bufio"
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
	said, stdout := io.Pipe()
	logged, stderr := io.Pipe()
	cmd.Stdout, cmd.Stderr = stdout, stderr
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
	var relays sync.WaitGroup
	relays.Go(func() { c.relay(name, said, first) })
	relays.Go(func() { c.relay(name, logged, nil) })
	c.all.Go(func() {
		err := cmd.Wait()
		stdout.Close()
		stderr.Close()
		relays.Wait()
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

// relay copies a child's output to standard error, each line prefixed by the child's name, or as
// JSON with the name. first is as in start.
func (c *children) relay(name string, from io.Reader, first chan<- string) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		text, _, err := in.ReadLine()
		if err != nil {
			return
		}
		line := string(text)
		if first != nil { // it may contain a secret, so do not log it
			first <- line
			first = nil
			continue
		}
		c.write.Lock()
		rest, object := strings.CutPrefix(line, "{")
		if object && c.app.all.LogFormat == "json" {
			fmt.Fprintf(c.app.err, "{\"process\":%q,%s\n", name, rest)
		} else {
			fmt.Fprintf(c.app.err, "%s: %s\n", name, line)
		}
		c.write.Unlock()
	}
}

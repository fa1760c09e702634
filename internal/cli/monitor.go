package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// monitor is a child process of a worker that reports to the master how the worker died: a stack
// overflow, a concurrent map write, a kill from outside. It reads a pipe, which ends with the
// worker. The worker writes lines to it, and Go's runtime the text of a crash. A worker that ends
// normally announces it first.
//
//	worker                                    monitor
//	\0{"Master":...,"Incarnation":...}\n  ->
//	goroutine 8 [running]: ...            ->
//	end of the pipe                       ->  ReportExit to the master
type monitor struct {
	name   string
	who    control.Credentials
	pipe   *os.File
	exited chan struct{} // closed when the child has ended
	kill   func() error
}

// monitorName is the command that runs a monitor.
const monitorName = "worker-monitor"

// monitorLine is a line from a worker to its monitor. The token is sent this way so that it is not
// in the arguments or the environment.
type monitorLine struct {
	Master, Token, Name string
	TLS                 certs.Names
	Incarnation         uint64
	Over                bool   // the worker ends normally
	Reason              string // why the worker ends now
	Starved             bool   // it ran out of memory
}

// startMonitor starts a monitor of this process. The child inherits no other descriptor than the
// pipe.
func startMonitor(name string, who control.Credentials) (*monitor, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command(binary, monitorName)
	cmd.Stdin, cmd.Env, cmd.SysProcAttr = in, []string{"GOMAXPROCS=1"}, ownGroup()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	m := &monitor{name: name, who: who, pipe: pipe, exited: make(chan struct{}), kill: cmd.Process.Kill}
	go func() {
		defer close(m.exited)
		_ = cmd.Wait() // in whatever way it ended
	}()
	if err := debug.SetCrashOutput(pipe, debug.CrashOptions{}); err != nil {
		m.end()
		return nil, err
	}
	return m, nil
}

// tell writes a line. It ignores errors, because the worker does not need its monitor.
func (m *monitor) tell(line any) {
	text, _ := json.Marshal(line) // strings and numbers cannot fail
	_, _ = m.pipe.Write(append(append([]byte{0}, text...), '\n'))
}

func (m *monitor) registered(master string, incarnation uint64) {
	if m != nil {
		l := monitorLine{Master: master, Token: m.who.Token.Secret(), Name: m.name, Incarnation: incarnation}
		if m.who.TLS != nil {
			l.TLS = m.who.TLS.Names
			// the monitor may have another working directory
			for _, file := range []*string{&l.TLS.Cert, &l.TLS.Key, &l.TLS.CA} {
				if full, err := filepath.Abs(*file); err == nil && *file != "" {
					*file = full
				}
			}
		}
		m.tell(l)
	}
}

// starved announces that the worker ends now because it ran out of memory. It does not tell the
// master.
func (m *monitor) starved(err error) {
	if m != nil {
		m.tell(struct { // the monitor keeps the other fields
			Reason  string
			Starved bool
		}{oneLine(err), true})
	}
}

// end announces that the worker ends normally, and waits for the child to end.
func (m *monitor) end() {
	if m == nil {
		return
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // it holds the pipe too
	go func() {
		m.tell(monitorLine{Over: true})
		_ = m.pipe.Close()
	}()
	select {
	case <-m.exited:
	case <-time.After(time.Second):
		_ = m.kill() // it may have just ended
	}
}

// workerMonitor makes the command that runs a monitor, which users do not call.
func (a *app) workerMonitor() *cobra.Command {
	return &cobra.Command{Use: monitorName, Hidden: true, Args: exactly(0,
		"no arguments"), RunE: func(*cobra.Command, []string) error {
		// It ends soon after the worker.
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		return watchOver(a.in, control.ReportExit)
	}}
}

const (
	maxCrash = 16 << 10 // bytes of a crash text that are kept; the rest is dropped
	// How often to read the kernel's count of processes killed for lack of memory.
	sampleEvery = 5 * time.Second
)

// watchOver reads the pipe until the worker has ended, and reports the reason.
func watchOver(in io.Reader, report func(string, control.Credentials, control.Dialer,
	*control.ReportExitRequest) error,
) error {
	var last monitorLine
	var text []byte
	done := make(chan error, 1)
	go func() {
		lines := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := lines.ReadSlice('\n')
			if len(line) > 0 && line[0] == 0 {
				if err := json.Unmarshal(line[1:], &last); err != nil {
					done <- err
					return
				}
			} else {
				text = append(text, line[:min(len(line), maxCrash-len(text))]...)
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				done <- nil
				return
			}
		}
	}()
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	older := oomKills()
	newer := older
	for {
		select {
		case <-ticks.C:
			older, newer = newer, oomKills()
		case err := <-done:
			if err != nil || last.Over || last.Incarnation == 0 {
				return err
			}
			reason, starved := cmp.Or(last.Reason, crashReason(string(text))), last.Starved
			if reason == "" {
				reason = "its process was killed, or called os.Exit"
				if oomKills() > older {
					reason, starved = "its process was killed; the kernel killed one for want of memory", true
				}
			}
			// From Go's runtime or the kernel.
			starved = starved || strings.Contains(reason, "out of memory")
			var who control.Credentials
			if who.TLS, err = control.LoadTLS(nil, last.TLS, nil); err != nil {
				return err
			}
			if last.Token != "" {
				if who.Token, err = control.NewToken(last.Token, "the worker"); err != nil {
					return err
				}
			}
			return report(last.Master, who, nil,
				&control.ReportExitRequest{Name: last.Name, Incarnation: last.Incarnation, Reason: reason, Starved: starved})
		}
	}
}

// oomKills returns how many processes the kernel has killed for lack of memory; 0 if unknown.
func oomKills() int {
	data, _ := os.ReadFile("/proc/vmstat")
	_, rest, _ := strings.Cut(string(data), "\noom_kill ")
	n := 0
	_, _ = fmt.Sscan(rest, &n) // no number leaves 0
	return n
}

// signs map stack frames to fatal errors. For a fatal error the runtime writes only the stack to
// the pipe, and the error itself to standard error.
var signs = []struct{ frame, what string }{
	{"runtime.newstack(", "fatal error: stack overflow"},
	{"internal/runtime/maps.fatal(", "fatal error: concurrent access to a map"},
	{"runtime.(*mheap).", "fatal error: out of memory"},
}

// crashReason summarizes the text of a crash in a line: the error, and the first function outside
// the runtime in the stack of the running goroutine. It returns "" if there is no text.
//
//	goroutine 8 [running]:
//	internal/runtime/maps.fatal({0x4d, 0x2})
//		/go/src/runtime/panic.go:1181 +0x18
//	main.Race.Compute(...)
//		/home/me/race.go:12 +0x45
func crashReason(text string) string {
	if text == "" {
		return ""
	}
	what, where, running := "", "", false
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	for i, line := range lines {
		for _, s := range signs {
			if what == "" && strings.HasPrefix(line, s.frame) {
				what = s.what
			}
		}
		switch {
		case what == "" && hasPrefix(line, "fatal error: ", "panic: ", "SIG", "[signal "):
			what = strings.Trim(line, "[]")
		case strings.HasPrefix(line, "goroutine "):
			running = strings.Contains(line, "running")
		case running && where == "" && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") &&
			!hasPrefix(line, "runtime.", "internal/runtime/", "internal/sync.", "sync.", "panic(",
				"created by "):
			name := line[:max(strings.LastIndexByte(line, '('), 0)]
			at, _, _ := strings.Cut(filepath.Base(strings.TrimSpace(lines[i+1])), " ")
			where = fmt.Sprintf(", in %s (%s)", name, at)
		}
	}
	return cmp.Or(what, "fatal error of Go's runtime") + where
}

func hasPrefix(line string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) })
}

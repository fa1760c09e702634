package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// monitor is a child process of a worker. If the worker dies, the monitor reports that to the
// master at once, and whether the kernel killed a process because memory was full. It reads a pipe,
// which ends with the worker. A worker that ends normally, or at its memory limit, announces it
// first. The cause of a crash is in the worker's log.
//
//	worker                                monitor
//	{"Master":...,"Incarnation":...}  ->
//	end of the pipe                   ->  ReportExit to the master
type monitor struct {
	name string
	who  control.Credentials
	cmd  *exec.Cmd
	pipe io.WriteCloser
	over sync.Once
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
	cmd := exec.Command(binary, monitorName)
	cmd.Env, cmd.SysProcAttr = []string{"GOMAXPROCS=1"}, ownGroup()
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	return &monitor{name: name, who: who, cmd: cmd, pipe: pipe}, nil
}

// tell writes a line. It ignores errors, because the worker does not need its monitor.
func (m *monitor) tell(line any) { _ = json.NewEncoder(m.pipe).Encode(line) }

func (m *monitor) registered(master string, incarnation uint64) {
	if m != nil {
		l := monitorLine{
			Master: master, Token: m.who.Token.Secret(), Name: m.name, Incarnation: incarnation,
		}
		if m.who.TLS != nil {
			l.TLS = m.who.TLS.Names
		}
		m.tell(l)
	}
}

// starved announces that the worker ends now because it ran out of memory. It does not tell the
// master.
func (m *monitor) starved(err error) {
	if m != nil { // the monitor keeps the other fields
		m.tell(map[string]any{"Reason": oneLine(err), "Starved": true})
	}
}

// end announces that the worker ends normally, and waits for the child to end.
func (m *monitor) end() {
	if m == nil {
		return
	}
	m.over.Do(func() {
		defer time.AfterFunc(time.Second, func() { _ = m.cmd.Process.Kill() }).Stop()
		m.tell(monitorLine{Over: true})
		_ = m.pipe.Close()
		_ = m.cmd.Wait() // in whatever way it ended
	})
}

// workerMonitor makes the command that runs a monitor, which users do not call.
func (a *app) workerMonitor() *cobra.Command {
	return &cobra.Command{
		Use: monitorName, Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			// It ends soon after the worker.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return watchOver(a.in, control.ReportExit)
		},
	}
}

// sampleEvery is how often to read the kernel's count of processes killed for lack of memory.
const sampleEvery = 5 * time.Second

// watchOver reads the pipe until the worker has ended, and reports the reason.
func watchOver(in io.Reader, report func(string, control.Credentials, control.Dialer,
	*control.ReportExitRequest) error,
) error {
	var last monitorLine
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := json.NewDecoder(in)
		for lines.Decode(&last) == nil { // until the end, or a line that was cut short
			continue
		}
	}()
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	older := oomKills()
	newer := older
	for running := true; running; {
		select {
		case <-ticks.C:
			older, newer = newer, oomKills()
		case <-done:
			running = false
		}
	}
	if last.Over || last.Incarnation == 0 {
		return nil
	}
	last.Reason = cmp.Or(last.Reason, "its process crashed or was killed: its log may say why")
	if !last.Starved && oomKills() > older {
		last.Starved = true
		last.Reason = "its process was killed; the kernel killed one because memory was full"
	}
	var who control.Credentials
	var err error
	if who.TLS, err = control.LoadTLS(nil, last.TLS, nil); err != nil {
		return err
	}
	if last.Token != "" {
		if who.Token, err = control.NewToken(last.Token, "the worker"); err != nil {
			return err
		}
	}
	return report(last.Master, who, nil, &control.ReportExitRequest{
		Name: last.Name, Incarnation: last.Incarnation, Reason: last.Reason, Starved: last.Starved,
	})
}

// oomKills returns how many processes the kernel has killed for lack of memory; 0 if unknown.
func oomKills() int {
	data, _ := os.ReadFile("/proc/vmstat")
	_, rest, _ := strings.Cut(string(data), "\noom_kill ")
	n := 0
	_, _ = fmt.Sscan(rest, &n) // no number leaves 0
	return n
}

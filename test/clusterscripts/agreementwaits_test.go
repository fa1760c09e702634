//go:build unix

package clusterscripts

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/record"
	"github.com/superstep-go/superstep/test/scripts"
)

// stops is the number of times that a throttled worker is stopped. stopped is the time of each.
const (
	stops   = 5
	stopped = 300 * time.Millisecond
)

// throttle stops and continues a process several times. It is stopped for most of the time.
func throttle(t *testing.T, p *os.Process) {
	t.Helper()
	for range stops {
		scripts.Must(t, p.Signal(syscall.SIGSTOP))
		<-time.After(stopped)
		scripts.Must(t, p.Signal(syscall.SIGCONT))
		<-time.After(stopped / 3)
	}
}

// awaitSuperstep waits until the newest job has run a superstep.
func (s site) awaitSuperstep() {
	s.t.Helper()
	if !scripts.Soon(func() bool {
		var all struct {
			Items []struct {
				State      string
				Supersteps int
			}
		}
		s.json("jobs", &all)
		newest := all.Items[len(all.Items)-1]
		return newest.State == "running" && newest.Supersteps > 0
	}) {
		s.t.Fatal("the job runs no superstep")
	}
}

// waits adds up the waiting times of a worker's partitions in a trace, over supersteps that took at
// least this number of seconds.
func waits(lines []record.Superstep, worker string, least float64) figures {
	f := figures{}
	for _, l := range lines {
		for _, p := range l.Partitions {
			if p.Worker == worker && l.Seconds >= least {
				f.add("wait", p.Times.Wait)
			}
		}
	}
	return f
}

// waits returns the same from the API's totals of a whole run.
func (s site) waits(job, worker string) figures {
	s.t.Helper()
	var all struct{ Totals []record.Partition }
	s.json("jobs/"+job+"/partitions", &all)
	f := figures{}
	for _, p := range all.Totals {
		if p.Worker == worker {
			f.add("wait", p.Times.Wait)
		}
	}
	return f
}

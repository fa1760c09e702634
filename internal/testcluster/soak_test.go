package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
)

// usage is a process's use of resources.
type usage struct {
	goroutines, files int
	heap              uint64
	resident          int64
}

// The resources that may remain after jobs.
const (
	moreGoroutines = 4
	moreFiles      = 2
)

func measure(t *testing.T) (u usage) {
	t.Helper()
	for range 3 { // finalizers and cleanups free memory, too
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.goroutines, u.heap, u.resident = runtime.NumGoroutine(), m.HeapAlloc, mem.RSS()
	if files, err := filepath.Glob("/proc/self/fd/*"); err == nil {
		u.files = len(files)
	}
	return u
}

// attached counts how often workers attached to the master.
type attached struct{ atomic.Int64 }

func (a *attached) Session(there bool) {
	if there {
		a.Add(1)
	}
}
func (*attached) Leaving()                                              {}
func (*attached) Stuck(string)                                          {}
func (*attached) Registered(string, uint64)                             {}
func (*attached) Superstep(float64, []*bsp.Report)                      {}
func (*attached) Command(string, time.Duration, *control.Report, error) {}

// remembered is the number of ended jobs that the master and its page keep.
const remembered = 1000

// TestManyJobsLeaveNothing runs jobs in a row, on graphs of their own and on one of the catalog,
// some of which fail or are cancelled, and breaks sessions of workers between them, which attach
// again: goroutines, files and memory stay what they were. SUPERSTEP_SOAK is how many, 56 if not
// given. From 1,000 on all that is remembered of jobs was remembered of others before, and memory
// has no job to grow by.
func TestManyJobsLeaveNothing(t *testing.T) {
	jobs := 56
	if text := os.Getenv("SUPERSTEP_SOAK"); text != "" {
		var err error
		if jobs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		jobs = 28
	}
	sessions := &attached{}
	c := Start(t, 0, withPage(control.Token{}), programs()...)
	c.Worker.Observe = sessions
	for i := range 4 {
		c.StartWorker(fmt.Sprintf("w%d", i))
	}
	c.Await(4)
	c.load(t, "web", small(), 0, 0)
	attachAgain := func() {
		if _, err := c.Client.DropGraph(t.Context(),
			&control.DropGraphRequest{Name: "web"}); err != nil {
			t.Fatal(err)
		}
		was := sessions.Load()
		c.Break("w1")
		c.Until("the worker to attach again", func() bool { return sessions.Load() > was })
		c.load(t, "web", small(), 0, 0)
	}
	specs := []*job.Spec{
		{Program: "wcc", Graph: "web", KeepResult: true},
		{Program: "levels", Parameters: map[string]string{"source": "1"}, Source: small()},
		{Program: "paths", Graph: "web"},
		{Program: "pagerank", Parameters: map[string]string{"iterations": "3"}, Graph: "web", Options: job.Options{Delivery: "naive"}},
		{Program: "broken", Parameters: map[string]string{"at": "7"}, Graph: "web"},
		{Program: "forever", Graph: "web"},
		{Program: "letters", Graph: "web", Options: job.Options{Deterministic: true}},
	}
	supersteps := 0 // supersteps that were watched
	run := func(n int) {
		for i := range n {
			if i%50 == 49 {
				attachAgain()
			}
			spec := specs[i%len(specs)]
			j := c.submitSpec(t, spec)
			want := control.JobState_JOB_STATE_DONE
			switch spec.Program {
			case "broken":
				want = control.JobState_JOB_STATE_FAILED
			case "forever":
				want = control.JobState_JOB_STATE_CANCELLED
			}
			j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
				if e.GetRecord() != nil {
					supersteps++
				}
				if stepOf(t, e).Superstep == 3 && spec.Program == "forever" {
					c.cancel(t, j.Id)
				}
			})
			if j.State != want {
				t.Fatalf("%s: %s: %s", spec.Program, j.State.Word(), j.Reason)
			}
		}
	}
	first := jobs / 4
	if jobs >= remembered {
		first = remembered
	}
	run(first)
	before, ran := measure(t), supersteps
	run(jobs)
	after := measure(t)
	for end := time.Now().Add(patience); after.goroutines > before.goroutines+moreGoroutines ||
		after.files > before.files+moreFiles; after = measure(t) {
		if time.Now().After(end) {
			break
		}
		<-time.After(100 * time.Millisecond) // goroutines of ended jobs may still be ending
	}
	t.Logf("%d supersteps\nbefore %+v\nafter  %+v", supersteps-ran, before, after)
	if after.goroutines > before.goroutines+moreGoroutines {
		t.Errorf("%d goroutines became %d", before.goroutines, after.goroutines)
	}
	if after.files > before.files+moreFiles {
		t.Errorf("%d files became %d", before.files, after.files)
	}
	// kept data; how many supersteps of cancelled jobs ran depends on the machine
	const perJob, perSuperstep = 64 << 10, 4 << 10
	more := uint64(0)
	if n := min(first+jobs, remembered) - first; n > 0 {
		more = uint64(n)*perJob + uint64(supersteps-ran)*perSuperstep
	}
	if after.heap > before.heap+more+before.heap/8+4<<20 {
		t.Errorf("%d bytes of heap became %d", before.heap, after.heap)
	}
	if !raceEnabled && after.resident > before.resident+int64(more)+before.resident/4+16<<20 {
		t.Errorf("%d resident bytes became %d", before.resident, after.resident)
	}
	c.holdsOnly(t, 1)
}

package testcluster

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// disk simulates a hanging disk: the data of writes wait until it is mended, or fail.
type disk struct {
	mended chan struct{}
	err    error
	once   sync.Once
	hangs  chan struct{} // closed when a write waits
}

func newDisk() *disk { return &disk{mended: make(chan struct{}), hangs: make(chan struct{})} }

type diskFile struct {
	io.Reader
	disk *disk
}

func (d *disk) wrap(f io.Reader) io.Reader { return &diskFile{f, d} }

func (f *diskFile) Read(p []byte) (int, error) {
	f.disk.once.Do(func() { close(f.disk.hangs) })
	<-f.disk.mended
	if f.disk.err != nil {
		return 0, f.disk.err
	}
	return f.Reader.Read(p)
}

func (d *disk) awaitHang(t testing.TB) {
	t.Helper()
	select {
	case <-d.hangs:
	case <-time.After(patience):
		t.Fatal("nothing was written")
	}
}

// long returns a job whose result is larger than all buffers on its way to the disk, from each of
// two workers.
func long() *job.Spec {
	return &job.Spec{Program: "wordy", Source: &job.Source{Input: "kronecker:scale=11,edgefactor=1"}, KeepResult: true}
}

// wordy gives every vertex a text of about 800 bytes that cannot be compressed well.
type wordy struct{}

func (wordy) Compute(v *pregel.Vertex[string, int64], _ []int64) {
	var text []byte
	for x := v.Label() + 1; len(text) < 800; {
		x = x*6364136223846793005 + 1442695040888963407
		text = strconv.AppendUint(text, x, 36)
	}
	v.Set(string(text))
	v.VoteToHalt()
}

// after waits for a time, and checks that all workers stay connected.
func (c *Cluster) after(t testing.TB, d time.Duration, workers int) {
	t.Helper()
	began := time.Now()
	c.Until("time to pass", func() bool {
		for _, w := range c.Workers() {
			if w.State != control.WorkerState_WORKER_STATE_REGISTERED || !w.Attached {
				t.Fatalf("worker %s is %s: %s", w.Name, w.State.Word(), w.Reason)
			}
		}
		return time.Since(began) > d
	})
	if n := len(c.Workers()); n != workers {
		t.Fatalf("found %d workers, expected %d", n, workers)
	}
}

// TestDiskThatStalls blocks the disk of results for longer than a lease. No worker is lost, and the
// result is complete.
func TestDiskThatStalls(t *testing.T) {
	t.Parallel()
	d := newDisk()
	const lease = 5 * time.Second
	c := Start(t, 2, master.Config{Options: master.Options{Lease: lease}, Master: daemon.Master{WrapPart: d.wrap}},
		programs()...)
	id := c.submitSpec(t, long()).Id
	d.awaitHang(t)
	c.after(t, lease*3/2, 2)
	close(d.mended)
	j, _ := c.watch(t, id, nil)
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatalf("%s: %s", j.State.Word(), j.Reason)
	}
	if n := len(c.result(t, id)); n != 1<<11 || j.ResultBytes < 1<<11*800 {
		t.Errorf("found %d lines, %d bytes, expected %d lines", n, j.ResultBytes, 1<<11)
	}
}

// TestCancelWhileTheDiskHangs cancels a job whose result waits for the disk. The job ends, and the
// queue continues.
func TestCancelWhileTheDiskHangs(t *testing.T) {
	d := newDisk()
	c := Start(t, 2, master.Config{Master: daemon.Master{WrapPart: d.wrap}}, programs()...)
	defer close(d.mended)
	id := c.submitSpec(t, long()).Id
	next := c.submitSpec(t, &job.Spec{Program: "wcc", Source: small()}).Id
	d.awaitHang(t)
	c.cancel(t, id)
	if j, _ := c.watch(t, id, nil); j.State != control.JobState_JOB_STATE_CANCELLED ||
		j.Reason != "cancelled by a client" {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
	if j, _ := c.watch(t, next, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %s: %s", j.State.Word(), j.Reason)
	}
	c.holdsOnly(t, 0)
}

// TestDiskThatIsFull: the job fails with the reason.
func TestDiskThatIsFull(t *testing.T) {
	d := newDisk()
	d.err = errors.New("no space left on device")
	close(d.mended)
	c := Start(t, 2, master.Config{Master: daemon.Master{WrapPart: d.wrap}}, programs()...)
	j, _ := c.watch(t,
		c.submitSpec(t, &job.Spec{Program: "wcc", Source: small(), KeepResult: true}).Id, nil)
	if j.State != control.JobState_JOB_STATE_FAILED ||
		!strings.HasPrefix(j.Reason, "result: write ") ||
		!strings.HasSuffix(j.Reason, "part-00000: no space left on device") &&
			!strings.HasSuffix(j.Reason, "part-00001: no space left on device") {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
	c.works(t, 2)
}

// TestResultOverASlowLink sends a result that takes one and a half leases. Heartbeats are sent
// meanwhile.
func TestResultOverASlowLink(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, master.Config{Options: master.Options{Lease: 5 * time.Second}}, programs()...)
	c.load(t, "web", &job.Source{Input: "kronecker:scale=11,edgefactor=1"}, 0, 0)
	const rate = 19 << 10
	c.Slow(rate)
	j, _ := c.watch(t,
		c.submitSpec(t, &job.Spec{Program: "census", Graph: "web", KeepResult: true}).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatalf("%s: %s", j.State.Word(), j.Reason)
	}
	if j.ResultBytes < 15*rate || len(c.result(t, j.Id)) != 1<<11 {
		t.Errorf("the result has %d bytes", j.ResultBytes)
	}
	c.after(t, 0, 2)
}

// TestLongMessageOverASlowLink: a worker sends a message for longer than a lease. Its bytes count
// as signs of life, as do the master's beats, which do not wait for a heartbeat.
func TestLongMessageOverASlowLink(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	c := Start(t, 0, master.Config{Options: master.Options{Lease: lease}})
	wires := &wires{}
	wires.link.rate.Store(26 << 10)
	connection, err := control.Connect(c.Address, control.Credentials{}, wires.dial)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	about := &control.RegisterRequest{Name: "slow", Instance: "1", Protocol: control.Protocol}
	r, err := connection.Workers.Register(t.Context(), about)
	if err != nil {
		t.Fatal(err)
	}
	lane, err := connection.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lane.Close()
	say := func(m *control.FromWorker) error {
		m.Incarnation = r.Incarnation
		return lane.Send(m)
	}
	if err := say(&control.FromWorker{Body: &control.FromWorker_Attach{Attach: &control.Attach{Name: "slow", Master: r.Master}}}); err != nil {
		t.Fatal(err)
	}
	c.Await(1)
	ctx, sent := context.WithCancel(t.Context())
	var silent time.Duration // the longest silence during the message
	go func() {
		defer sent()
		if err := say(&control.FromWorker{Body: &control.FromWorker_Progress{Progress: &control.Progress{Stage: strings.Repeat("x", 200<<10)}}}); err != nil {
			t.Error(err)
		}
	}()
	for last := time.Now(); ctx.Err() == nil; last = time.Now() {
		if err := lane.Receive(&control.ToWorker{}); err != nil {
			t.Fatalf("the session ended: %v", err)
		}
		silent = max(silent, time.Since(last))
	}
	if silent > lease {
		t.Errorf("nothing was heard of the master for %v", silent)
	}
	c.after(t, 0, 1)
}

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/faults"
)

// points are places in the code where a process can be killed: between two steps that must be
// atomic.
type points struct {
	mu    sync.Mutex
	armed []*trap
}

// trap kills a process when it reaches a point for the times-th time.
type trap struct {
	point, who string
	times      int
	spring     func()
}

// at is called at every point. For a killed process this call and all later ones fail.
func (p *points) at(point, who string) error {
	p.mu.Lock()
	var sprung *trap
	for i, t := range p.armed {
		if t.point == point && (t.who == who || who == "") {
			if t.times--; t.times == 0 {
				sprung = t
				p.armed = append(p.armed[:i:i], p.armed[i+1:]...)
				break
			}
		}
	}
	p.mu.Unlock()
	if sprung == nil {
		return nil
	}
	sprung.spring()
	return syscall.EHOSTDOWN
}

// killAt returns a fault that does not depend on time: a worker or the master is killed at a point
// and restarted.
func (c *cluster) killAt(random *rand.Rand, worker int, hold, jump time.Duration) *fault {
	ofWorkers := []string{faults.StoringPart, faults.StoringManifest, faults.StoredManifest, faults.Commanded, faults.Computing, faults.Sending, faults.ReachedTheBarrier}
	t := &trap{who: fmt.Sprintf("w%d", worker), times: 1 + random.IntN(12)}
	kill, revive := func() { c.kill(c.workers[worker], true) }, func() { c.revive(worker, jump) }
	if random.IntN(3) == 0 {
		t.point, t.who = []string{faults.Committing, faults.Committed}[random.IntN(2)], ""
		t.times = 1 + random.IntN(6)
		kill, revive = func() { c.killMaster(true) },
			func() { c.reviveMaster(min(jump, time.Hour)) }
	} else {
		t.point = ofWorkers[random.IntN(len(ofWorkers))]
	}
	return c.trapping(t, hold, kill, revive)
}

// trapping returns the fault of a trap.
func (c *cluster) trapping(t *trap, hold time.Duration, kill, revive func()) *fault {
	f := &fault{name: fmt.Sprintf("kill %s at %s %d", t.who, t.point, t.times), hold: hold}
	f.do = func() {
		t.spring = func() {
			c.event("== %s", f.name)
			kill()
		}
		c.points.mu.Lock()
		c.points.armed = append(c.points.armed, t)
		c.points.mu.Unlock()
	}
	f.undo = func() {
		c.points.mu.Lock()
		for i, other := range c.points.armed {
			if other == t {
				c.points.armed = append(c.points.armed[:i:i], c.points.armed[i+1:]...)
				break
			}
		}
		c.points.mu.Unlock()
		revive()
	}
	return f
}

// TestKilledInASuperstep kills a worker in one of the first supersteps. The job resumes from the
// previous checkpoint with the same result. Even and odd jobs lose the worker in different
// supersteps.
func TestKilledInASuperstep(t *testing.T) {
	for i, j := range jobs {
		_, supersteps := j.expected(t)
		for _, superstep := range [][]int{{1, 4}, {3, 7}}[i%2] {
			if superstep > supersteps-2 {
				break
			}
			s := setting{job: j, workers: 3, delay: 2 * time.Millisecond, every: 1}
			o := disturbed(t, 0, s, j.result(t), func(c *cluster) []*fault {
				at := &trap{point: faults.Computing, who: "w1", times: superstep + 1}
				return []*fault{c.trapping(at, 20*time.Second, func() { c.kill(c.workers[1], true) }, func() { c.revive(1, 0) })}
			})
			if o.bad != "" || o.result != same || o.attempts != 2 {
				t.Errorf("%v\n%s", o, o.journal)
			}
			if superstep >= 4 && !strings.Contains(o.journal, "goes on from checkpoint") {
				t.Errorf("%v: it does not go on from a checkpoint\n%s", o, o.journal)
			}
		}
	}
}

// TestCutOneWay cuts one direction between the master and a worker. The master considers the worker
// lost, and the job starts again on the other workers long before the cut ends.
func TestCutOneWay(t *testing.T) {
	for _, way := range [][2]string{{"master", "w1"}, {"w1", "master"}} {
		for _, at := range []time.Duration{4 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond} {
			s := setting{job: jobs[0], workers: 3, delay: 2 * time.Millisecond, every: 1}
			o := disturbed(t, 0, s, s.job.result(t), func(c *cluster) []*fault {
				f := c.cutting(75*time.Second, way)
				f.at = at
				return []*fault{f}
			})
			if o.bad != "" || o.result != same || o.took > 20*time.Second {
				t.Errorf("%v\n%s", o, o.journal)
			}
		}
	}
}

// TestMasterKilledBetweenCommands kills the master after one worker has received a command that
// others have begun. The last such command is to find the results together. The next master takes
// over the run, or the job starts again.
func TestMasterKilledBetweenCommands(t *testing.T) {
	s := setting{job: jobs[0], workers: 4, delay: 2 * time.Millisecond, every: 2}
	want := s.job.result(t)
	for command := 1; command <= 6; command++ {
		o := disturbed(t, uint64(command), s, want, func(c *cluster) []*fault {
			at := &trap{point: faults.Commanded, who: "w1", times: command}
			soon := func() { // when all others wait, because a master's files are copied as a whole
				time.AfterFunc(50*time.Microsecond, func() { c.killMaster(true) })
			}
			return []*fault{c.trapping(at, 2*time.Second, soon, func() { c.reviveMaster(0) })}
		})
		if o.bad != "" || o.result != same {
			t.Errorf("%v\n%s", o, o.journal)
		}
	}
}

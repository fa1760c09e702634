//go:build linux

package chaos_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fault is a disturbance for a limited time.
type fault struct {
	name string
	do   func()
	undo func() // after hold
	hold time.Duration
}

// pick returns a random fault. Lethal faults may kill the master.
func (c *cluster) pick(random *rand.Rand, lethal bool) fault {
	i := random.IntN(len(c.workers))
	w, control, data := c.workers[i], c.control[i], c.data[i]
	short := time.Duration(100+random.IntN(900)) * time.Millisecond
	long := time.Duration(1000+random.IntN(4000)) * time.Millisecond
	hold := short
	if random.IntN(3) == 0 {
		hold = long
	}
	kinds := []func() fault{
		func() fault { return fault{"stop " + w.name, w.freeze, w.thaw, hold} },
		func() fault {
			return fault{"cut " + w.name + " from the master", c.cut(control,
				false), control.release, 0}
		},
		func() fault {
			return fault{"keep " + w.name + " from the master", c.cut(control,
				true), control.release, hold}
		},
		func() fault {
			return fault{"hold up " + w.name + " and the master", control.hold, control.release, hold}
		},
		func() fault {
			return fault{"cut the others from " + w.name, c.cut(data, false), data.release, 0}
		},
		func() fault {
			return fault{"keep the others from " + w.name, c.cut(data, true), data.release, hold}
		},
		func() fault { return fault{"hold up the others and " + w.name, data.hold, data.release, hold} },
		func() fault {
			return fault{"cut clients from the master", c.cut(c.clients,
				true), c.clients.release, short}
		},
		func() fault {
			stop := make(chan struct{})
			return fault{"damage results", func() { go c.damage(stop) }, func() { close(stop) }, hold}
		},
		func() fault {
			data := c.masterData()
			move := func() { _ = os.Rename(data, data+"-gone") }
			back := func() {
				_ = os.Rename(data+"-gone", data)
				<-time.After(3 * time.Second) // the master checks every second
			}
			return fault{"remove the master's data", move, back, hold}
		},
		func() fault { return fault{"stop the master", c.master.freeze, c.master.thaw, hold} },
	}
	if i > 0 { // the first worker is never killed
		kinds = append(kinds,
			func() fault { return fault{"kill " + w.name, w.kill, w.revive, short} },
			func() fault { return fault{"kill " + w.name, w.kill, w.revive, hold} },
			func() fault {
				return fault{"terminate " + w.name, func() { w.killed = true; w.signal(syscall.SIGTERM) }, func() {}, hold}
			})
	}
	if c.disk.own {
		full := func() {
			c.disk.empty()
			<-time.After(3 * time.Second) // the master checks every second
		}
		kinds = append(kinds,
			func() fault { return fault{"no room for the master's data", c.disk.fill, full, hold} })
	}
	if c.store.own {
		kinds = append(kinds,
			func() fault {
				other, same := c.files(w.name, true), c.files(w.name, false)
				return fault{"another file at " + w.name, other, same, max(hold, 2*time.Second)}
			},
			func() fault { return fault{"no room for checkpoints", c.store.fill, c.store.empty, hold} },
			func() fault {
				return fault{"checkpoints cannot be written", func() { c.store.protect(true) }, func() { c.store.protect(false) }, hold}
			})
	}
	// longer than a lease, and than all time limits except the hold time of partitions
	if random.IntN(12) == 0 {
		hold = 30 * time.Second
	}
	if lethal {
		kinds = append(kinds,
			func() fault { return fault{"kill the master", c.master.kill, c.master.revive, short} })
	}
	return kinds[random.IntN(len(kinds))]()
}

// damage changes one byte in each part of a result until stop is closed.
func (c *cluster) damage(stop <-chan struct{}) {
	done := map[string]bool{}
	for {
		parts, _ := filepath.Glob(filepath.Join(c.masterData(), "results", "*", "part-*"))
		for _, name := range parts {
			if done[name] {
				continue
			}
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				continue // it was removed
			}
			one := []byte{0}
			if n, _ := f.ReadAt(one, 1); n == 1 {
				_, err = f.WriteAt([]byte{one[0] ^ 1}, 1)
				done[name] = err == nil
			}
			_ = f.Close()
		}
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// files returns a function that replaces a worker's graph file by the usual or another file.
func (c *cluster) files(worker string, other bool) func() {
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.differed, c.differing = other, time.Now()
		if err := putFile(c.root(worker), other); err != nil {
			c.t.Error(err)
		}
	}
}

// putFile writes a graph file below root: a cycle with chords, or another graph with the same
// number of bytes.
func putFile(root string, other bool) error {
	var text bytes.Buffer
	for i := range 5000 {
		to := (i + 1) % 5000
		if other && i%9 == 0 {
			to ^= 1
		}
		fmt.Fprintf(&text, "%04d %04d\n%04d %04d\n", i, to, i, i*i%5000)
	}
	path := filepath.Join(root, fileName)
	if err := os.WriteFile(path+".new", text.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// cut returns a function that cuts connections and logs their number.
func (c *cluster) cut(p *proxy, refuse bool) func() {
	return func() { c.event("  %d connections are cut", p.cut(refuse)) }
}

func (p *process) freeze() { p.signal(syscall.SIGSTOP) }
func (p *process) thaw()   { p.signal(syscall.SIGCONT) }

// revive starts an ended process. A process that ended by itself must have printed a reason.
func (p *process) revive() {
	p.thaw()
	if p.running() && p.killed { // it was asked to leave
		select {
		case <-p.ended:
		case <-time.After(healTime):
			p.t.Errorf("%s has not left %v after SIGTERM: %s", p.name, healTime,
				last(p.said.String(), 5))
			p.stacks()
			p.kill()
		}
	}
	if p.running() {
		return
	}
	if !p.killed {
		why := last(p.said.String(), 1)
		p.event("%s ended by itself, %v: %s", p.name, p.cmd.ProcessState, why)
		if !strings.HasPrefix(why, "superstep: ") {
			p.t.Errorf("%s ended without a word, %v: %s", p.name, p.cmd.ProcessState,
				last(p.said.String(), 20))
		}
	}
	if strings.Contains(p.said.String(), "panic: ") ||
		strings.Contains(p.said.String(), "fatal error: ") {
		p.t.Errorf("%s crashed: %s", p.name, last(p.said.String(), 60))
	}
	p.start()
}

// round runs two streams of jobs during faults, one or two at a time. Afterwards the cluster is
// complete, and every job has its result.
func (c *cluster) round(random *rand.Rand, all []*job, total *tally, lethal bool) {
	c.asked = false
	stop, done := make(chan struct{}), make(chan outcome)
	var streams, counting sync.WaitGroup
	for i := range 2 {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		streams.Go(func() { c.stream(own, all, i+1, stop, done) })
	}
	counting.Go(func() {
		for o := range done {
			if total.add(o); o.bad != "" {
				c.t.Errorf("%s: %s", o.job.name, o.bad)
			}
		}
	})
	for range 5 {
		<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
		some := []fault{c.pick(random, lethal)}
		if random.IntN(4) == 0 {
			some = append(some, c.pick(random, lethal))
		}
		hold := time.Duration(0)
		var names []string
		for _, f := range some {
			hold = max(hold, f.hold)
			names = append(names, fmt.Sprintf("%s for %v", f.name, f.hold))
		}
		c.event("%s", strings.Join(names, "; "))
		for _, f := range some {
			c.faults++
			f.do()
		}
		<-time.After(hold)
		for _, f := range some {
			f.undo()
		}
	}
	c.heal()
	close(stop)
	streams.Wait()
	close(done)
	counting.Wait()
	c.heal() // restart processes that ended by themselves
	c.quiet(all, total)
}

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is a disturbance at a time, for a duration.
type fault struct {
	at, hold time.Duration
	name     string
	early    bool // may exist from the beginning
	do, undo func()
}

func (f *fault) String() string {
	if f.hold == 0 {
		return fmt.Sprintf("%s @%v", f.name, f.at.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s @%v for %v", f.name, f.at.Round(time.Millisecond), f.hold)
}

// holds are the durations of faults: shorter than a lease, several leases, and longer than clients
// wait for the master.
var holds = []time.Duration{50 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 4 * time.Second, 12 * time.Second, 75 * time.Second}

// jumps are the clock changes of restarted processes.
var jumps = []time.Duration{0, 0, time.Hour, -time.Hour, 10 * 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour}

// schedule chooses the faults of a seed. They begin within the time of a run without faults, or a
// little later.
func (c *cluster) schedule(random *rand.Rand, within time.Duration) (all []*fault) {
	for range 1 + random.IntN(4) {
		f := c.pick(random)
		f.at = time.Duration(random.Int64N(int64(within * 5 / 4)))
		if len(all) > 0 && random.IntN(3) == 0 { // while the job starts again
			f.at += time.Duration(random.Int64N(int64(4 * time.Second)))
		}
		if f.early && random.IntN(2) == 0 {
			f.at = 0
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b *fault) int { return int(a.at - b.at) })
	return all
}

// Numbers of kinds of faults: all, and those before faults of disks were added.
const (
	allKinds   = 28
	firstKinds = 21
)

// pick chooses a fault.
func (c *cluster) pick(random *rand.Rand) *fault {
	i := random.IntN(len(c.workers))
	w, other := fmt.Sprintf("w%d", i),
		fmt.Sprintf("w%d", (i+1+random.IntN(len(c.workers)-1))%len(c.workers))
	hold := holds[random.IntN(len(holds))]
	jump := jumps[random.IntN(len(jumps))]
	ofMaster := min(jump, time.Hour) // results are removed by age
	loud := random.IntN(3) > 0
	how := map[bool]string{true: "kill ", false: "lose "}[loud]
	ofFiles := 0
	if c.file != nil {
		ofFiles = 12
	}
	type of struct {
		weight int
		fault  func() *fault
	}
	kinds := []of{
		{6, func() *fault {
			return &fault{name: how + w, hold: hold, do: func() { c.kill(c.workers[i], loud) }, undo: func() { c.revive(i, jump) }}
		}},
		{4, func() *fault {
			return &fault{name: how + "master", hold: hold, do: func() { c.killMaster(loud) }, undo: func() { c.reviveMaster(ofMaster) }}
		}},
		{5, func() *fault { return c.killAt(random, i, hold, jump) }},
		{1, func() *fault {
			return &fault{name: "stop " + w, hold: hold, do: func() { c.workers[i].stop() }, undo: func() { c.revive(i, jump) }}
		}},
		{1, func() *fault {
			return &fault{name: "stop master", hold: hold, do: c.stopMaster, undo: func() { c.reviveMaster(ofMaster) }}
		}},
		{2, func() *fault { return c.cutting(hold, [2]string{w, "master"}, [2]string{"master", w}) }},
		{1, func() *fault { return c.cutting(hold, [2]string{w, "master"}) }},
		{1, func() *fault { return c.cutting(hold, [2]string{"master", w}) }},
		{2, func() *fault { return c.cutting(hold, [2]string{w, other}, [2]string{other, w}) }},
		{1, func() *fault { return c.cutting(hold, [2]string{w, other}) }},
		{1, func() *fault { return c.cutting(hold, [2]string{"client", "master"}, [2]string{"master", "client"}) }},
		{2, func() *fault {
			var ways [][2]string
			for _, name := range c.names() {
				if name != w {
					ways = append(ways, [2]string{w, name}, [2]string{name, w})
				}
			}
			f := c.cutting(hold, ways...)
			f.name = "freeze " + w
			return f
		}},
		{1, func() *fault { return c.breaking(w, "master") }},
		{1, func() *fault { return c.breaking(w, other) }},
		{1, func() *fault { return c.breaking("client", "master") }},
		{1, func() *fault { return c.breaking("master", "") }},
		{1, func() *fault {
			before := c.net.delay
			return &fault{name: "slow network", hold: hold, do: func() { c.net.pace(before * 8) }, undo: func() { c.net.pace(before) }}
		}},
		{1, func() *fault {
			return c.troubling("slow store", hold, func(t *trouble, on bool) { t.slow = map[bool]time.Duration{true: 7 * time.Second}[on] })
		}},
		{1, func() *fault { return c.troubling("full store", hold, func(t *trouble, on bool) { t.full = on }) }},
		{1, func() *fault { return c.troubling("store away", hold, func(t *trouble, on bool) { t.away = on }) }},
		{1, func() *fault { return c.troubling("lost answers", hold, func(t *trouble, on bool) { t.loses = on }) }},
		// Faults of disks were added when seeds were already recorded.
		{2, func() *fault { return c.damagingResults(hold, 1+random.IntN(1<<16)) }},
		{1, func() *fault { return c.damagingCheckpoints(hold, 1+random.IntN(1<<16)) }},
		{2, func() *fault { return c.filling(hold) }},
		{1, func() *fault {
			return c.troubling("full disk of "+w, hold, func(t *trouble, on bool) {
				if t.fullOf = ""; on {
					t.fullOf = w
				}
			})
		}},
		{2, func() *fault { return c.removing(hold) }},
		{1, func() *fault { return c.losing(hold, ofMaster) }},
		{ofFiles, func() *fault { return c.differing(w, hold) }},
	}
	kinds = kinds[:c.setting.kinds]
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	at := random.IntN(sum)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.fault()
		}
	}
	return nil
}

// names returns the names of all hosts.
func (c *cluster) names() []string {
	all := []string{"master", "client"}
	for i := range c.workers {
		all = append(all, fmt.Sprintf("w%d", i))
	}
	return all
}

func (c *cluster) cutting(hold time.Duration, ways ...[2]string) *fault {
	f := &fault{name: "cut", hold: hold}
	for _, w := range ways {
		f.name += fmt.Sprintf(" %s>%s", w[0], w[1])
	}
	f.do = func() {
		for _, w := range ways {
			c.net.cut(w[0], w[1])
		}
	}
	f.undo = func() {
		for _, w := range ways {
			c.net.mend(w[0], w[1])
		}
	}
	return f
}

func (c *cluster) breaking(name, other string) *fault {
	return &fault{name: fmt.Sprintf("break %s-%s", name, other), do: func() { c.net.breakAll(name, other) }, undo: func() {}}
}

func (c *cluster) troubling(name string, hold time.Duration, set func(t *trouble, on bool)) *fault {
	change := func(on bool) func() {
		return func() { c.objects.set(func(t *trouble) { set(t, on) }) }
	}
	return &fault{name: name, hold: hold, do: change(true), undo: change(false)}
}

// revive restarts a worker that is not running. reviveMaster restarts the master.
func (c *cluster) revive(i int, jump time.Duration) {
	if w := c.workers[i]; !w.running() {
		c.startWorker(i, w.clock+jump)
	}
}

func (c *cluster) reviveMaster(jump time.Duration) {
	if !c.master.running() {
		c.startMaster(c.master.clock + jump)
	}
}

// stopMaster asks the master to end, and waits a little for it.
func (c *cluster) stopMaster() {
	if !c.master.running() {
		return
	}
	c.master.stop()
	select {
	case <-c.master.ended:
		c.master.host.kill(true)
	case <-time.After(time.Minute):
		c.t.Error("the master does not stop within a minute")
	}
}

// disturb performs faults. It returns when all are over and all processes run again.
func (c *cluster) disturb(all []*fault) {
	type moment struct {
		at   time.Duration
		what string
		do   func()
	}
	var moments []moment
	for _, f := range all {
		moments = append(moments, moment{f.at, f.name, f.do},
			moment{f.at + f.hold, "end of " + f.name, f.undo})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return int(a.at - b.at) })
	began := time.Now()
	for _, m := range moments {
		<-time.After(m.at - time.Since(began))
		quiet()
		c.event("== %s", m.what)
		m.do()
	}
	c.heal()
}

// heal restarts ended processes.
func (c *cluster) heal() {
	c.reviveMaster(0)
	for i := range c.workers {
		c.revive(i, 0)
	}
}

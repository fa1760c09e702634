// Package simulation runs the real master, workers and client in virtual time (testing/synctest),
// with a network and a store in memory. A seed determines faults. A job must have the result of a
// run without faults, or fail with a known reason, within a limited time. Start with
// simulation_test.go.
package simulation

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	jobspec "github.com/superstep-go/superstep/internal/job"
	_ "github.com/superstep-go/superstep/internal/laxgc"
)

var (
	seeds = flag.Int("seeds", 2, "how many seeds to run")
	first = flag.Uint64("first", 1, "the first of them")
	show  = flag.Bool("show", false, "print what happened in each")
)

// Limits in virtual time, after which a job is considered to hang.
const (
	jobWithin = 15 * time.Minute
	// of a seed, in real time: some goroutine waits for something that virtual time does not bring
	realWithin = 2 * time.Minute
)

// causes are the allowed errors of failed jobs.
var causes = []struct {
	name string
	is   *regexp.Regexp
}{
	{"worker lost", regexp.MustCompile(`worker \S+ (was|is) lost|worker \S+ (left|restarted)`)},
	{"master lost", regexp.MustCompile(`^lost the master at `)},
	{"master unreachable", regexp.MustCompile(`^the master at \S+ (cannot be reached|closed the connection|did not answer|no longer answers)|^the server at \S+ closes connections without an answer`)},
	{"graph lost", regexp.MustCompile(`graph web: (worker \S+, which held a share of it|there is no connection between workers)|graph web (is|was) (not|lost)`)},
	{"damaged result", regexp.MustCompile(`the result of job \S+: .*it is damaged`)},
	{"no data", regexp.MustCompile(`the master (takes no job|loads no graph): data: `)},
	{"full disk", regexp.MustCompile(`(result|the master.s state cannot be written): .*no space left on device`)},
	{differingFiles, differs},
	// A job starts again on workers with another file than before.
	{ofAnotherFile, regexp.MustCompile(`the checkpoint before superstep \d+ is of another run|the checkpoint was made on another graph`)},
	{"no such job", regexp.MustCompile(`there is no job "`)},
	{"workers cut from each other", regexp.MustCompile(`worker \S+: .*(connection|worker) .*`)},
}

const (
	differingFiles = "differing files"
	ofAnotherFile  = "checkpoint of another file"
	onAnother      = "on another file"
)

var differs = regexp.MustCompile(`workers \S+ and \S+ see different files: `)

func cause(text string) string {
	for _, c := range causes {
		if c.is.MatchString(text) {
			return c.name
		}
	}
	return ""
}

func quiet() { synctest.Wait() }

// outcome is the outcome of a seed.
type outcome struct {
	seed     uint64
	setting  string
	faults   []*fault
	result   string // same, or the name of the error
	bad      string // a finding
	took     time.Duration
	attempts uint32
	journal  string
}

func (o *outcome) String() string {
	var faults []string
	for _, f := range o.faults {
		faults = append(faults, f.String())
	}
	text := fmt.Sprintf("seed %d: %s: %s: %s, %d attempts, %v", o.seed, o.setting,
		strings.Join(faults, "; "), o.result, o.attempts, o.took.Round(time.Millisecond))
	if o.bad != "" {
		text += ": BAD: " + o.bad
	}
	return text
}

// expectations are the times of settings without faults.
var expectations struct {
	mu   sync.Mutex
	took map[string]time.Duration
}

// setting describes a seed's job and cluster.
type setting struct {
	job     job
	workers int
	delay   time.Duration
	every   int    // supersteps between checkpoints; 0: by the cost
	catalog bool   // its graph is in the catalog
	grid    bool   // a 2x2 grid on four workers
	beside  [2]job // concurrent jobs; those without a program do not exist
	kept    bool   // the master stores the checkpoints
	kinds   int    // number of possible kinds of faults
}

func (s setting) String() string {
	text := fmt.Sprintf("%v on %d workers, delay %v, checkpoints every %d, catalog %t, grid %t",
		s.job, s.workers, s.delay, s.every, s.catalog, s.grid)
	for _, other := range s.others() {
		text += ", beside " + other.String()
	}
	if s.job.ofFile() {
		text += ", of a file"
	}
	if s.kept {
		text += ", checkpoints at the master"
	}
	return text
}

func (s setting) others() []job {
	return slices.DeleteFunc(slices.Clone(s.beside[:]), func(j job) bool { return j.program == "" })
}

func settingOf(random *rand.Rand, kinds int) setting {
	s := setting{
		kinds: kinds,
		job:   jobs[random.IntN(len(jobs))], workers: 2 + random.IntN(3), every: random.IntN(5),
		delay:   []time.Duration{200 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}[random.IntN(3)],
		catalog: random.IntN(4) == 0,
	}
	s.grid = s.workers == 4 && random.IntN(2) == 0
	if random.IntN(4) == 0 {
		for i := range 1 + random.IntN(2) {
			s.beside[i] = jobs[random.IntN(len(jobs))]
		}
	}
	if kinds > firstKinds {
		if s.kept = random.IntN(4) == 0; random.IntN(3) == 0 {
			s.job = s.job.inFile()
		}
	}
	return s
}

// spec returns the description of the job.
func (s setting) spec() *jobspec.Spec {
	spec := s.job.spec()
	switch {
	case s.catalog:
		spec.Graph, spec.Source = catalogued, nil
	case s.grid:
		spec.Rows, spec.Columns = 2, 2
	}
	return spec
}

// catalogued is the name of the catalog's graph.
const catalogued = "web"

// load loads a setting's graph into the catalog if the setting uses one.
func (c *cluster) load(s setting) error {
	if !s.catalog {
		return nil
	}
	source := s.job.spec().Source
	if s.job.program == "sssp" {
		source.Weights = "float64"
	}
	r := &control.LoadGraphRequest{Name: catalogued, SourceJson: jobspec.Text(source)}
	if s.grid {
		r.Rows, r.Columns = 2, 2
	}
	_, err := c.client.Cluster().LoadGraph(context.Background(), r)
	return err
}

// loadAgain loads the graph again if it was lost with the master's disk, its files differed, or all
// its workers loaded another file.
func (c *cluster) loadAgain(s setting, another bool) {
	name := &control.InspectGraphRequest{Name: catalogued}
	g, err := c.client.Cluster().InspectGraph(context.Background(), name)
	failed := err == nil && (another || differs.MatchString(g.Reason))
	if !failed && (err == nil || !c.lost) {
		return
	}
	if failed {
		_, err = c.client.Cluster().DropGraph(context.Background(),
			&control.DropGraphRequest{Name: catalogued})
	}
	c.event("the graph is loaded again: %v, %v", err, c.load(s))
}

// usual returns a setting's result and virtual time without faults.
func usual(t *testing.T, s setting) (map[uint64]string, time.Duration) {
	expectations.mu.Lock()
	defer expectations.mu.Unlock()
	if expectations.took == nil {
		expectations.took = map[string]time.Duration{}
	}
	want, key := s.job.result(t), s.String()
	if expectations.took[key] == 0 {
		o := simulate(t, 0, s, want, 0)
		if o.bad != "" || o.result != same {
			t.Fatalf("without faults: %v\n%s", o, o.journal)
		}
		expectations.took[key] = o.took
	}
	return want, expectations.took[key]
}

const same = "same"

// simulate runs a job in a setting with the faults of a seed. If within is 0, there are no faults.
func simulate(
	t *testing.T, seed uint64, s setting, want map[uint64]string, within time.Duration,
) *outcome {
	return disturbed(t, seed, s, want, func(c *cluster) []*fault {
		if within == 0 {
			return nil
		}
		return c.schedule(rand.New(rand.NewPCG(seed, 2)), within)
	})
}

// disturbed runs a job in a setting with faults.
func disturbed(
	t *testing.T, seed uint64, s setting, want map[uint64]string,
	faultsOf func(c *cluster) []*fault,
) *outcome {
	o := &outcome{seed: seed, setting: s.String()}
	stuck := time.AfterFunc(realWithin, func() {
		buf := make([]byte, 16<<20)
		fmt.Fprintf(os.Stderr, "seed %d (%s) has not ended after %v:\n%s\n", seed, s, realWithin,
			buf[:runtime.Stack(buf, true)])
		os.Exit(3)
	})
	defer stuck.Stop()
	dir, err := os.MkdirTemp(memoryDir(), "simulation")
	check(t, err)
	defer os.RemoveAll(dir)
	disk := &disk{dir: filepath.Join(dir, "disk")}
	check(t, os.Mkdir(disk.dir, 0o700))
	unmount, mounted := mountSmall(disk.dir)
	defer unmount()
	disk.mounted = mounted
	if s.job.ofFile() {
		s.job.other().result(t)
	}
	others := s.others()
	for _, other := range others {
		other.result(t)
	}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newCluster(t, random, disk, s)
		defer faults.Set(c.points.at)()
		defer func() {
			c.close()
			o.journal = c.journal.text.String()
			if t.Failed() && o.bad == "" {
				o.bad = "see above"
			}
		}()
		<-time.After(time.Second) // all workers are registered
		if err := c.load(s); err != nil {
			o.bad = fmt.Sprintf("the graph: %v", err)
			return
		}
		began := time.Now()
		disturbed := make(chan struct{})
		o.faults = faultsOf(c)
		go func() {
			defer close(disturbed)
			c.disturb(o.faults)
		}()
		ctx, cancel := context.WithTimeoutCause(context.Background(), jobWithin, errHangs)
		defer cancel()
		defer context.AfterFunc(ctx, func() {
			if ctx.Err() == context.DeadlineExceeded {
				c.stacks()
			}
		})()
		beside := make([]outcome, len(others))
		var running sync.WaitGroup
		for i, other := range others {
			running.Go(func() {
				text, end, err := c.run(ctx, other.spec())
				beside[i].judge(ctx, text, end, err, other.result(t))
			})
		}
		text, end, err := c.run(ctx, s.spec())
		running.Wait()
		o.took, o.attempts = time.Since(began), end.GetEpoch()
		another := false
		if len(end.GetWorkers()) == 1 && seesAnother(o.faults, end.Workers[0]) &&
			compare(text, want) != "" {
			another, want = true, s.job.other().result(t) // only this worker has read its file
		}
		o.judge(ctx, text, end, err, want)
		for i, b := range beside {
			if b.bad != "" || b.result != same && len(o.faults) == 0 {
				o.bad = fmt.Sprintf("beside it %v: %s: %s", others[i], b.result, b.bad)
			}
		}
		<-disturbed
		if o.bad != "" || len(o.faults) == 0 {
			return
		}
		<-time.After(3 * time.Second) // lost workers are known
		c.heal()
		if want = s.job.result(t); s.catalog {
			c.loadAgain(s, another || o.result == onAnother)
		}
		if text, end, err := c.run(ctx, s.spec()); err != nil ||
			end.State != control.JobState_JOB_STATE_DONE {
			o.bad = fmt.Sprintf("the next job, without faults: %v, %s: %s", err,
				end.GetState().Word(), end.GetReason())
		} else if wrong := compare(text, want); wrong != "" {
			o.bad = "the next job: " + wrong
		}
	})
	return o
}

var errHangs = fmt.Errorf("it has not ended within %v", jobWithin)

// judge determines the outcome of a job.
func (o *outcome) judge(
	ctx context.Context, text string, end *control.Job, err error, want map[uint64]string,
) {
	reason := end.GetReason()
	switch {
	case ctx.Err() != nil:
		o.bad = errHangs.Error()
		return
	case err != nil:
		reason = err.Error()
	case end.State == control.JobState_JOB_STATE_DONE:
		o.result = same
		switch wrong := compare(text, want); {
		case wrong != "" && allSeeAnother(o.faults, end.Workers):
			o.result = onAnother // all its workers saw the other file
		case wrong != "":
			o.result, o.bad = "wrong", wrong
		}
		return
	}
	switch o.result = cause(reason); {
	case o.result == "":
		o.result, o.bad = "failed", "without a cause that has a name: "+reason
	case o.result == differingFiles && !seesAnother(o.faults, reason),
		o.result == ofAnotherFile && !seesAnother(o.faults, strings.Join(end.GetWorkers(), " ")):
		o.bad = "all see the same file: " + reason
	}
}

// memoryDir returns a directory in memory if there is one, because masters sync each change to
// disk.
func memoryDir() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return ""
}

// keptSeed is a seed that once failed, with the number of kinds of faults at that time.
type keptSeed struct {
	seed  uint64
	kinds int
}

// kept returns the seeds that once failed.
func kept(t *testing.T) (all []keptSeed) {
	f, err := os.Open("testdata/seeds")
	check(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var k keptSeed
		_, err := fmt.Sscan(lines.Text(), &k.seed, &k.kinds)
		check(t, err)
		all = append(all, k)
	}
	return all
}

// TestSimulation runs the seeds that once failed, and the number of seeds given by -seeds.
func TestSimulation(t *testing.T) {
	all := kept(t)
	for i := range *seeds {
		all = append(all, keptSeed{*first + uint64(i), allKinds})
	}
	results, began := map[string]int{}, time.Now()
	for _, k := range all {
		seed := k.seed
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := settingOf(rand.New(rand.NewPCG(seed, 0)), k.kinds)
			want, within := usual(t, s)
			o := simulate(t, seed, s, want, within)
			results[o.result]++
			t.Log(o)
			if o.bad != "" {
				results["bad"]++
				t.Errorf("%v\nagain: go test ./test/simulation -run TestSimulation -first %d -seeds 1 -show -v", o, seed)
			}
			if *show || o.bad != "" {
				t.Log(o.journal)
			}
		})
	}
	t.Logf("%d seeds in %v: %v", len(all), time.Since(began).Round(time.Millisecond), results)
}

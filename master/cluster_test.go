package master

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
)

var update = flag.Bool("update", false, "write what the state machine answers into the scripts")

// TestClusterScripts simulates workers, clients and the clock. Each script is a scenario for the
// state machine of the cluster. Lines that begin with ">" are its answers and effects.
//
//	begin [lease=2.5s] [grace=25s] [hold=1m] [keep=2m] [running=1] [retries=0] [queue=10] [ended=10] [programs=NAME/FINGERPRINT,...] [quota=[OWNER:]queued=N,running=N,time=TIME]...
//	at TIME                                   sets the clock, and ticks
//	cut | mended NAME NAME                    two workers cannot reach each other, or can again
//	unheard TIME                              the master was paused for this time
//	register NAME [instance=] [incarnation=] [protocol=] [programs=] [limit=MIB] [arrays=MIB]
//	memory NAME INCARNATION limit=MIB arrays=MIB   a worker reports its memory
//	                                          (a process that exited with "not enough memory" is starved)
//	heard | holds | detach NAME INCARNATION, heard NAME INCARNATION stalled=TIME, exited NAME INCARNATION reason, leave NAME INCARNATION [reason], suspect NAME
//	attach NAME INCARNATION [GRAPH=MASTER/NUMBER:WORKER/INCARNATION,...]
//	                                          one word for each offered share: the graph, the load
//	                                          that created it, and the worker of each partition
//	load GRAPH [grid=RxC] [input=TEXT], loaded GRAPH [error], drop GRAPH
//	slow JOB NAME busy= all= unit= [ran=] [limit=] [load=] [checkpoint=]
//	                                          a worker was slow in 8 supersteps of the job
//	submit PROGRAM GRAPH|input:TEXT [key=] [grid=RxC] [checkpoints=PLACE] [confirm=0s] [owner=] [priority=low|normal|high], confirm JOB, driven | running | writing JOB, moved JOB reason, ended JOB [after=SUPERSTEPS] [error], cancel JOB [reason]
//	show                                      prints the state
func TestClusterScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/cluster/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("found\n%s\nexpected\n%s", got, text)
			}
		})
	}
}

// script is a cluster driven by a script.
type script struct {
	t   *testing.T
	c   *cluster
	now time.Duration
	out strings.Builder
}

func play(t *testing.T, text string) string {
	t.Helper()
	s := &script{t: t}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ">") {
			continue
		}
		s.out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "begin" {
			s.begin(words[1:])
			continue
		}
		err := s.do(words[0], words[1:])
		for _, e := range s.c.take() {
			s.answer("%v", e)
		}
		if err != nil {
			s.answer("refused: %v", err)
		}
	}
	return s.out.String()
}

func (s *script) answer(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	text = strings.NewReplacer("not_found: ", "", "invalid_argument: ", "", "already_exists: ", "",
		"failed_precondition: ", "", "resource_exhausted: ", "").Replace(text)
	fmt.Fprintf(&s.out, "> %s\n", text)
}

func (s *script) begin(words []string) {
	v := values(words)
	s.c = newCluster(rules{
		lease: s.duration(v, "lease", "2.5s"), grace: s.duration(v, "grace", "25s"),
		hold: s.duration(v, "hold", "1m"), keep: s.duration(v, "keep", "2m"),
		left:    s.duration(v, "left", "1m"),
		running: s.number(v, "running", 1), retries: s.number(v, "retries", 0),
		queue: s.number(v, "queue", 10), ended: s.number(v, "ended", 10),
		jobPrefix: "j", master: "m", programs: programs(v["programs"]), quotas: s.quotas(words),
	})
	s.now = 0
}

func (s *script) do(verb string, words []string) error {
	c, now := s.c, s.now
	rest := func(i int) string { return strings.Join(words[min(i, len(words)):], " ") }
	switch verb {
	case "at":
		d, err := time.ParseDuration(words[0])
		if err != nil || d < s.now {
			s.t.Fatalf("at %s: %v", words[0], err)
		}
		s.now = d
		c.tick(d)
	case "cut":
		c.cut(now, words[0], words[1])
	case "mended":
		c.mended(now, words[0], words[1])
	case "unheard":
		d, err := time.ParseDuration(words[0])
		if err != nil {
			s.t.Fatalf("unheard %s: %v", words[0], err)
		}
		c.unheard(d)
	case "register":
		v := values(words[1:])
		incarnation, err := c.register(now, &control.RegisterRequest{
			Name: words[0], Instance: v["instance"],
			Incarnation: uint64(s.number(v, "incarnation", 0)),
			Protocol:    uint32(s.number(v, "protocol", control.Protocol)), Version: "v1",
			DataAddress: words[0] + ":1", Programs: programs(v["programs"]),
			Budget: s.budget(v),
		})
		if err == nil {
			s.answer("incarnation %d", incarnation)
		}
		var r *control.RefusedError
		if errors.As(err, &r) {
			s.answer("%s", strings.ToLower(strings.TrimPrefix(r.Kind.String(), "KIND_")))
		}
		return err
	case "attach":
		return c.attach(now, words[0], s.incarnation(words), s.offers(words[2:]))
	case "heard":
		known := c.heard(now, words[0], s.incarnation(words))
		if !known {
			s.answer("not one of ours")
		}
		if stalled, said := values(words)["stalled"]; said && known {
			d, err := time.ParseDuration(stalled)
			if err != nil {
				s.t.Fatalf("heard %q: %v", words, err)
			}
			c.beat(now, c.workers[words[0]],
				&control.Heartbeat{StalledMilliseconds: uint32(d.Milliseconds())})
		}
	case "memory":
		c.heard(now, words[0], s.incarnation(words))
		c.beat(now, c.workers[words[0]], &control.Heartbeat{Budget: s.budget(values(words))})
	case "holds":
		jobs, graphs := c.held(words[0], s.incarnation(words))
		s.answer("jobs %q, graphs %q", jobs, graphs)
	case "detach":
		c.detach(now, words[0], s.incarnation(words))
	case "leave":
		c.leave(now, words[0], s.incarnation(words), rest(2))
	case "suspect":
		c.suspect(now, words[0])
	case "load":
		var rows, columns uint32
		_, _ = fmt.Sscanf(values(words)["grid"], "%dx%d", &rows, &columns)
		return c.loadGraph("", words[0], &jobspec.Source{Input: cmp.Or(values(words)["input"],
			"file"), Weights: "none"}, rows, columns)
	case "loaded":
		c.graphLoaded(now, c.graphs[words[0]], &control.LoadReport{Vertices: 10, Edges: 20},
			failure(rest(1)))
	case "drop":
		_, err := c.dropGraph(words[0])
		return err
	case "submit":
		spec := &jobspec.Spec{Program: words[0], Graph: words[1]}
		if input, ok := strings.CutPrefix(words[1], "input:"); ok {
			spec.Graph, spec.Source = "", &jobspec.Source{Input: input}
		}
		if words[0] == control.NetbenchProgram {
			spec.Source, spec.Netbench = nil, &jobspec.Netbench{}
		}
		_, _ = fmt.Sscanf(values(words)["grid"], "%dx%d", &spec.Rows, &spec.Columns)
		spec.Checkpoints, spec.GoOn = values(words)["checkpoints"], values(words)["from"]
		spec.Priority = values(words)["priority"]
		j, _, err := c.submit(now, values(words)["owner"], spec, values(words)["key"],
			s.duration(values(words), "confirm", "0s"))
		if values(words)["key"] != "" && err == nil {
			s.answer("job %s", j.id)
		}
		return err
	case "confirm":
		_, err := c.confirm(now, words[0])
		return err
	case "running":
		c.advance(words[0], c.jobs[words[0]].epoch, control.JobState_JOB_STATE_RUNNING)
	case "driven":
		c.drives(now, words[0], c.jobs[words[0]].epoch)
	case "slow":
		v := values(words)
		c.straggles(words[0], c.jobs[words[0]].epoch, &streak{
			worker: words[1], steps: 8, seconds: 12, busy: 8 * s.real(v, "busy"),
			expected: 2 * s.real(v, "busy"), all: 8 * s.real(v, "all"),
			units: 12 / s.real(v, "unit"),
		}, plan{ran: s.number(v, "ran", 0), limit: s.number(v, "limit", 0), load: s.real(v,
			"load"), checkpoint: s.real(v, "checkpoint")})
	case "moved":
		c.runEnded(now, words[0], c.jobs[words[0]].epoch, &movedError{rest(1)})
	case "writing":
		c.advance(words[0], c.jobs[words[0]].epoch, control.JobState_JOB_STATE_WRITING)
	case "ended":
		v := values(words)
		words = slices.DeleteFunc(words,
			func(w string) bool { return strings.HasPrefix(w, "after=") })
		j := c.jobs[words[0]]
		j.figures.Supersteps = uint32(s.number(v, "after", 0))
		c.runEnded(now, words[0], j.epoch, failure(rest(1)))
	case "cancel":
		_, err := c.cancel(now, words[0], rest(1))
		return err
	case "exited":
		incarnation, err := strconv.ParseUint(words[1], 10, 64)
		if err != nil {
			s.t.Fatalf("exited %v: %v", words, err)
		}
		c.exited(now, words[0], incarnation, rest(2),
			strings.Contains(rest(2), "not enough memory"))
	case "show":
		s.show()
	default:
		s.t.Fatalf("no verb %q", verb)
	}
	return nil
}

func (s *script) offers(words []string) (all []*control.Offer) {
	for _, word := range words {
		graph, rest, _ := strings.Cut(word, "=")
		load, placements, _ := strings.Cut(rest, ":")
		master, number, _ := strings.Cut(load, "/")
		l := &control.Load{Graph: graph, SourceJson: jobspec.Text(&jobspec.Source{Input: "file"}), Columns: 1, Master: master}
		l.Number, _ = strconv.ParseUint(number, 10, 64)
		for i, p := range strings.FieldsFunc(placements, func(r rune) bool { return r == ',' }) {
			name, incarnation, _ := strings.Cut(p, "/")
			l.Rows = uint32(i + 1)
			l.Placements = append(l.Placements,
				&control.Placement{Partition: uint32(i), Worker: name})
			l.Placements[i].Incarnation, _ = strconv.ParseUint(incarnation, 10, 64)
		}
		all = append(all,
			&control.Offer{Load: l, Report: &control.LoadReport{Vertices: 10, Edges: 20, Bytes: 100}})
	}
	return all
}

func (s *script) show() {
	for _, name := range slices.Sorted(maps.Keys(s.c.workers)) {
		w := s.c.workers[name]
		s.answer("worker %s incarnation %d %s attached=%v %s", name, w.incarnation, w.state.Word(),
			w.attached, cmp.Or(w.reason, w.excluded))
	}
	for _, name := range slices.Sorted(maps.Keys(s.c.graphs)) {
		g := s.c.graphs[name]
		s.answer("graph %s %s %dx%d on %v %s", name, g.state.Word(), g.rows, g.columns,
			workersOf(g.placements),
			g.reason)
	}
	for _, j := range s.c.order {
		s.answer("job %s %s %s", j.id, j.state.Detail(), j.reason)
	}
}

func failure(text string) error {
	if text == "" {
		return nil
	}
	if before, ok := strings.CutSuffix(text, errSessionBroke.Error()); ok {
		return fmt.Errorf("%s%w", before, errSessionBroke)
	}
	return errors.New(text)
}

func values(words []string) map[string]string {
	v := map[string]string{}
	for _, w := range words {
		if key, value, ok := strings.Cut(w, "="); ok {
			v[key] = value
		}
	}
	return v
}

func programs(list string) []*control.Program {
	var all []*control.Program
	for _, p := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' }) {
		name, print, _ := strings.Cut(p, "/")
		all = append(all, &control.Program{Name: name, Fingerprint: print})
	}
	return all
}

func (s *script) incarnation(words []string) uint64 {
	n, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) quotas(words []string) quotas {
	all := quotas{}
	for _, w := range words {
		text, ok := strings.CutPrefix(w, "quota=")
		if !ok {
			continue
		}
		owner := ""
		if before, rest, ok := strings.Cut(text, ":"); ok {
			owner, text = before, rest
		}
		v := values(strings.Split(text, ","))
		all[owner] = Quota{Queued: s.number(v, "queued", 0), Running: s.number(v, "running",
			0), Time: s.duration(v, "time", "0s")}
	}
	return all
}

func (s *script) number(v map[string]string, key string, otherwise int) int {
	if v[key] == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v[key])
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) real(v map[string]string, key string) float64 {
	if v[key] == "" {
		return 0
	}
	x, err := strconv.ParseFloat(v[key], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// budget returns a worker's memory budget with a limit in MiB, of which arrays use some. Half of
// the limit is available for files.
func (s *script) budget(v map[string]string) *control.Budget {
	limit, arrays := uint64(s.number(v, "limit", 0))<<20, uint64(s.number(v, "arrays", 0))<<20
	if limit == 0 {
		return nil
	}
	use := mem.Use{
		Limit: int64(limit), Memory: int64(arrays),
		Kinds: []mem.Held{{Kind: mem.Graph, Memory: int64(arrays)}},
	}
	return &control.Budget{
		Limit: limit, Arrays: arrays, Free: limit - arrays, Room: limit + limit/2 - arrays,
		Files: limit / 2, Use: use.String(),
	}
}

func (s *script) duration(v map[string]string, key, otherwise string) time.Duration {
	text := v[key]
	if text == "" {
		text = otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

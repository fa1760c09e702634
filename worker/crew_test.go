package worker

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/record"
)

// TestReportsThatCannotBe: a report ends the run with an error that names the worker if its
// partition does not belong to the worker, does not exist, or has already reported, or if the
// aggregators cannot be decoded.
func TestReportsThatCannotBe(t *testing.T) {
	grid := graph.Of(2)
	facts := &bsp.Facts{Partitions: 2, Load: delivery.Load{Partitions: 2, Grid: grid, Vertices: 4}}
	driver, err := bsp.New(&bsp.Program{Name: "p"}, bsp.Options{}, []*bsp.Facts{facts})
	if err != nil {
		t.Fatal(err)
	}
	made := func() *job {
		return &job{
			driver: driver, reports: make([]*bsp.Report, 2), cells: make([][]kernel.Cell, 2),
			layout: mesh.Layout{Workers: []mesh.Peer{{Name: "a"}, {Name: "b"}}, Owner: []int{0, 1}},
		}
	}
	of := func(partitions ...int) *superstepReport {
		var reports []*bsp.Report
		for _, p := range partitions {
			reports = append(reports,
				&bsp.Report{Partition: record.Partition{Partition: p}, Account: &transport.Account{}})
		}
		sent, err := reportOf(0, reports, bsp.Aggregates{})
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
	more, fewer, none := of(1), of(1), of(1)
	more.Aggregates[0], fewer.Aggregates, none.Reports[0] = []byte("x"), nil, nil
	for want, sent := range map[string]*superstepReport{
		"":                                     of(1),
		"reported partition 1 twice":           of(1, 1),
		"or does not have it":                  of(0),
		"reported partition 2":                 of(2),
		"reported partition -1":                of(-1),
		"the aggregators of 0":                 fewer,
		"the report of a partition is missing": none,
		"after the last aggregator":            more,
	} {
		c := made()
		err := c.take(1, sent)
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}

// says is a link that receives the same message again and again, or an error.
type says struct {
	collective.Link
	data []byte
	err  error
}

func (s *says) Rank() int { return 1 }
func (s *says) Size() int { return 2 }

func (s *says) Receive(context.Context, int, uint32) ([]byte, error) { return s.data, s.err }

// TestStepsThatCannotBe: messages that cannot be decoded, and steps that order nothing, end the run
// with an error. An error of the link remains as it is.
func TestStepsThatCannotBe(t *testing.T) {
	lost := errors.New("lost")
	for _, to := range []any{&superstepReport{}, &step{}} {
		err := decode(&says{}, 1, []byte{0xdd, 1, 2}, to)
		want := "a message of the job's worker 1"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%T: found %v, expected %q", to, err, want)
		}
	}
	follow := func(link *says) error {
		group, err := collective.NewGroup(link, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return (&job{link: link, attempt: &attempt{group: group}}).follow(t.Context())
	}
	if err := follow(&says{err: lost}); !errors.Is(err, lost) {
		t.Errorf("found %v, expected %v", err, lost)
	}
	for _, data := range [][]byte{{0xdd, 1, 2}, {0xc0}, {0x90}, {0x80}} {
		if err := follow(&says{data: data}); err == nil {
			t.Errorf("%x: found the end of the run, expected an error", data)
		}
	}
}

// TestDriveWithoutAgreement: facts of another graph, or no facts, end the run before its first
// superstep. This is a failure of the run, not of a worker.
func TestDriveWithoutAgreement(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	job := h.task("job", 1)
	h.must(h.load(t.Context(), "graph"))
	if err := h.run(t.Context(), job, "none", 1); err == nil ||
		!strings.Contains(err.Error(), "no graph none") {
		t.Errorf("a graph that is not there: %v", err)
	}
	h.must(h.run(t.Context(), job, "graph", 1))
	a, ran, err := h.job(job)
	h.must(err)
	defer a.Release()
	good := ran.facts
	for want, facts := range map[string][]*bsp.Facts{
		"a worker has a graph of 3 partitions, the job one of 1": {{Partitions: 3}},
		"no process has partitions of the graph":                 nil,
	} {
		ran.driver, ran.facts = nil, facts
		a.run = newRun(job)
		err := ran.drive(bsp.Outcome{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		} else if f := (&queue{session: &session{worker: &worker{}}}).failure(err); !f.Run ||
			f.Lost != "" {
			t.Errorf("%v: found %v, expected a failure of the run", err, f)
		}
	}
	wrong := &step{Superstep: &bsp.Command{Scheme: 99}}
	if _, err := ran.superstep(t.Context(), wrong); err == nil ||
		!strings.Contains(err.Error(), "scheme 99") {
		t.Errorf("a scheme that does not exist: %v", err)
	}
	ran.facts = good
	h.must(ran.restart())
	a.run = newRun(job)
	h.must(ran.drive(bsp.Outcome{}))
	h.check(job, 1)
}

// TestNewsOfARun: the master receives each superstep once, in order, and the result last.
func TestNewsOfARun(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	job := h.task("job", 1)
	h.must(h.load(t.Context(), "graph"))
	seen := 0
	observed := 0
	job.observe = func(float64, []*bsp.Report) { observed++ }
	last, err := h.tells(t.Context(), job, "graph", 1, func(r *control.Report) error {
		for _, data := range r.GetDrive().GetRecords() {
			record, err := control.DecodeRecord(data)
			h.must(err)
			if record.Superstep != seen || len(record.Partitions) != 1 ||
				record.Partitions[0].Worker != "x" {
				t.Errorf("found %v", record)
			}
			seen++
		}
		return nil
	})
	h.must(err)
	if o := last.Outcome; seen != 1 || observed != 1 || o.GetSupersteps() != 1 ||
		o.GetEnded() != "limit" || last.End.Seconds <= 0 {
		t.Errorf("found %d records, %d observed, %v", seen, observed, last)
	}
}

// TestReportsTellEverything: a report of another worker's partition arrives in the driver
// completely.
func TestReportsTellEverything(t *testing.T) {
	reached := 3
	want := &bsp.Report{
		Partition: record.Partition{
			Partition: 1, Worker: "b", Computed: 2, Delivered: 3,
			Times: record.Seconds{Compute: 1, Total: 2},
			Peers: []record.Peer{{Partition: 0, Exchange: "fold", Encoding: "all", Messages: 4, Bytes: 5}}, GCPause: .5,
		},
		Counts: bsp.Counts{
			Senders: 6, SenderEdges: 7, Sends: 8, Active: 9, Unfinished: 10, UnfinishedEdges: 11,
			BackSenders: 12, BackEdges: 13,
		},
		PullEdges: 14, PushEdges: 15, Aside: .25, Created: 16,
		Summary: &trace.Summary{TopBy: "x", Reached: &reached},
		Account: &transport.Account{Partition: 1, Superstep: 4, Peers: []transport.PeerAccount{{Partition: 0, Sent: transport.Tally{Frames: 1, Values: 2, Bytes: 3}}}},
		Changed: &bsp.Changed{IDs: 17, Load: delivery.Load{Grid: graph.Of(2), Classes: [33]int{1}}, Ways: []delivery.Load{{Arcs: 1}}},
		Stored:  []checkpoint.Stored{{Superstep: 3, Partition: 1, Name: "part", Failed: "why"}},
	}
	report, err := reportOf(4, []*bsp.Report{want}, bsp.Aggregates{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := pack.Value(report)
	sent := &superstepReport{}
	if err = errors.Join(err, pack.IntoValue(data, sent)); err != nil {
		t.Fatal(err)
	}
	facts := &bsp.Facts{Partitions: 2, Load: delivery.Load{Partitions: 2, Grid: graph.Of(2), Vertices: 4}}
	driver, err := bsp.New(&bsp.Program{Name: "p"}, bsp.Options{}, []*bsp.Facts{facts})
	if err != nil {
		t.Fatal(err)
	}
	c := &job{
		driver: driver, reports: make([]*bsp.Report, 2), cells: make([][]kernel.Cell, 2),
		layout: mesh.Layout{Workers: []mesh.Peer{{Name: "a"}, {Name: "b"}}, Owner: []int{0, 1}},
	}
	if err := c.take(1, sent); err != nil || !reflect.DeepEqual(c.reports[1], want) {
		t.Errorf("found %+v, %v, expected %+v", c.reports[1], err, want)
	}
}

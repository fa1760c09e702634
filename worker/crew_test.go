package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// TestReportsThatCannotBe: a report of a partition that its worker does not have, that does not exist or has come, or that cannot be read,
// ends the run, and the error says whose it is.
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
	for want, reports := range map[string][]*control.PartitionReport{
		"":                           {{Partition: 1}},
		"worker b reported it twice": {{Partition: 1}, {Partition: 1}},
		"or does not have it":        {{Partition: 0}},
		"worker b reported":          {{Partition: 2}},
		"the changed graph":          {{Partition: 1, Changed: []byte("{")}},
		"tells of its values":        {{Partition: 1, Summary: []byte("{")}},
		"more than the aggregators":  {{Partition: 1, Aggregates: []byte("x")}},
	} {
		c, err := made(), error(nil)
		for _, r := range reports {
			err = c.take(1, r, 0)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}

// TestDriveWithoutAgreement: facts that are of another graph, or none, end the run before its first superstep; it is the run's fault.
func TestDriveWithoutAgreement(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	job := h.task("job", 1)
	h.must(h.load(t.Context(), "graph"))
	h.must(h.prepare(t.Context(), job, "graph", 1))
	good := h.facts
	for want, facts := range map[string][][]byte{
		"facts: unexpected end of JSON input":                    {[]byte("{")},
		"a worker has a graph of 3 partitions, the job one of 1": {[]byte(`{"Partitions":3}`)},
		"no process has partitions of the graph":                 nil,
	} {
		_, err := h.drive(t.Context(), job, &control.Drive{Facts: facts}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		} else if f := (&queue{session: &session{Worker: &Worker{}}}).failure(err); !f.Run || f.Lost != "" {
			t.Errorf("%v: found %v, expected a failure of the run", err, f)
		}
	}
	h.facts = good
	h.must(h.superstep(t.Context(), job))
	h.check(job, 1)
}

// TestNewsOfARun: the master hears of every superstep once, in order, and of what the run ended with last.
func TestNewsOfARun(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	job := h.task("job", 1)
	h.must(h.load(t.Context(), "graph"))
	h.must(h.prepare(t.Context(), job, "graph", 1))
	seen := 0
	observed := 0
	job.observe = func(time.Duration, []*bsp.Report) { observed++ }
	last, err := h.drive(t.Context(), job, &control.Drive{Facts: h.facts}, func(r *control.Report) error {
		for _, record := range r.GetDrive().GetRecords() {
			if int(record.Superstep) != seen || len(record.Partitions) != 1 || record.Partitions[0].Worker != "x" {
				t.Errorf("found %v", record)
			}
			seen++
		}
		return nil
	})
	h.must(err)
	if o := last.Outcome; seen != 1 || observed != 1 || o.GetSupersteps() != 1 || o.GetEnded() != "limit" || last.End.GetOwn().GetSupersteps() != 1 || last.End.Seconds <= 0 {
		t.Errorf("found %d records, %d observed, %v", seen, observed, last)
	}
}

package bsp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

var update = flag.Bool("update", false, "write what the coordinator answers into the scripts")

// TestCoordinatorScripts simulates the partitions. Each script is a run. Lines that begin with ">"
// are the coordinator's output.
//
//	begin key=value ...            vertices, limit, force, and halt or stop: the superstep before
//	                               which Coordinate does so
//	report key=value ... [| ...]   a superstep's reports, one for each partition
func TestCoordinatorScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/coordinator/*.txt")
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

func play(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	var c *coordinator
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line)
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "begin":
			v := fields(t, rest)
			c = &coordinator{
				view: new(pregel.Coordinator), asleep: trace.Halted, limit: v["limit"],
				size:   size{vertices: uint64(v["vertices"])},
				loads:  []delivery.Load{{Vertices: v["vertices"], Arcs: v["arcs"], Partitions: max(v["partitions"], 1), Grid: graph.Of(max(v["partitions"], 1)), Threads: 1}},
				policy: delivery.Policy{Rates: delivery.Rates{Row: 1e-9, Probe: 1e-9, EdgeFew: 1e-9, Edge: 1e-9, EdgePresent: 1e-9, EdgeAll: 1e-9, Push: 4e-9}},
			}
			c.load = &c.loads[0]
			if at, ok := v["halt"]; ok {
				c.program = endsAt{at, (*pregel.Coordinator).Halt}
			} else if at, ok := v["stop"]; ok {
				c.program = endsAt{at, (*pregel.Coordinator).Stop}
			} else if at, ok := v["iterations"]; ok {
				c.program = endsAt{at, (*pregel.Coordinator).HaltAtIterations}
			}
			command, outcome := c.begin()
			answer(&out, c, command, outcome)
		case "report":
			var reports []*Report
			for i, part := range strings.Split(rest, "|") {
				v := fields(t, part)
				reports = append(reports, &Report{
					Partition: record.Partition{Partition: i, Computed: v["computed"], Sent: v["sent"]},
					Counts: Counts{
						Active: v["active"], Senders: v["senders"], SenderEdges: v["edges"],
						Sends: v["sends"], Unfinished: v["unfinished"], UnfinishedEdges: v["open"],
					},
				})
			}
			command, outcome := c.next(reports, 1e-6)
			answer(&out, c, command, outcome)
		}
	}
	return out.String()
}

func answer(out *strings.Builder, c *coordinator, command *Command, o *Outcome) {
	if o.Ended != "" {
		fmt.Fprintf(out, "> done ended=%v supersteps=%d messages=%d sent=%d\n", o.Ended,
			o.Supersteps, o.Messages, o.Sent)
		return
	}
	fmt.Fprintf(out, "> superstep %d scheme=%v sends=%v\n", command.Superstep, command.Scheme,
		command.Sends)
}

func fields(t *testing.T, text string) map[string]int {
	t.Helper()
	v := map[string]int{}
	for _, f := range strings.Fields(text) {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		v[key] = n
	}
	return v
}

// endsAt is a program whose Coordinate ends the run before a superstep.
type endsAt struct {
	superstep int
	end       func(*pregel.Coordinator)
}

func (e endsAt) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == e.superstep {
		e.end(c)
	}
}

package bsp

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// rude panics in MarshalJSON, or ends its goroutine there.
type rude struct{ Exit bool }

func (r rude) MarshalJSON() ([]byte, error) {
	if r.Exit {
		runtime.Goexit()
	}
	panic("not now")
}

// TestFinalLeavesOut: Final leaves out values that cannot be written, and logs each once.
func TestFinalLeavesOut(t *testing.T) {
	given := []pregel.Aggregate{
		pregel.SumOf[int]("sum"), pregel.NewAggregator[rude]("rude", nil, nil),
		pregel.NewAggregator("exits", func() rude { return rude{true} }, nil),
		pregel.NewAggregator[pregel.VertexID]("first", nil, nil),
		pregel.NewAggregator("none", func() pregel.VertexID { return pregel.None }, nil),
	}
	a := Aggregates{}
	for _, one := range given {
		a.All = append(a.All, kernel.Pregel.Aggregate(one))
	}
	var lines []string
	d := &Driver{
		c:       coordinator{aggregates: a, totals: a.Cells()},
		options: Options{Log: func(line string) { lines = append(lines, line) }, Host: Host{Label: func(id pregel.VertexID) (uint64, bool) { return 77, id == 0 }}},
	}
	for range 2 {
		texts := d.Final()
		if len(texts) != 3 || string(texts["sum"]) != "0" || string(texts["first"]) != "77" ||
			string(texts["none"]) != "-1" {
			t.Errorf("found %s", texts)
		}
	}
	slices.Sort(lines)
	if len(lines) != 2 || !strings.HasPrefix(lines[0],
		"aggregator exits is left out of reports: ") ||
		lines[1] != "aggregator rude is left out of reports: its value panicked when it was written: not now" {
		t.Errorf("the log has %q", lines)
	}
	if (&Driver{c: coordinator{aggregates: Aggregates{}, totals: []kernel.Cell{}}}).Final() != nil {
		t.Error("a program without aggregators has some")
	}
}

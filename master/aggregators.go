package master

import (
	"context"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// maxFinal bounds what is kept of the values of a job's aggregators, in bytes, as a message with them has to hold, and as long as the
// job is remembered.
const maxFinal = 1 << 20

// end keeps what the aggregators of a run ended with: as JSON for those who watch the job, and as it travels for clients in Go.
func (t *team) end() {
	aggregates, totals, texts := t.driver.Aggregates(), t.driver.Totals(), t.driver.Final()
	size := 0
	var told, all []*control.Aggregator
	for _, a := range aggregates.All {
		value, err := totals[a.Number].Encode(pack.Value)
		if size += len(value); err == nil && size > maxFinal {
			size -= len(value)
			err = fmt.Errorf("it has %d bytes, and there is room for %d of all aggregators", len(value), maxFinal)
		}
		if err != nil {
			value = nil
			t.log(fmt.Sprintf("aggregator %s does not travel to clients in Go: %v", a.Name, err))
		}
		name, text := strings.ToValidUTF8(a.Name, "?"), string(texts[a.Name]) // a message has no other text
		told = append(told, &control.Aggregator{Name: name, Json: text})
		all = append(all, &control.Aggregator{Name: name, Json: text, Value: value})
	}
	t.set(func(a *control.Job) { a.Aggregators, t.aggregators = told, all })
}

// log tells those who watch the job a line of the program's Coordinate, or of the master.
func (r *run) log(line string) {
	r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{
		Time: r.server.stamp(r.server.now()), Job: r.id, Worker: "master", Text: control.Text(line, maxLogLine),
	}}})
}

// maxLogLine is how long a line of a log may be, as one of a worker's.
const maxLogLine = 4 << 10

// label asks the workers for the input id of a vertex.
func (r *run) label(ctx context.Context, id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None {
		return 0, false
	}
	answers, err := r.all(ctx, "locate", &control.Command{Body: &control.Command_Locate{Locate: &control.Locate{
		Graph: r.job.graph(), First: uint64(id), Count: 1,
	}}}, func(report *control.Report) bool { return report.GetLocated() != nil })
	if err != nil {
		return 0, false
	}
	for _, a := range answers {
		for _, label := range a.GetLocated().Labels {
			return label, true
		}
	}
	return 0, false
}

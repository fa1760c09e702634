package master

import (
	"context"
	"errors"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/jobspec"
)

// drive has the workers run what they have prepared, to its end. The first of them drives the run, and tells how far it is; reported are the
// facts of each, before is what has run before in the same job, search what records say they are of, and totals asks for the aggregators' at
// the end.
func (r *run) drive(ctx context.Context, reported [][]byte, before bsp.Outcome, search string, totals bool) (*control.RunEnd, error) {
	d := &control.Drive{
		Facts: reported, Before: jobspec.Outcome(before), SuperstepLimit: uint64(r.server.options.CommandTimeout), Totals: totals,
	}
	answers, err := r.each(ctx, order{
		what: "run", long: true,
		command: func() *control.Command { return &control.Command{Body: &control.Command_Drive{Drive: d}} },
		more: func(i int, report *control.Report) error {
			if report.Failure != nil {
				return &workerError{"run", r.team[i].Worker, report.Failure}
			}
			if i != 0 || report.GetDrive() == nil {
				return errors.New("it tells of a run that another worker drives, or of something else")
			}
			r.heard(report.GetDrive(), search)
			return nil
		},
		fits: func(i int, report *control.Report) bool {
			return report.GetDrive() != nil && (i != 0 || report.GetDrive().GetEnd() != nil)
		},
	})
	if err != nil {
		return nil, err
	}
	r.heard(answers[0].GetDrive(), search)
	return answers[0].GetDrive().End, nil
}

// heard tells those who watch the job what the worker that drives it has told.
func (r *run) heard(d *control.DriveReport, search string) {
	if o := d.Outcome; o != nil {
		r.set(func(a *control.Job) {
			a.Converged, a.Supersteps = o.Converged, o.Supersteps
			a.Messages, a.MessagesSent, a.BytesSent = o.Messages, o.Sent, o.Bytes
			a.GraphLeft = o.GraphLeft
		})
	}
	if d.Checkpoint > 0 {
		r.set(func(a *control.Job) { a.Checkpoint = d.Checkpoint })
	}
	for _, line := range d.Log {
		r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{
			Time: r.server.stamp(r.server.now()), Job: r.id, Worker: r.team[0].Worker, Text: line,
		}}})
	}
	for _, record := range d.Records {
		record.Search = search
		r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Record{Record: record}})
	}
}

// end keeps what the aggregators of the job's program ended with.
func (r *run) end(e *control.RunEnd) {
	r.set(func(a *control.Job) { a.Aggregators, r.aggregators = shown(e.Aggregators), e.Aggregators })
}

// shown leaves the values of aggregators out.
func shown(all []*control.Aggregator) (without []*control.Aggregator) {
	for _, a := range all {
		without = append(without, &control.Aggregator{Name: a.Name, Json: a.Json})
	}
	return without
}

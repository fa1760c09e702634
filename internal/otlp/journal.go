package otlp

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// maxSupersteps is how many supersteps of a run have spans; a run may have millions.
const maxSupersteps = 1000

// Journal returns what to tell of one run after the other. Runs at the same time need a journal
// each.
func (e *Exporter) Journal() trace.Journal {
	return &journal{Exporter: e}
}

type journal struct {
	*Exporter
	step  trace.Step
	job   context.Context // has the run's span, or is nil between runs
	span  oteltrace.Span
	of    string // the job or search that the last superstep was of
	count int    // its supersteps so far
	bare  int    // supersteps without a span
}

// Record makes spans of what has ended.
func (j *journal) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if !e.More && !strings.HasSuffix(e.Job, trace.WarmUp) {
			j.begin(e)
		}
	case *record.Superstep:
		if j.job != nil {
			if e.Job != j.of {
				j.of, j.count = e.Job, 0
			}
			j.step.Sum(e)
			j.superstep(&j.step)
		}
	case *trace.Stage:
		j.stage(e)
	case *trace.End:
		if j.job != nil {
			j.end(e)
		}
	}
	return nil
}

func (j *journal) begin(b *trace.Job) {
	j.count, j.bare = 0, 0
	j.job, j.span = j.tracer.Start(j.parent, "job "+b.Program, oteltrace.WithTimestamp(b.Began), oteltrace.WithAttributes(
		attribute.String("superstep.job", b.Job), attribute.String("superstep.program", b.Program), attribute.String("superstep.graph", text(b.Graph)),
		attribute.Int64("superstep.vertices", integer(b.Vertices)), attribute.Int64("superstep.arcs", integer(b.Arcs)),
		attribute.Int("superstep.partitions", b.Partitions), attribute.Int("superstep.threads", b.Threads),
		attribute.String("superstep.grid", b.Grid), attribute.String("superstep.delivery", b.Delivery)))
}

func integer(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func (j *journal) stage(s *trace.Stage) {
	in := j.job
	if in == nil {
		in = j.parent
	}
	if s.Seconds == 0 || in == context.Background() {
		return // it is under way, or in no span
	}
	end := j.now()
	_, span := j.tracer.Start(in, s.Stage, oteltrace.WithTimestamp(before(end, s.Seconds)))
	span.End(oteltrace.WithTimestamp(end))
}

func (j *journal) end(e *trace.End) {
	j.span.SetAttributes(attribute.String("superstep.state", e.State), attribute.String("superstep.ended", string(e.Ended)), attribute.Int("superstep.supersteps", e.Supersteps),
		attribute.Int("superstep.supersteps_without_span", j.bare))
	if e.State == trace.Failed {
		j.span.SetStatus(codes.Error, text(e.Error))
	}
	j.span.End(oteltrace.WithTimestamp(j.now()))
	j.job, j.span = nil, nil
}

func before(t time.Time, seconds float64) time.Time {
	return t.Add(-time.Duration(seconds * float64(time.Second)))
}

// superstep makes the spans of a superstep that has ended. Of phases only the times are known: the
// spans, each of the partition that took longest, are laid one after the other.
func (j *journal) superstep(s *trace.Step) {
	j.count++
	if j.count > maxSupersteps {
		j.bare++
		return
	}
	end := s.Ended
	if end.IsZero() {
		end = j.now() // of a cluster: it just has
	}
	begin := before(end, s.Times.Total)
	ctx, span := j.tracer.Start(j.job, fmt.Sprintf("superstep %d", s.Superstep), oteltrace.WithTimestamp(begin))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.Int("superstep.superstep", s.Superstep), attribute.String("superstep.scheme", s.Scheme),
		attribute.String("superstep.delivery", s.Delivery), attribute.String("superstep.reason", s.Reason),
		attribute.Int("superstep.active", s.Active), attribute.Int("superstep.senders", s.Senders), attribute.Int("superstep.edges", s.Edges),
		attribute.Int("superstep.messages", s.Messages), attribute.Int("superstep.values_sent", s.Sent), attribute.Int("superstep.bytes_sent", s.Bytes),
		attribute.Float64("superstep.predicted_seconds", s.Predicted[s.Scheme]), attribute.Float64("superstep.actual_seconds", s.Actual),
		attribute.Float64("superstep.skew", s.Busy.Ratio()))
	if s.Phase > 0 {
		span.SetAttributes(attribute.Int("superstep.phase", s.Phase), attribute.String("superstep.program", s.Program))
	}
	at, means := begin, s.Times.ByPhase()
	for i, p := range s.Longest {
		if p.Seconds <= 0 {
			continue
		}
		_, phase := j.tracer.Start(ctx, record.Phases[i], oteltrace.WithTimestamp(at), oteltrace.WithAttributes(
			attribute.Int("superstep.partition", p.Partition), attribute.Float64("superstep.mean_seconds", means[i])))
		if at = at.Add(time.Duration(p.Seconds * float64(time.Second))); at.After(end) {
			at = end
		}
		phase.End(oteltrace.WithTimestamp(at))
	}
	span.End(oteltrace.WithTimestamp(end))
}

// text is a text as spans carry it: a file's name or a panic's may be anything.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

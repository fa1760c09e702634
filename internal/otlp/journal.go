package otlp

import (
	"cmp"
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

// Bounds of spans. A job may have millions of supersteps. A job of Graph500 has 130 searches, any
// other job counts as one search. Workers choose the names of searches.
const (
	maxSupersteps = 1000 // with spans, in each search
	maxSearches   = 200  // in a job
)

// Journal returns a journal for consecutive runs. Concurrent runs need a journal each.
func (e *Exporter) Journal() trace.Journal { return &journal{Exporter: e} }

type journal struct {
	*Exporter
	step   trace.Step
	job    context.Context // has the run's span; nil between runs
	span   oteltrace.Span
	name   string         // of the job
	counts map[string]int // number of supersteps with spans, by search
	bare   int            // number of supersteps without a span
}

// Record makes the spans of an event.
func (j *journal) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if !e.More && !strings.HasSuffix(e.Job, trace.WarmUp) {
			j.name, j.counts, j.bare = e.Job, map[string]int{}, 0
			j.job, j.span = j.tracer.Start(j.parent, "job "+e.Program,
				oteltrace.WithTimestamp(e.Began), oteltrace.WithAttributes(text("job", e.Job),
					text("program", e.Program), text("graph", e.Graph),
					text("delivery", e.Delivery)))
		}
		if j.job != nil && e.Job == j.name { // More has the size of a cluster's graph
			j.span.SetAttributes(text("grid", e.Grid), integer("vertices", signed(e.Vertices)),
				integer("arcs", signed(e.Arcs)), integer("partitions", e.Partitions),
				integer("threads", e.Threads))
		}
	case *record.Superstep:
		if j.job != nil {
			j.superstep(e)
		}
	case *trace.Stage:
		j.stage(e)
	case *trace.End:
		if j.job == nil {
			break
		}
		j.span.SetAttributes(text("state", e.State), text("ended", string(e.Ended)),
			integer("supersteps", e.Supersteps), integer("supersteps_without_span", j.bare))
		if e.State == trace.Failed {
			j.span.SetStatus(codes.Error, valid(e.Error))
		}
		j.span.End(oteltrace.WithTimestamp(time.Now()))
		j.job, j.span = nil, nil
	}
	return nil
}

func (j *journal) stage(s *trace.Stage) {
	in := cmp.Or(j.job, j.parent)
	if s.Seconds == 0 || in == context.Background() {
		return // still running, or without a span
	}
	end := time.Now()
	_, span := j.tracer.Start(in, s.Stage, oteltrace.WithTimestamp(before(end, s.Seconds)))
	span.End(oteltrace.WithTimestamp(end))
}

func before(t time.Time, seconds float64) time.Time {
	return t.Add(-time.Duration(seconds * float64(time.Second)))
}

// superstep makes the spans of an ended superstep. Only the durations of phases are known: the
// spans, each of the partition that took longest, are put one after the other.
func (j *journal) superstep(e *record.Superstep) {
	n := j.counts[e.Job]
	if n == maxSupersteps || n == 0 && len(j.counts) == maxSearches {
		j.bare++
		return
	}
	j.counts[e.Job] = n + 1
	s := &j.step
	s.Sum(e)
	end := s.Ended
	if end.IsZero() {
		end = time.Now() // on a cluster: it has just ended
	}
	begin := before(end, s.Times.Total)
	ctx, span := j.tracer.Start(j.job, fmt.Sprintf("superstep %d", s.Superstep),
		oteltrace.WithTimestamp(begin))
	span.SetAttributes(
		integer("superstep", s.Superstep), text("scheme", s.Scheme), text("delivery", s.Delivery),
		text("reason", s.Reason), integer("active", s.Active), integer("senders", s.Senders),
		integer("edges", s.Edges), integer("messages", s.Messages), integer("values_sent", s.Sent),
		integer("bytes_sent", s.Bytes), float("predicted_seconds", s.Predicted[s.Scheme]),
		float("actual_seconds", s.Actual), float("skew", s.Busy.Ratio()))
	if e.Job != j.name {
		span.SetAttributes(text("search", e.Job))
	}
	if s.Phase > 0 {
		span.SetAttributes(integer("phase", s.Phase), text("program", s.Program))
	}
	at, means := begin, s.Times.ByPhase()
	for i, p := range s.Longest {
		if p.Seconds <= 0 {
			continue
		}
		_, phase := j.tracer.Start(ctx, record.Phases[i], oteltrace.WithTimestamp(at))
		phase.SetAttributes(integer("partition", p.Partition), float("mean_seconds", means[i]))
		if at = at.Add(time.Duration(p.Seconds * float64(time.Second))); at.After(end) {
			at = end
		}
		phase.End(oteltrace.WithTimestamp(at))
	}
	span.End(oteltrace.WithTimestamp(end))
}

// valid returns a text with valid UTF-8, as spans require: the name of a file or the text of a
// panic may be anything.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Attributes of spans.

func text(key, value string) attribute.KeyValue {
	return attribute.String("superstep."+key, valid(value))
}

func integer(key string, value int) attribute.KeyValue {
	return attribute.Int("superstep."+key, value)
}

func float(key string, value float64) attribute.KeyValue {
	return attribute.Float64("superstep."+key, value)
}

func signed(n uint64) int { return int(min(n, math.MaxInt)) }

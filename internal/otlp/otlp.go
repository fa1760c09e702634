// Package otlp sends traces of runs to a collector of OpenTelemetry: a span for a run, in it one
// for each stage and each superstep, in that one for each phase. The environment says where to
// (OTEL_EXPORTER_OTLP_ENDPOINT and its relatives); where it does not, nothing is made and nothing
// started.
//
// Spans are made by the OpenTelemetry SDK when a superstep has ended, from its record, so that they
// cost a run nothing while it works. They go by OTLP over HTTP.
package otlp

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/superstep-go/superstep/internal/trace"
)

// Exporter sends spans. Close it when the last run has ended.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	client   *client
	parent   context.Context // has the span that all others are in, if there is one
	root     oteltrace.Span  // it, if it is ours; or nil
	closing  time.Duration   // the longest time of Close
}

// Bounds of what waits to be sent: spans beyond are dropped, and a run never waits.
const (
	maxQueue    = 16384
	batchDelay  = 2 * time.Second
	closingTime = 5 * time.Second
)

// New makes an exporter, or returns nil if the environment names no collector.
func New(ctx context.Context, o trace.ExportOptions) (trace.Exporter, error) {
	h, err := newHTTPClient()
	if h == nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // later ones win
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e := &Exporter{client: newClient(h, o.Log), closing: closingTime}
	exporter, err := otlptrace.New(ctx, e.client)
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry: %w", err)
	}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter,
		sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithBatchTimeout(batchDelay)))
	e.tracer = e.provider.Tracer("github.com/superstep-go/superstep", oteltrace.WithInstrumentationVersion(o.Version))
	e.parent = context.Background()
	if o.Root != "" {
		e.parent = propagation.TraceContext{}.Extract(e.parent, propagation.MapCarrier{
			"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
		})
		e.parent, e.root = e.tracer.Start(e.parent, o.Root)
	}
	return e, nil
}

// Close sends what waits, for a few seconds at most.
func (e *Exporter) Close() {
	if e.root != nil {
		e.root.End()
	}
	ctx := context.Background()
	t := time.AfterFunc(e.closing, func() { _ = e.client.Stop(ctx) }) // every post fails then
	defer t.Stop()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.client.complain(err)
	}
	e.client.close()
}

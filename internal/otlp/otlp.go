// Package otlp sends traces of runs to an OpenTelemetry collector: a span for each run, with spans
// for its stages and supersteps, which have spans for their phases. The environment names the
// collector (OTEL_EXPORTER_OTLP_ENDPOINT and related variables). Without it the package starts
// nothing.
//
// The OpenTelemetry SDK makes the spans from the record of an ended superstep, so they do not slow
// down a running superstep. They are sent by OTLP over HTTP. Read otlp.go first, then journal.go.
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

// Exporter sends spans. Close it after the last run.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	client   *client
	parent   context.Context // has the parent of all spans, if there is one
	root     oteltrace.Span  // that parent, if New made it; or nil
	closing  time.Duration   // time limit of Close
}

// Bounds of the queue: it drops further spans, and a run never waits.
const (
	maxQueue    = 16384
	batchDelay  = 2 * time.Second
	closingTime = 5 * time.Second
)

// New makes an exporter. It returns nil if the environment names no collector.
func New(ctx context.Context, o trace.ExportOptions) (trace.Exporter, error) {
	h, err := newHTTPClient()
	if h == nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", o.Service),
			attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // later ones take precedence
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e := &Exporter{client: newClient(h, o.Log), closing: closingTime}
	exporter, err := otlptrace.New(ctx, e.client)
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry: %w", err)
	}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(
		exporter, sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithBatchTimeout(batchDelay)))
	e.tracer = e.provider.Tracer("github.com/superstep-go/superstep",
		oteltrace.WithInstrumentationVersion(o.Version))
	e.parent = context.Background()
	if o.Root != "" {
		e.parent = propagation.TraceContext{}.Extract(e.parent, propagation.MapCarrier{
			"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
		})
		e.parent, e.root = e.tracer.Start(e.parent, o.Root)
	}
	return e, nil
}

// Close sends the queued spans, for a few seconds at most.
func (e *Exporter) Close() {
	if e.root != nil {
		e.root.End()
	}
	ctx := context.Background()
	t := time.AfterFunc(e.closing, func() { _ = e.client.Stop(ctx) }) // then every post fails
	defer t.Stop()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.client.complain(err)
	}
	e.client.close()
}

package otlp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// client posts spans. It logs failures and drops their spans; the SDK would only print them.
type client struct {
	otlptrace.Client
	http *http.Client
	log  *slog.Logger

	mu         sync.Mutex
	complained time.Time // time of the last logged failure
	silent     int       // number of failures since
}

// Bounds of logged failures.
const (
	complainGap = time.Minute
	maxError    = 300 // bytes of an error in the log, which may quote a collector's answer
)

func newClient(h *http.Client, log *slog.Logger) *client {
	retry := otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: 250 * time.Millisecond, MaxInterval: 5 * time.Second,
		MaxElapsedTime: 10 * time.Second,
	})
	c := &client{http: h, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	c.Client = otlptracehttp.NewClient(otlptracehttp.WithHTTPClient(h), retry)
	return c
}

// close logs the failures that were not logged yet. Nothing is posted any more.
func (c *client) close() {
	c.http.CloseIdleConnections()
	if c.silent > 0 {
		c.log.Warn("more spans were lost", "failures", c.silent)
	}
}

// UploadTraces posts spans, and retries if the collector is busy.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if err := c.Client.UploadTraces(ctx, spans); err != nil {
		c.complain(err)
	}
	return nil
}

// complain logs a failure. Failures within the next minute are only counted.
func (c *client) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.complained.IsZero() && time.Since(c.complained) < complainGap {
		c.silent++
		return
	}
	why := err.Error()
	why = valid(why[:min(len(why), maxError)])
	c.log.Warn("spans were lost", "error", why, "failures_before", c.silent)
	c.complained, c.silent = time.Now(), 0
}

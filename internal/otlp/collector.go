package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// client posts spans. What fails is complained of and given up: the SDK would only print it.
type client struct {
	otlptrace.Client
	log *slog.Logger

	mu         sync.Mutex
	complained time.Time // of the last complaint
	silent     int       // complaints since
}

// Bounds of what is sent again, and of complaints.
const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 5 * time.Second
	maxRetry     = 10 * time.Second
	complainGap  = time.Minute
)

func newClient(log *slog.Logger) *client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &client{log: log, Client: otlptracehttp.NewClient(otlptracehttp.WithRetry(
		otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: firstBackoff, MaxInterval: maxBackoff, MaxElapsedTime: maxRetry,
		}))}
}

// UploadTraces posts spans, again if the collector is busy.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if err := c.Client.UploadTraces(ctx, spans); err != nil {
		c.complain(err)
	}
	return nil
}

// complain logs a failure; those that follow within a minute are counted.
func (c *client) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.complained.IsZero() && time.Since(c.complained) < complainGap {
		c.silent++
		return
	}
	c.log.Warn("spans were lost", "error", err, "failures_before", c.silent)
	c.complained, c.silent = time.Now(), 0
}

// collected says whether the environment names a collector. Of what it says about this collector
// the SDK prints and skips what it does not understand; what would lose every span, or print a
// secret, is refused here.
func collected(get func(string) string) (bool, error) {
	if strings.EqualFold(strings.TrimSpace(get("OTEL_SDK_DISABLED")), "true") ||
		strings.TrimSpace(get("OTEL_TRACES_EXPORTER")) == "none" {
		return false, nil
	}
	first := func(what string) (name, value string) {
		for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + what, "OTEL_EXPORTER_OTLP_" + what} {
			if value = strings.TrimSpace(get(name)); value != "" {
				break
			}
		}
		return name, value
	}
	name, value := first("ENDPOINT")
	if value == "" {
		return false, nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		if i := strings.LastIndexByte(value, '@'); i >= 0 {
			value = "..." + value[i:] // without what may be a password
		}
		return false, fmt.Errorf("%s: found %q, expected a URL such as http://127.0.0.1:4318", name, value)
	}
	if name, value := first("PROTOCOL"); value == "grpc" {
		return false, fmt.Errorf("%s: found grpc, expected http/protobuf or http/json", name)
	}
	if name, value := first("HEADERS"); value != "" {
		for i, pair := range strings.Split(value, ",") {
			_, header, ok := strings.Cut(pair, "=")
			if _, err := url.PathUnescape(header); !ok || err != nil {
				return false, fmt.Errorf("%s: header %d: expected key=value, escaped as in a URL", name, i+1)
			}
		}
	}
	return true, nil
}

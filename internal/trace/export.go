package trace

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Exporter sends what happens in runs to a collector. Close it when the last run has ended.
type Exporter interface {
	Journal() Journal
	Close()
}

// ExportOptions say who sends spans.
type ExportOptions struct {
	// Service is what the process is called unless OTEL_SERVICE_NAME says otherwise.
	Service, Version string
	// Root, if not empty, names a span for the life of the exporter, in which all others are. It is
	// in the span that TRACEPARENT names.
	Root string
	// Log is told now and then what could not be sent; or nil.
	Log *slog.Logger
}

var newExporter func(ctx context.Context, o ExportOptions) (Exporter, error)

// RegisterExporter is for the init function of the driver (drivers/otlp).
func RegisterExporter(of func(ctx context.Context, o ExportOptions) (Exporter, error)) {
	newExporter = of
}

// Export makes an exporter, or returns nil if the environment names no collector.
func Export(ctx context.Context, o ExportOptions) (Exporter, error) {
	if newExporter != nil {
		return newExporter(ctx, o)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return nil, fmt.Errorf("%s: this program has no driver for traces: import _ %q", name,
				"github.com/superstep-go/superstep/drivers/otlp")
		}
	}
	return nil, nil
}

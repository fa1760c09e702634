package trace

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Exporter sends the events of runs to a collector. Close it after the last run.
type Exporter interface {
	Journal() Journal
	Close()
}

// ExportOptions identify the sender of spans.
type ExportOptions struct {
	// Service is the name of the process, unless OTEL_SERVICE_NAME is set.
	Service, Version string
	// Root, if not empty, is the name of a span for the life of the exporter, which contains all
	// others. Its parent is the span in TRACEPARENT.
	Root string
	// Log gets a line now and then about spans that could not be sent; or nil.
	Log *slog.Logger
}

// NewExporter is set by the init function of drivers/otlp.
var NewExporter func(ctx context.Context, o ExportOptions) (Exporter, error)

// Export makes an exporter. It returns nil if the environment names no collector.
func Export(ctx context.Context, o ExportOptions) (Exporter, error) {
	if NewExporter != nil {
		return NewExporter(ctx, o)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return nil, fmt.Errorf("%s: this program has no driver for traces: import _ %q", name,
				"github.com/superstep-go/superstep/drivers/otlp")
		}
	}
	return nil, nil
}

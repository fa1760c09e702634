// Package otlp is a driver: a program that imports it sends a trace of each run to an OpenTelemetry
// collector. The environment names the collector (OTEL_EXPORTER_OTLP_ENDPOINT); without it nothing
// is sent. Package command imports it.
//
//	import _ "github.com/superstep-go/superstep/drivers/otlp"
//
//	a run --> internal/trace: records of supersteps --> this driver: spans --> collector
//
// The code is in internal/otlp. The example runs without a collector.
package otlp

import (
	"github.com/superstep-go/superstep/internal/otlp"
	"github.com/superstep-go/superstep/internal/trace"
)

func init() { trace.NewExporter = otlp.New }

// Package otlp lets a program that imports it send traces of runs to a collector of OpenTelemetry, which the environment names
// (OTEL_EXPORTER_OTLP_ENDPOINT):
//
//	import _ "github.com/superstep-go/superstep/drivers/otlp"
package otlp

import (
	"github.com/superstep-go/superstep/internal/otlp"
	"github.com/superstep-go/superstep/internal/trace"
)

func init() { trace.RegisterExporter(otlp.New) }

package worker

import (
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestReportsThatAreNoMessage are refused, so that the master does not wait for them.
func TestReportsThatAreNoMessage(t *testing.T) {
	report := func(bytes int) *control.Report {
		return &control.Report{Body: &control.Report_Save{Save: &control.SaveReport{Manifest: make([]byte, bytes)}}}
	}
	if err := fits(report(control.MaxMessage / 2)); err != nil {
		t.Error(err)
	}
	if err := fits(report(control.MaxMessage)); err == nil {
		t.Error("a report of the size of a message fits into one")
	}
}

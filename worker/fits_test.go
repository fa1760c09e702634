package worker

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestReportsThatAreNoMessage: a report that is too large for a message becomes an error, so the
// master does not wait for it.
func TestReportsThatAreNoMessage(t *testing.T) {
	m := commanded(t, Config{})
	for bytes, want := range map[int]string{
		control.MaxMessage / 2: "",
		control.MaxMessage:     "the worker's answer cannot be sent: a message of ",
	} {
		report := &control.Report{Body: &control.Report_Save{Save: &control.SaveReport{Manifest: make([]byte, bytes)}}}
		go m.session.queue.answer(t.Context(), &control.Command{Id: 7, Job: "j"}, report, nil)
		r := m.report()
		if r.GetId() != 7 || !strings.HasPrefix(r.GetFailure().GetMessage(), want) ||
			(want == "") != (len(r.GetSave().GetManifest()) == bytes) {
			t.Errorf("of %d bytes: found the failure %v, expected %q", bytes, r.GetFailure(), want)
		}
	}
}

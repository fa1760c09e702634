package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestWatchOver: a monitor reads a worker's output and reports why the worker ended.
func TestWatchOver(t *testing.T) {
	const known = `{"Master":"a:1","Name":"w","Incarnation":7,"Token":"0123456789abcdef"}` + "\n"
	const killed = "its process was killed; "
	const unknown = "its process crashed or was killed: its log may say why"
	for _, k := range []struct{ text, reason string }{
		{"", ""},
		{`{"Name":"not registered yet"}` + "\n", ""},
		{known + `{"Over":true}` + "\n", ""},
		{known + `{"Reason":"not enough memory","Starved":true}` + "\n", "not enough memory"},
		{known, unknown},
		{known + `{"Ov`, unknown},
	} {
		var reason string
		report := func(master string, who control.Credentials, _ control.Dialer,
			r *control.ReportExitRequest,
		) error {
			if strings.HasPrefix(r.Reason, "not enough memory") != r.Starved &&
				!strings.HasPrefix(r.Reason, killed) {
				t.Errorf("%.200q: reports %v", k.text, r)
			}
			if reason = r.Reason; master != "a:1" || who.Token.Secret() != "0123456789abcdef" ||
				r.Name != "w" || r.Incarnation != 7 {
				t.Errorf("%.200q: reports to %s with %q: %v", k.text, master, who.Token.Secret(), r)
			}
			return nil
		}
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, k.text) // the reader reads everything
			_ = out.Close()
		}()
		if err := watchOver(in, report); err != nil {
			t.Errorf("%.200q: %v", k.text, err)
		}
		// the kernel may have killed another process meanwhile: then the reason names that
		if strings.HasPrefix(reason, killed) {
			reason = unknown
		}
		if reason != k.reason {
			t.Errorf("%.200q: found %.200q, expected %.200q", k.text, reason, k.reason)
		}
	}
}

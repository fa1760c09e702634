package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// Output of Go 1.26 to the file of SetCrashOutput.
const (
	overflow = `
runtime stack:
runtime.throw({0x4ac6c2?, 0x0?})
	/go/src/runtime/panic.go:1229 +0x48
runtime.newstack()
	/go/src/runtime/stack.go:1207 +0x5fd

goroutine 1 gp=0xc000002380 m=0 mp=0x55d5c0 [running]:
main.Deep.Compute(0x1)
	/home/me/deep.go:12 +0x45 fp=0x2154f52e0500
main.main()
	/home/me/deep.go:20 +0x45

goroutine 2 gp=0x2 m=nil [force gc (idle)]:
main.other()
	/home/me/other.go:2 +0x45
`
	mapped = `
goroutine 4 [running]:
internal/runtime/maps.fatal({0x4f37a0?, 0x0?})
	/go/src/runtime/panic.go:1181 +0x18
main.(*Race).Compute.func1()
	/home/me/race.go:9 +0x25
created by main.main in goroutine 1
	/home/me/race.go:9 +0x545
`
	fault = `[signal SIGSEGV: segmentation violation code=0x1 addr=0x1234567 pc=0x4c1d1b]

goroutine 1 gp=0x3ad831f561e0 m=2 mp=0x3ad831f8e808 [running]:
runtime.throw({0x4f029a?, 0x3ad831f6400a?})
	/go/src/runtime/panic.go:1229 +0x48 fp=0x3ad831fd0e58
`
	unlocked = `
goroutine 1 [running]:
internal/sync.fatal({0x4f5be3?, 0x4db300?})
	/go/src/runtime/panic.go:1191 +0x18
main.main()
	/home/me/mutex.go:9 +0x44d
`
)

// TestWatchOver: a monitor reads a worker's output and reports why the worker ended.
func TestWatchOver(t *testing.T) {
	const known = "\x00" +
		`{"Master":"a:1","Name":"w","Incarnation":7,"Token":"0123456789abcdef"}` + "\n"
	for _, k := range []struct{ text, reason string }{
		{"", ""},
		{"fatal error: before it was registered\n", ""},
		{known + "\x00" + `{"Over":true}` + "\n", ""},
		{known + "\x00" + `{"Reason":"not enough memory","Starved":true}` + "\n", "not enough memory"},
		{known, "its process was killed, or called os.Exit"},
		{known + overflow, "fatal error: stack overflow, in main.Deep.Compute (deep.go:12)"},
		{known + mapped, "fatal error: concurrent access to a map, in main.(*Race).Compute.func1 (race.go:9)"},
		{known + fault, "signal SIGSEGV: segmentation violation code=0x1 addr=0x1234567 pc=0x4c1d1b"},
		{known + unlocked, "fatal error of Go's runtime, in main.main (mutex.go:9)"},
		{known + "panic: what\xff\n\ngoroutine 7 [running]:\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:1 +0x1\n", "panic: what\uFFFD"},
		{known + "fatal error: " + strings.Repeat("long",
			1<<20), "fatal error: " + strings.Repeat("long",
			1<<20)[:maxCrash-len("fatal error: ")]},
		{known + "odd", "fatal error of Go's runtime"},
	} {
		var reason string
		report := func(master string, who control.Credentials, _ control.Dialer,
			r *control.ReportExitRequest,
		) error {
			if strings.HasPrefix(r.Reason, "not enough memory") && !r.Starved ||
				strings.HasPrefix(r.Reason, "fatal error") && r.Starved {
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
		if strings.HasPrefix(reason, "its process was killed; ") {
			reason = "its process was killed, or called os.Exit"
		}
		if reason != k.reason {
			t.Errorf("%.200q: found %.200q, expected %.200q", k.text, reason, k.reason)
		}
	}
}

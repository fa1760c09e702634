package cli

import (
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	begun := time.Unix(1000, 0)
	for _, test := range []struct {
		after time.Duration
		step  step
		want  string
	}{
		{time.Second, step{}, ""},
		{100 * time.Millisecond, step{name: "a", done: 5, total: 10}, "a  [" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "]   50%"},
		{500 * time.Millisecond, step{name: "a", done: 5_000_000, total: 10_000_000}, "a  [" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "]   50%  10.0 M/s"},
		{4 * time.Second, step{name: "a", done: 1, total: 4, note: "so far"}, "a  [" + strings.Repeat("=", 7) + strings.Repeat(" ", 23) + "]   25%  0.2 /s  12s left  so far"},
		{4 * time.Second, step{name: "a", done: 4, total: 4}, "a  [" + strings.Repeat("=", 30) + "]  100%  1.0 /s"},
		{9 * time.Second, step{name: "a", done: 5, total: 4}, "a  [" + strings.Repeat("=", 30) + "]  100%  0.6 /s"},
		{2 * time.Second, step{name: "running bfs", note: "superstep 3", done: 4}, "running bfs  2s  2.0 /s  superstep 3"},
		{1500 * time.Millisecond, step{name: "running bfs", note: "superstep 3"}, "running bfs  1.5s  superstep 3"},
	} {
		test.step.begun = begun
		if got := test.step.line(begun.Add(test.after), 120); got != test.want {
			t.Errorf("%+v: line %q, want %q", test.step, got, test.want)
		}
	}
	wide := step{name: strings.Repeat("x", 100), begun: begun}
	if got := wide.line(begun, 40); len([]rune(got)) != 39 || !strings.HasSuffix(got, "…") {
		t.Errorf("line %q in 40 columns", got)
	}
	_ = wide.line(begun, 0)
}

func TestRate(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0 /s", 12: "12.0 /s", 999.96: "1.0 k/s", 12_300_000: "12.3 M/s", 3e9: "3.0 G/s", 5e13: "50000.0 G/s"} {
		if got := rate(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}

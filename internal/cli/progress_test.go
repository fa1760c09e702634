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
		{100 * time.Millisecond, step{name: "a", done: 5, total: 10}, "a  [" + strings.Repeat("=",
			15) + strings.Repeat(" ", 15) + "]   50%"},
		{500 * time.Millisecond, step{name: "a", done: 5_000_000, total: 10_000_000}, "a  [" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "]   50%  10.0 M/s"},
		{4 * time.Second, step{name: "a", done: 1, total: 4, note: "so far"}, "a  [" + strings.Repeat("=", 7) + strings.Repeat(" ", 23) + "]   25%  0.2 /s  12s left  so far"},
		{4 * time.Second, step{name: "a", done: 4, total: 4}, "a  [" + strings.Repeat("=",
			30) + "]  100%  1.0 /s"},
		{9 * time.Second, step{name: "a", done: 5, total: 4}, "a  [" + strings.Repeat("=",
			30) + "]  100%  0.6 /s"},
		{4 * time.Second, step{name: "SSSP", done: 70, total: 128, from: 64}, "SSSP  [" + strings.Repeat("=", 16) + strings.Repeat(" ", 14) + "]   55%  1.5 /s  39s left"},
		{2 * time.Second, step{name: "running bfs", note: "superstep 3", done: 4}, "running bfs  2s  2.0 /s  superstep 3"},
		{1500 * time.Millisecond, step{name: "running bfs", note: "superstep 3"}, "running bfs  1.5s  superstep 3"},
	} {
		test.step.begun = begun
		if got := test.step.line(begun.Add(test.after), 120); got != test.want {
			t.Errorf("%+v: line %q, want %q", test.step, got, test.want)
		}
	}
	// The remaining time of supersteps is estimated from the newest ones, and only if the number of
	// supersteps is limited.
	ran := func(limit int, seconds ...float64) step {
		s := step{name: "running pagerank", begun: begun, superstep: len(seconds) - 1, most: limit, active: 5, senders: 6, scheme: "pull"}
		s.done, s.total = int64(len(seconds)), int64(limit)
		for i, x := range seconds {
			s.left.Add(i, x, begun.Add(4*time.Second))
		}
		return s
	}
	const tail = "pull, 5 active, 6 senders"
	for _, test := range []struct {
		step step
		want string
	}{
		{ran(0, 1, 1, 1, 1), "running pagerank  4s  1.0 /s  superstep 3, " + tail},
		{ran(20, 1, 1), "running pagerank  2 of at most 20 supersteps  0.5 /s  " + tail},
		{ran(20, 1, 0.5, 0.5, 0.5,
			9), "running pagerank  5 of at most 20 supersteps, at most about 8s left  1.2 /s  " +
			tail},
		{
			ran(200, 1, 0.5, 0.5, 0.5,
				9),
			"running pagerank  5 of at most 200 supersteps, at most about 1m38s left  1.2 /s  " +
				tail,
		},
		{ran(4, 1, 1,
			0.01), "running pagerank  3 of at most 4 supersteps, at most about 1s left  0.8 /s  " +
			tail},
		{ran(4, 1, 1, 1, 1), "running pagerank  4 of at most 4 supersteps  1.0 /s  " + tail},
	} {
		if got := test.step.line(begun.Add(4*time.Second), 150); got != test.want {
			t.Errorf("line\n%q, want\n%q", got, test.want)
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

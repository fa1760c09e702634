package trace

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/superstep-go/superstep/record"
)

// kept is a Journal that keeps all events, in order.
type kept struct{ all []any }

func (k *kept) Record(e Event) error {
	k.all = append(k.all, e)
	return nil
}

func (k *kept) play(text string) error {
	return NewReader(strings.NewReader(text), "t.jsonl").Play(k)
}
func (k *kept) into(t *testing.T) string { return written(t, k.all) }

func written(t *testing.T, lines []any) string {
	t.Helper()
	var out bytes.Buffer
	w := Tee{&Named{To: NewWriter(&out), Name: "bfs"}}
	for _, x := range lines {
		err := w.Record(x)
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// sample returns a line of each kind, with all fields set.
func sample() []any {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	return []any{
		&Stage{Job: "bfs", Stage: "reading <roads>", Part: "lines", Done: 4, Total: 4, Seconds: .5},
		&Job{
			Job: "bfs", Program: "bfs", Parameters: map[string]string{"source": "1"},
			Graph: "roads.el", Vertices: 4, Arcs: 8, Partitions: 2,
			Threads: 2, Grid: "2x1", Delivery: "auto", Began: at,
		},
		&record.Superstep{
			Job: "bfs", Superstep: 3, Phase: 2, Program: "Sweep", Scheme: "pull", Delivery: "pull",
			Reason: "pull is \"less\"\n", Seconds: 4, Ended: at,
			Predicted: map[string]float64{"naive": .5, "pull": .25}, Actual: .375,
			Graph:       &record.GraphSize{Vertices: 1<<64 - 1, Arcs: 12},
			Aggregators: []record.Aggregator{{Name: "change", Value: .5}, {Name: "left", Value: 3}},
			Partitions: []record.Partition{
				{
					Worker: "w1", Computed: 1, Delivered: 2, Receivers: 3, Walked: 4, Messages: 5,
					Sent: 6, Bytes: 32, Requests: 11,
					Peers: []record.Peer{{Partition: 1, Exchange: "expand", Encoding: "bitmap", Messages: 6, Bytes: 32}},
					Times: record.Seconds{Expand: .125, Traverse: .25, Fold: .5, Compute: 1, Wait: 2, Total: 4}, Memory: 1 << 20, GCPause: .0625,
				},
				{
					Partition: 1, Computed: 7, Messages: 1, Bytes: 9,
					Times: record.Seconds{Wait: 4, Total: 4},
					Sums:  []record.Sum{{Exchange: "fold", Encoding: "sparse", Columns: 7, Messages: 8, Bytes: 9}, {Columns: 1}},
				},
			},
		},
		&Log{Time: at, Level: "info", Text: "a line\nof two", Job: "bfs", Worker: "w1"},
		&End{Job: "bfs", State: Failed, Error: "why", Supersteps: 4, Seconds: 1.5, GraphLeft: &record.GraphSize{}},
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	text := written(t, sample())
	if n := strings.Count(text, "\n"); n != len(sample()) {
		t.Fatalf("%d lines of %d", n, len(sample()))
	}
	var back kept
	if err := back.play(text + "\n  \n"); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.all, sample()) {
		t.Errorf("found %#v", back.all)
	}
}

func TestStagesUnderWayAreNotWritten(t *testing.T) {
	if text := written(t, []any{&Stage{Stage: "reading", Done: 1}}); text != "" {
		t.Errorf("found %q", text)
	}
}

func TestUnknownKeysAndKindsAreSkipped(t *testing.T) {
	var k kept
	err := k.play(`{"v":2,"kind":"weather","rain":true}` + "\n" +
		`{"v":2,"kind":"end","job":"a","state":"done","ended":"limit","colour":"red"}`)
	if err != nil || len(k.all) != 1 {
		t.Fatalf("found %d lines, error %v", len(k.all), err)
	}
	if e := k.all[0].(*End); e.State != Done || e.Ended != Limit {
		t.Errorf("found %+v", e)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	good := written(t, sample()[:1])
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "1 2\n", `t.jsonl:2: found "1 2", expected a line of a trace`},
		{"no version", "{\"job\":\"bfs\"}\n", "t.jsonl:2: found \"{\\\"job\\\":\\\"bfs\\\"}\", expected a line of a trace, with v and kind"},
		{"later version", `{"v":3,"kind":"superstep"}`, "found version 3 of the trace's form, expected 2: another version of superstep"},
		{"earlier version", `{"v":1,"kind":"superstep"}`, "found version 1 of the trace's form, expected 2: another version of superstep"},
		{"no job", `{"v":2,"kind":"superstep"}`, "found a superstep without a job"},
		{"nameless job", `{"v":2,"kind":"job"}`, "found a job without a name"},
		{"wrong type", `{"v":2,"kind":"superstep","job":"a","superstep":"one"}`, "superstep of type int"},
		{"superstep", `{"v":2,"kind":"superstep","job":"a","superstep":-1}`, "found superstep -1, expected 0 or more"},
		{"partition", `{"v":2,"kind":"superstep","job":"a","partitions":[{"partition":65536}]}`, "found partition 65536, expected 0 to 65535"},
		{"none", `{"v":2,"kind":"superstep","job":"a"}`, "found a superstep without partitions"},
		{"twice", `{"v":2,"kind":"superstep","job":"a","partitions":[{},{}]}`, "found partition 0, expected 0 to 65535, in rising order"},
		{"count", `{"v":2,"kind":"superstep","job":"a","partitions":[{"edges":-3}]}`, "found a time, a count or a text that no run has"},
		{"requests", `{"v":2,"kind":"superstep","job":"a","partitions":[{"requests":-3}]}`, "found a time, a count or a text that no run has"},
		{"time", `{"v":2,"kind":"superstep","job":"a","partitions":[{"seconds":{"wait":-1}}]}`, "found a time, a count or a text that no run has"},
		{"prediction", `{"v":2,"kind":"superstep","job":"a","predicted":{"pull":-1},"partitions":[{}]}`, `found -1 predicted seconds of "pull"`},
		{"peer", `{"v":2,"kind":"superstep","job":"a","partitions":[{"peers":[{"partition":-1}]}]}`, "found a time, a count or a text that no run has"},
		{"partitions", `{"v":2,"kind":"job","job":"a","partitions":1000000}`, "found 1000000 partitions"},
		{"limit", `{"v":2,"kind":"job","job":"a","max_supersteps":-1}`, "found max_supersteps -1, expected 0 or more"},
		{"state", `{"v":2,"kind":"end","job":"a","state":"lost"}`, `found state "lost", expected done`},
		{"ended", `{"v":2,"kind":"end","job":"a","state":"done","ended":"lost"}`, `found ended "lost", expected converged`},
		{"stage", `{"v":2,"kind":"stage","done":-1}`, `found stage ""`},
		{"cut", `{"v":2,"kind":"superstep","job":"a","super`, ErrCut.Error()},
		{"long", strings.Repeat("x", maxLine+1), "found a line of more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k kept
			err := k.play(good + c.line)
			if err == nil || !strings.HasPrefix(err.Error(), "t.jsonl:2: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected %s", err, c.want)
			}
			if errors.Is(err, ErrCut) != (c.name == "cut") {
				t.Errorf("%v: ErrCut is %v", err, errors.Is(err, ErrCut))
			}
			if len(err.Error()) > 400 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func BenchmarkWriteSuperstep(b *testing.B) {
	w, r := NewWriter(io.Discard), sample()[2].(*record.Superstep)
	for b.Loop() {
		_ = w.Record(r)
	}
}

// FuzzReader reads any bytes without a panic. Events that it accepts are written and read back
// unchanged.
func FuzzReader(f *testing.F) {
	for _, x := range sample() {
		var k kept
		k.all = []any{x}
		var out bytes.Buffer
		_ = NewWriter(&out).Record(x)
		f.Add(out.String())
	}
	f.Add("{\"v\":2,\"kind\":\"end\",\"job\":\"a\",\"state\":\"done\"}\n\n{\"v\":2,\"ki")
	f.Fuzz(func(t *testing.T, text string) {
		var k kept
		if err := k.play(text); err != nil && !strings.HasPrefix(err.Error(), "t.jsonl:") {
			t.Errorf("an error without a line: %v", err)
		}
		once := k.into(t)
		var again kept
		if err := again.play(once); err != nil {
			t.Fatalf("%v: %q", err, once)
		}
		if twice := again.into(t); twice != once {
			t.Errorf("found %q, expected %q", twice, once)
		}
	})
}

// TestAnErrorInALineIsReported: an error of reading in the middle of a line is not taken for the
// end of a trace that was cut short.
func TestAnErrorInALineIsReported(t *testing.T) {
	broken := errors.New("the disk is broken")
	in := io.MultiReader(strings.NewReader(`{"v":2,"kind":"superst`), iotest.ErrReader(broken))
	if err := NewReader(in, "t").Play(Tee{}); !errors.Is(err, broken) || errors.Is(err, ErrCut) {
		t.Errorf("found %v, expected %v", err, broken)
	}
}

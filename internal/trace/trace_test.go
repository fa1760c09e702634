package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// kept is a Journal that keeps what it gets, in order.
type kept struct{ all []any }

func (k *kept) keep(x any) error          { k.all = append(k.all, x); return nil }
func (k *kept) Record(s *Superstep) error { return k.keep(s.Clone()) }
func (k *kept) Begin(j *Job) error        { return k.keep(j) }
func (k *kept) End(e *End) error          { return k.keep(e) }
func (k *kept) Stage(s *Stage) error      { return k.keep(s) }
func (k *kept) Log(l *Log) error          { return k.keep(l) }
func (k *kept) play(text string) error    { return NewReader(strings.NewReader(text), "t.jsonl").Play(k) }
func (k *kept) into(t *testing.T) string  { return written(t, k.all) }

func written(t *testing.T, lines []any) string {
	t.Helper()
	var out bytes.Buffer
	w := Tee{&Named{To: NewWriter(&out), Name: "bfs"}}
	for _, x := range lines {
		var err error
		switch x := x.(type) {
		case *Superstep:
			err = w.Record(x)
		case *Job:
			err = w.Begin(x)
		case *End:
			err = w.End(x)
		case *Stage:
			err = w.Stage(x)
		case *Log:
			err = w.Log(x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// sample is a line of each kind, every field set.
func sample() []any {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	return []any{
		&Stage{Job: "bfs", Stage: "reading <roads>", Part: "lines", Done: 4, Total: 4, Seconds: .5},
		&Job{
			Job: "bfs", Program: "bfs", Parameters: map[string]string{"source": "1"}, Graph: "roads.el", Vertices: 4, Arcs: 8, Partitions: 2,
			Threads: 2, Grid: "2x1", Delivery: "auto", Began: at,
		},
		&Superstep{
			Job: "bfs", Superstep: 3, Phase: 2, Program: "Sweep", Scheme: "pull", Delivery: "pull", Reason: "pull is \"less\"\n", Seconds: 4,
			Predicted: map[string]float64{"naive": .5, "pull": .25}, Actual: .375, Graph: &GraphSize{Vertices: 1<<64 - 1, Arcs: 12},
			Partitions: []Partition{
				{
					Worker: "w1", Computed: 1, Delivered: 2, Receivers: 3, Walked: 4, SenderEdges: 5, Sent: 6, Bytes: 32, Requests: 11,
					Peers: []Peer{{Partition: 1, Exchange: "expand", Encoding: "bitmap", Messages: 6, Bytes: 32}},
					Times: Seconds{Expand: .125, Traverse: .25, Fold: .5, Compute: 1, Wait: 2, Total: 4}, Memory: 1 << 20, GCPause: .0625,
				},
				{
					Partition: 1, Computed: 7, SenderEdges: 1, Bytes: 9, Times: Seconds{Wait: 4, Total: 4},
					Sums: []Sum{{Exchange: "fold", Encoding: "sparse", Columns: 7, Messages: 8, Bytes: 9}, {Columns: 1}},
				},
			},
		},
		&Log{Time: at, Level: "info", Text: "a line\nof two", Job: "bfs", Worker: "w1"},
		&End{Job: "bfs", State: Failed, Error: "why", Supersteps: 4, Seconds: 1.5, GraphLeft: &GraphSize{}},
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	text := written(t, sample())
	if n := strings.Count(text, "\n"); n != len(sample())+1 { // the superstep has two
		t.Fatalf("%d lines of %d", n, len(sample())+1)
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
	err := k.play(`{"v":1,"kind":"weather","rain":true}` + "\n" + `{"v":1,"kind":"end","job":"a","outcome":"limit","colour":"red"}`)
	if err != nil || len(k.all) != 1 {
		t.Fatalf("found %d lines, error %v", len(k.all), err)
	}
	if e := k.all[0].(*End); e.State != Done || e.Ended != Limit { // which is how versions before said it
		t.Errorf("found %+v", e)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	good := written(t, sample()[:1])
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "1 2\n", `t.jsonl:2: found "1 2", expected a line of a trace`},
		{"no version", "{\"job\":\"bfs\"}\n", "t.jsonl:2: found \"{\\\"job\\\":\\\"bfs\\\"}\", expected a line of a trace, with v and kind"},
		{"later version", `{"v":2,"kind":"superstep"}`, "found version 2 of the trace's form, expected 1"},
		{"no job", `{"v":1,"kind":"superstep"}`, "found a superstep without a job"},
		{"nameless job", `{"v":1,"kind":"job"}`, "found a job without a name"},
		{"wrong type", `{"v":1,"kind":"superstep","job":"a","superstep":"one"}`, "partitionLine.superstep of type int"},
		{"superstep", `{"v":1,"kind":"superstep","job":"a","superstep":-1}`, "found superstep -1, expected 0 or more"},
		{"partition", `{"v":1,"kind":"superstep","job":"a","partition":65536}`, "found partition 65536, expected 0 to 65535"},
		{"count", `{"v":1,"kind":"superstep","job":"a","edges":-3}`, "found a negative count"},
		{"requests", `{"v":1,"kind":"superstep","job":"a","requests":-3}`, "found a negative count"},
		{"time", `{"v":1,"kind":"superstep","job":"a","seconds":{"wait":-1}}`, "found a negative time"},
		{"prediction", `{"v":1,"kind":"superstep","job":"a","predicted":{"pull":-1}}`, `found -1 predicted seconds of "pull"`},
		{"peer", `{"v":1,"kind":"superstep","job":"a","peers":[{"partition":-1}]}`, "found a peer -1"},
		{"partitions", `{"v":1,"kind":"job","job":"a","partitions":1000000}`, "found 1000000 partitions"},
		{"limit", `{"v":1,"kind":"job","job":"a","max_supersteps":-1}`, "found max_supersteps -1, expected 0 or more"},
		{"state", `{"v":1,"kind":"end","job":"a","outcome":"lost"}`, `found state "lost", expected done`},
		{"ended", `{"v":1,"kind":"end","job":"a","state":"done","ended":"lost"}`, `found ended "lost", expected converged`},
		{"stage", `{"v":1,"kind":"stage","done":-1}`, `found stage ""`},
		{"cut", `{"v":1,"kind":"superstep","job":"a","super`, ErrCut.Error()},
		{"long", strings.Repeat("x", maxLine+1), "found a line of more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k kept
			err := k.play(good + c.line)
			if err == nil || !strings.HasPrefix(err.Error(), "t.jsonl:2: ") || !strings.Contains(err.Error(), c.want) {
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

// TestSuperstepsAreWrittenAsJSONIs compares the fast writer with encoding/json.
func TestSuperstepsAreWrittenAsJSONIs(t *testing.T) {
	check := func(s *Superstep) {
		t.Helper()
		var want []byte
		for _, p := range s.Partitions {
			line, err := json.Marshal(struct {
				head
				*partitionLine
			}{head{Version, kindRecord}, &partitionLine{
				Job: s.Job, Superstep: s.Superstep, Phase: s.Phase, Program: s.Program, Partition: p.Partition, Worker: p.Worker, Scheme: s.Scheme, Delivery: s.Delivery,
				Active: p.Computed, Senders: p.Delivered, Receivers: p.Receivers, Edges: p.Walked, Messages: p.SenderEdges + p.Sends, Sent: p.Sent,
				Requests: p.Requests, Graph: s.Graph, Peers: p.Peers, Sums: p.Sums, Times: p.Times, Predicted: s.Predicted, Actual: s.Actual, Reason: s.Reason, Memory: p.Memory,
				GCPause: p.GCPause,
			}})
			if err != nil {
				t.Fatal(err)
			}
			want = append(append(want, line...), '\n')
		}
		if got := appendSuperstep(nil, s); string(got) != string(want) {
			t.Errorf("found %s, expected %s", got, want)
		}
	}
	check(sample()[2].(*Superstep))
	check(&Superstep{Partitions: []Partition{{}}})
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "pull", "12.5 µs", "\"\\", "<b>&", "\x00\n", "\xff", "\u2028", "\u202e", "日本", "\U0001f600"}
	number := func() float64 {
		return []float64{
			0, 1e-7, 1e-6, 9.99e-7, 1.5, 1e20, 1e21, 1e300, 5e-324, .1, random.Float64(), random.ExpFloat64() * 1e-5, -1, -1e-9,
			time.Duration(random.Int64N(1 << (1 + random.IntN(60)))).Seconds(), 1e-9, 123456.789, 999999.999999999, 999999, 1e-10, 1.5e-12, 2.5e-100,
		}[random.IntN(22)]
	}
	text := func() string { return texts[random.IntN(len(texts))] + texts[random.IntN(len(texts))] }
	for range 3000 {
		p := Partition{
			Partition: -random.Int(), Worker: text(), Computed: random.Int(), SenderEdges: -1, Requests: random.IntN(2) * random.Int(), GCPause: number(), Memory: random.Int64(),
			Times: Seconds{number(), number(), number(), number(), number(), number()},
		}
		r := &Superstep{
			Job: text(), Superstep: random.Int(), Phase: random.IntN(2), Program: text(), Scheme: text(), Delivery: text(), Reason: text(), Actual: number(), Predicted: map[string]float64{},
		}
		if random.IntN(2) == 0 {
			r.Graph = &GraphSize{random.Uint64(), random.Uint64()}
		}
		for range random.IntN(3) {
			r.Predicted[text()] = number()
			p.Peers = append(p.Peers, Peer{random.Int(), text(), text(), random.Int(), random.Int()})
		}
		r.Partitions = append(r.Partitions, p, Partition{Partition: 3, Sends: 4})
		check(r)
	}
}

func BenchmarkWriteSuperstep(b *testing.B) {
	w, r := NewWriter(io.Discard), sample()[2].(*Superstep)
	for b.Loop() {
		_ = w.Record(r)
	}
}

// FuzzReader reads anything without a panic, and what it takes it writes so that it reads the same again.
func FuzzReader(f *testing.F) {
	for _, x := range sample() {
		var k kept
		k.all = []any{x}
		var out bytes.Buffer
		w := NewWriter(&out)
		switch x := x.(type) {
		case *Superstep:
			_ = w.Record(x)
		case *Job:
			_ = w.Begin(x)
		}
		f.Add(out.String())
	}
	f.Add("{\"v\":1,\"kind\":\"end\",\"job\":\"a\",\"outcome\":\"limit\"}\n\n{\"v\":1,\"ki")
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
		if len(again.all) < len(k.all) {
			return // supersteps of two jobs became one: written gives all the same name
		}
		if twice := again.into(t); twice != once {
			t.Errorf("found %q, expected %q", twice, once)
		}
	})
}

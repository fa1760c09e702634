package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// superstep makes a superstep of two seconds. Each partition is busy for the given number of
// seconds.
func superstep(number int, busy ...float64) *record.Superstep {
	s := &record.Superstep{
		Job: "j", Superstep: number, Scheme: "pull", Delivery: "pull", Reason: "why",
		Predicted: map[string]float64{"naive": 3, "pull": 1}, Actual: 2,
	}
	for p, busy := range busy {
		s.Partitions = append(s.Partitions, record.Partition{
			Partition: p, Computed: 1, Delivered: 2, Receivers: 3, Walked: 4, Messages: 5, Sent: 6,
			Bytes: 7, Memory: 100, GCPause: .5,
			Peers: []record.Peer{{Partition: 1 - p, Exchange: "expand", Encoding: "sparse", Messages: 6, Bytes: 7}},
			Times: record.Seconds{Expand: busy / 2, Traverse: busy / 2, Wait: 2 - busy, Total: 2},
		})
	}
	return s
}

// active makes a superstep in which each of the partitions ran one vertex.
func active(job string, number, partitions int) *record.Superstep {
	s := &record.Superstep{Job: job, Superstep: number}
	for p := range partitions {
		s.Partitions = append(s.Partitions, record.Partition{Partition: p, Computed: 1})
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled returns a Store with a run of two partitions. The second does a third of the work.
func filled(t *testing.T, supersteps int) *Store {
	t.Helper()
	s := NewStore()
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 2}))
	for i := range supersteps {
		must(t, s.Record(superstep(i, 1.5, .5)))
	}
	return s
}

func TestStepSumsAndMeans(t *testing.T) {
	steps, err := filled(t, 1).Steps("1", 0, 10)
	must(t, err)
	if len(steps) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	got := *steps[0]
	want := trace.Step{
		Superstep: 0, Scheme: "pull", Delivery: "pull", Reason: "why",
		Predicted: map[string]float64{"naive": 3, "pull": 1}, Actual: 2,
		Active: 2, Senders: 4, Receivers: 6, Edges: 8, Messages: 10, Sent: 12, Bytes: 14,
		Times:      record.Seconds{Expand: .5, Traverse: .5, Wait: 1, Total: 2},
		Busy:       trace.Spread{Least: .5, Mean: 1, Most: 1.5, Slowest: 0},
		Partitions: 2, Memory: 100, GCPause: .5,
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("found %s, expected %s", a, b)
	}
	if got.Regret() != 0 || got.Busy.Ratio() != 1.5 {
		t.Errorf("regret %g, ratio %g", got.Regret(), got.Busy.Ratio())
	}
}

func TestRegret(t *testing.T) {
	predicted := map[string]float64{"naive": 4, "mirrored": 5, "pull": 3}
	for _, c := range []struct {
		scheme       string
		actual, want float64
	}{
		{"pull", 3, 0},
		{"pull", 3.5, 0},
		{"pull", 5, 1},           // naive would have taken 4
		{"pull", 6, 2},           // twice the prediction, but still the best
		{"pull", 60, 0},          // disturbed: naive would have taken 80
		{"naive", 4, 1},          // forced
		{"naive", 40, 10},        // forced and disturbed: pull would have taken 30
		{"mirrored", 2, 0},       // better than predicted
		{"not predicted", 10, 7}, // no prediction to scale
	} {
		s := trace.Step{Scheme: c.scheme, Predicted: predicted, Actual: c.actual}
		if got := s.Regret(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s took %g: regret %g, expected %g", c.scheme, c.actual, got, c.want)
		}
	}
	alone := trace.Step{Scheme: "pull", Predicted: map[string]float64{"pull": 1}, Actual: 9}
	if got := alone.Regret(); got != 0 {
		t.Errorf("regret %g without a choice", got)
	}
}

func TestJobGoesFromBeginToEnd(t *testing.T) {
	s := filled(t, 3)
	idle := superstep(3, .1)
	// no messages are delivered, only bytes count
	idle.Partitions[0].Computed, idle.Partitions[0].Messages = 0, 0
	must(t, s.Record(idle))
	must(t,
		s.Record(&trace.End{Job: "j", State: trace.Done, Ended: trace.Limit, Seconds: 9, Supersteps: 3, Aggregators: trace.Aggregates{
			"most": []byte("9223372036854775807"),
			"long": []byte(`"` + strings.Repeat("é", 100) + `"`),
		}}))
	j, err := s.Job("1")
	must(t, err)
	if j.State != trace.Done || j.Ended != trace.Limit || j.Supersteps != 3 || j.Seconds != 9 ||
		j.Messages != 30 || j.Bytes != 49 || j.Summary.Bytes != 49 || j.Summary.Supersteps != 3 {
		t.Errorf("found %+v", j)
	}
	if a := j.Aggregators; a["most"] != "9223372036854775807" ||
		a["long"] != strings.Repeat("é", 40)+"..." {
		t.Errorf("the aggregators are %q", a)
	}
	if len(j.Said) != 3 || !strings.Contains(j.Said[0], "time: ") ||
		!strings.Contains(j.Said[2], "partition 0 worked 1.5 times the mean") {
		t.Errorf("output %q", j.Said)
	}
	steps, err := s.Steps("1", 1, 2)
	must(t, err)
	if len(steps) != 2 || steps[0].Superstep != 1 {
		t.Errorf("%d steps from %d", len(steps), steps[0].Superstep)
	}
	if _, err := s.Job("2"); err == nil || !strings.Contains(err.Error(), `there is no job "2"`) {
		t.Errorf("error %v", err)
	}
}

func TestARunWithoutBeginOrEnd(t *testing.T) {
	s := NewStore()
	must(t, s.Record(superstep(0, 1)))
	must(t, s.Record(superstep(1, 1)))
	must(t, s.Record(&trace.Job{Job: "j"}))
	jobs := s.Jobs()
	if len(jobs) != 2 || jobs[0].State != trace.Failed || jobs[0].Supersteps != 2 ||
		jobs[1].State != trace.Running {
		t.Errorf("found %+v", jobs)
	}
}

func TestASuperstepThatRunsAgainReplacesWhatCameAfter(t *testing.T) {
	s := filled(t, 5)
	must(t, s.Record(superstep(2, 1, 1)))
	steps, err := s.Steps("1", 0, 100)
	must(t, err)
	if len(steps) != 3 || steps[2].Superstep != 2 || steps[2].Busy.Most != 1 {
		t.Errorf("%d steps, the last %+v", len(steps), steps[len(steps)-1])
	}
	if d, err := s.Detail("1", 4); d != nil || err != nil {
		t.Errorf("superstep 4 is kept: %+v, %v", d, err)
	}
	if d, err := s.Detail("1", 2); d == nil || err != nil || d.Partitions[0].Times.Expand != .5 {
		t.Errorf("superstep 2: %+v, %v", d, err)
	}
}

func TestWholeAndDetail(t *testing.T) {
	s := filled(t, 4)
	w, err := s.Whole("1")
	must(t, err)
	if len(w.Totals) != 2 || w.Totals[0].Times.Expand != 3 || w.Totals[1].Bytes != 28 ||
		w.Totals[1].Partition != 1 {
		t.Errorf("totals %+v", w.Totals)
	}
	if !slices.Equal(w.Matrix.Bytes, []int{0, 28, 28, 0}) || w.Matrix.Side != 2 ||
		w.Matrix.Per != 1 {
		t.Errorf("matrix %+v", w.Matrix)
	}
	if len(w.Encoded) != 1 ||
		w.Encoded[0] != (record.Sum{Exchange: "expand", Encoding: "sparse", Columns: 8, Messages: 48, Bytes: 56}) {
		t.Errorf("encoded %+v", w.Encoded)
	}
	d, err := s.Detail("1", 1)
	must(t, err)
	if len(d.Partitions) != 2 || d.Partitions[1].Partition != 1 ||
		len(d.Partitions[0].Peers) != 1 ||
		d.Partitions[1].Peers[0].Partition != 0 {
		t.Errorf("detail %+v", d)
	}
	l, err := s.Lanes("1", 2)
	must(t, err)
	if l.Columns != 2 || l.Every != 2 || !slices.Equal(l.Busy, []int8{75, 75, 25, 25}) {
		t.Errorf("lanes %+v", l)
	}
}

// TestSums: records without pairs of partitions have sums.
func TestSums(t *testing.T) {
	s := NewStore()
	must(t, s.Record(&trace.Job{Job: "big", Partitions: 2}))
	big := active("big", 0, 2)
	for p := range big.Partitions {
		big.Partitions[p].Bytes, big.Partitions[p].Sums = 8, []record.Sum{
			{Exchange: "fold", Encoding: "sparse", Columns: 3, Messages: 4, Bytes: 5},
			{Exchange: "fold", Encoding: "bitmap", Columns: 1, Messages: 2, Bytes: 3},
		}
	}
	must(t, s.Record(big))
	w, err := s.Whole("1")
	must(t, err)
	if !w.Matrix.Summed || !slices.Equal(w.Matrix.Bytes, make([]int, 4)) || w.Totals[1].Bytes != 8 {
		t.Errorf("found %+v", w)
	}
	if len(w.Encoded) != 2 ||
		w.Encoded[0] != (record.Sum{Exchange: "fold", Encoding: "sparse", Columns: 6, Messages: 8, Bytes: 10}) {
		t.Errorf("encoded %+v", w.Encoded)
	}
	if d, err := s.Detail("1", 0); err != nil || len(d.Partitions[1].Sums) != 2 ||
		d.Partitions[0].Bytes != 8 ||
		d.Step.Bytes != 16 {
		t.Errorf("found %+v, %v", d, err)
	}
	if w, err := filled(t, 1).Whole("1"); err != nil || w.Matrix.Summed {
		t.Errorf("found %+v, %v", w.Matrix, err)
	}
}

// TestMatrixGrows compares random matrices with one of fixed size.
func TestMatrixGrows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 5, 128, 129, 700, 4096} {
		var m Matrix
		type pair struct{ from, to int }
		sums := map[pair]int{}
		for range 2000 {
			p := pair{r.IntN(most), r.IntN(most)}
			bytes := r.IntN(100)
			m.add(p.from, p.to, bytes)
			sums[p] += bytes
		}
		want := make([]int, m.Side*m.Side)
		for p, bytes := range sums {
			want[p.from/m.Per*m.Side+p.to/m.Per] += bytes
		}
		if !slices.Equal(m.Bytes, want) || m.Side > maxSide || m.Side*m.Per < m.partitions {
			t.Errorf("%d partitions: side %d, per %d: the sums differ", most, m.Side, m.Per)
		}
	}
}

func TestEventsResume(t *testing.T) {
	s := NewStore()
	_, start, changed, _ := s.Events("")
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 1}))
	select {
	case <-changed:
	default:
		t.Error("no listener was notified")
	}
	must(t, s.Record(&record.Superstep{Job: "j", Partitions: make([]record.Partition, 1)}))
	must(t, s.Record(&trace.Log{Text: "x"}))
	kinds := func(events []Event) string {
		var all []string
		for _, e := range events {
			all = append(all, e.Kind)
		}
		return strings.Join(all, " ")
	}
	events, next, _, lost := s.Events(start)
	if kinds(events) != "job step log" || lost {
		t.Errorf("found %s, lost %t", kinds(events), lost)
	}
	if again, _, _, _ := s.Events(s.Cursor(events[0])); kinds(again) != "step log" {
		t.Errorf("after the first: %s", kinds(again))
	}
	if none, _, _, lost := s.Events(next); len(none) != 0 || lost {
		t.Errorf("at the end: %s, lost %t", kinds(none), lost)
	}
	for range maxEvents {
		must(t, s.Record(&trace.Log{}))
	}
	for _, c := range []Cursor{start, "x", "-", "x-1", Cursor(NewStore().epoch +
		"-1"), s.cursor(math.MaxUint64)} {
		if events, _, _, lost := s.Events(c); !lost || len(events) != 0 {
			t.Errorf("%s: lost %t, with %d events", c, lost, len(events))
		}
	}
	if events, _, _, lost := s.Events(s.cursor(s.ring.next - maxEvents)); lost ||
		len(events) != maxEvents {
		t.Errorf("the oldest kept: lost %t, with %d events", lost, len(events))
	}
}

// TestReadersAndWriters is for the race detector.
func TestReadersAndWriters(t *testing.T) {
	s := NewStore()
	var readers, writers sync.WaitGroup
	done := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			name := fmt.Sprint("j", w)
			_ = s.Record(&trace.Job{Job: name, Partitions: 2})
			for i := range 300 {
				r := superstep(i, 1, 1)
				r.Job = name
				_ = s.Record(r)
				_ = s.Record(&trace.Stage{Stage: "work", Done: int64(i)})
			}
			_ = s.Record(&trace.End{Job: name, State: trace.Done, Ended: trace.Converged})
		})
	}
	readers.Go(func() {
		cursor := Cursor("")
		for {
			events, next, changed, _ := s.Events(cursor)
			_, _ = json.Marshal(events)
			cursor = next
			for _, j := range s.Jobs() {
				steps, _ := s.Steps(j.ID, 0, 1000)
				d, _ := s.Detail(j.ID, len(steps)-1)
				w, _ := s.Whole(j.ID)
				l, _ := s.Lanes(j.ID, 50)
				_, _ = json.Marshal([]any{j, steps, d, w, l, s.Stages(), s.Lines()})
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
}

func TestSummary(t *testing.T) {
	var m Meter
	push := func(job string, number int, actual float64) {
		s := superstep(number, 1, .2)
		s.Job, s.Delivery, s.Scheme, s.Actual = job, "push", "naive", actual
		must(t, m.Record(s))
	}
	push("j warm-up", 0, 100)
	push("j", 0, 6) // predicted: naive 3, pull 1
	push("j", 1, 1.5)
	// an empty superstep does not count
	must(t,
		m.Record(&record.Superstep{Job: "j", Superstep: 2, Delivery: "push", Partitions: make([]record.Partition, 2)}))
	s := m.Summary
	if s.Supersteps != 2 || s.Pushed != (StepTotal{2, 4}) || s.Pulled != (StepTotal{}) {
		t.Errorf("found %+v", s)
	}
	if math.Abs(s.Regret-5.5) > 1e-9 || math.Abs(s.MedianError-2) > .05 ||
		math.Abs(s.Skew-.8) > 1e-9 {
		t.Errorf("regret %g, error %g, skew %g; expected 5.5, 2, 0.8", s.Regret,
			s.MedianError, s.Skew)
	}
	want := []string{
		"time: wait 70 %, traverse 15 %, expand 15 %",
		"delivery: 2 pushed in 4 s, 0 pulled in 0 s; predictions off by a factor of 2.0 (2 above 1 ms, the middle half); by them another choice would have saved 5.5 s, 73.3 %",
		"skew: waiting for the slowest partition took 800 ms of 4 s; most in superstep 0, where partition 0 worked 1.7 times the mean",
	}
	if got := s.Lines(); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if (&Summary{}).Lines() != nil {
		t.Error("nothing has lines")
	}
}

// TestSummariesOfTinyRuns: times below a millisecond are too short to judge a program or
// predictions.
func TestSummariesOfTinyRuns(t *testing.T) {
	step := func(total, actual float64) *trace.Step {
		return &trace.Step{
			Delivery: "push", Scheme: "naive", Active: 1, Partitions: 1,
			Times:     record.Seconds{Compute: total - actual, Traverse: actual, Total: total},
			Actual:    actual,
			Predicted: map[string]float64{"naive": actual / 246, "pull": actual / 200},
		}
	}
	for _, test := range []struct {
		steps []*trace.Step
		want  []string
	}{
		{[]*trace.Step{step(.9e-3, .8e-3)}, nil},
		{
			[]*trace.Step{step(5e-3,
				.9e-3)},
			[]string{"time: compute 82 %, traverse 18 %", "delivery: 1 pushed in 5 ms, 0 pulled in 0 s"},
		},
		{[]*trace.Step{step(.8e-3, .6e-3), step(.8e-3, .6e-3)}, []string{
			"time: traverse 75 %, compute 25 %",
			"delivery: 2 pushed in 1.6 ms, 0 pulled in 0 s",
		}},
	} {
		var s Summary
		for _, step := range test.steps {
			s.Add("j", step)
		}
		if got := s.Lines(); !slices.Equal(got, test.want) {
			t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"),
				strings.Join(test.want, "\n"))
		}
	}
}

// TestPredictionsAreJudgedByARange: a single bad prediction does not determine the report's
// judgement.
func TestPredictionsAreJudgedByARange(t *testing.T) {
	var s Summary
	for _, off := range []float64{1, 2, 4, 162754} {
		s.Add("j", &trace.Step{
			Delivery: "pull", Scheme: "pull", Active: 1, Partitions: 1,
			Times:  record.Seconds{Traverse: 2e-3, Total: 2e-3},
			Actual: 2e-3, Predicted: map[string]float64{"naive": 1, "pull": 2e-3 / off},
		})
	}
	const want = "delivery: 0 pushed in 0 s, 4 pulled in 8 ms; predictions off by a factor of 1.0 to 3.9 (4 above 1 ms, the middle half)"
	if got := s.Lines(); len(got) != 2 || got[1] != want {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestMediansOfFactors: medians that are computed from counts of buckets are near the medians of
// the sorted values.
func TestMediansOfFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 200; n++ {
		var f factors
		all := make([]float64, n)
		for i := range all {
			all[i] = math.Exp(2 * r.ExpFloat64())
			f.add(math.Log(all[i]))
		}
		slices.Sort(all)
		if got, want := f.quantile(2),
			min(all[(n-1)/2], 160e3); math.Abs(math.Log(got/want)) > .025 {
			t.Errorf("median %g of %d factors, expected %g", got, n, want)
		}
	}
}

func TestMeterMakesNoGarbage(t *testing.T) {
	var m Meter
	r := superstep(0, 1, 1)
	_ = m.Record(r)
	if n := testing.AllocsPerRun(100, func() { r.Superstep++; _ = m.Record(r) }); n > 0 {
		t.Errorf("%g allocations a record", n)
	}
}

func BenchmarkStore(b *testing.B) {
	s := NewStore()
	_ = s.Record(&trace.Job{Job: "j", Partitions: 2})
	r := superstep(0, 1, 1)
	for i := 0; b.Loop(); i++ {
		r.Superstep = i
		_ = s.Record(r)
	}
}

func BenchmarkMeter(b *testing.B) {
	var m Meter
	r := superstep(0, 1, 1)
	for i := 0; b.Loop(); i++ {
		r.Superstep = i
		_ = m.Record(r)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 2.5e-6: "2.5 µs", 9.994e-4: "999 µs", 9.996e-4: "1 ms", .0123: "12.3 ms",
		.9994: "999 ms", .9996: "1 s", 99.94: "99.9 s", 99.96: "100 s", 3600: "3600 s",
	} {
		if found := Seconds(s); found != want {
			t.Errorf("%v s: found %s, expected %s", s, found, want)
		}
	}
}

// TestARunThatGoesOnCountsFromItsBeginning: the numbers of a resumed run equal those of an
// uninterrupted one, whenever its past is reported.
func TestARunThatGoesOnCountsFromItsBeginning(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	step := func(i int) *record.Superstep {
		s := superstep(i, .25*float64(1+i))
		s.Scheme, s.Predicted, s.Actual = "pull",
			map[string]float64{"pull": .01 * float64(1+i), "naive": .5}, .02
		return s
	}
	whole, first := NewStore(), &Meter{}
	must(t, whole.Record(&trace.Job{Job: "j", Began: began}))
	must(t, first.Record(&trace.Job{Job: "j", Began: began}))
	for i := range 6 {
		must(t, whole.Record(step(i)))
		if i < 4 {
			must(t, first.Record(step(i)))
		}
	}
	want, err := whole.Job("1")
	must(t, err)
	for _, late := range []bool{false, true} {
		s, b := NewNamedStore(),
			&trace.Job{Job: "j", Began: time.Now(), Before: first.Account(began)}
		if late {
			must(t, s.Record(&trace.Job{Job: "j", Began: time.Now()}))
			b.More = true
			must(t, s.Record(b))
		} else {
			must(t, s.Record(b))
		}
		must(t, s.Record(step(4)))
		must(t,
			s.Record(
				&trace.Job{More: true, Job: "j", Began: time.Now(), Before: first.Account(began)}))
		must(t, s.Record(step(5)))
		got, err := s.Job("j")
		must(t, err)
		got.ID = want.ID
		if a, b := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got); a != b {
			t.Errorf("found\n%s\nexpected\n%s", b, a)
		}
	}
}

package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Summary is what a run, or several, come to.
type Summary struct {
	Supersteps int            `json:"supersteps"`
	Times      record.Seconds `json:"seconds"` // sums of the supersteps' means
	Pushed     StepTotal      `json:"pushed"`
	Pulled     StepTotal      `json:"pulled"`

	// Skew is the time that partitions which work longer than the mean cost, and Worst the
	// superstep it was most in.
	Skew  float64 `json:"skew"`
	Worst Skewed  `json:"worst"`

	// Chosen counts the supersteps with a choice, which took Delivered seconds to deliver. Regret
	// is how many of these another choice would have saved by the model's own predictions.
	Chosen    int     `json:"chosen"`
	Delivered float64 `json:"delivered"`
	Regret    float64 `json:"regret"`
	// MedianError is the median factor by which predictions were off, either way, of the Judged
	// deliveries that took a millisecond or more.
	Judged      int     `json:"judged"`
	MedianError float64 `json:"median_error"`
	factors     factors

	Messages, Sent, Bytes int     `json:"-"`
	Partitions            int     `json:"partitions"`
	Memory                int64   `json:"memory"` // the most seen
	GCPause               float64 `json:"gc_pause"`
}

// account is a Summary as checkpoints keep it, and when the run began.
type account struct {
	Summary
	Began    time.Time      `json:"began"`
	Messages int            `json:"messages"`
	Sent     int            `json:"messages_sent"`
	Bytes    int            `json:"bytes"`
	Factors  map[int]uint32 `json:"factors"` // those that are not 0
}

// Account encodes what a run that began then has come to, for its checkpoints.
func (s *Summary) Account(began time.Time) json.RawMessage {
	a := account{*s, began, s.Messages, s.Sent, s.Bytes, map[int]uint32{}}
	for i, n := range s.factors {
		if n > 0 {
			a.Factors[i] = n
		}
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil // with a time that is no number: later figures count from the checkpoint
	}
	return data
}

// Before decodes what Account has encoded. It is the zero Summary where there is none, as in the
// checkpoints of a Go program.
func Before(data json.RawMessage) (s Summary, began time.Time) {
	var a account
	if json.Unmarshal(data, &a) != nil {
		return Summary{}, time.Time{}
	}
	s = a.Summary
	s.Messages, s.Sent, s.Bytes = a.Messages, a.Sent, a.Bytes
	for i, n := range a.Factors {
		if i >= 0 && i < len(s.factors) {
			s.factors[i] = n
		}
	}
	return s, a.Began
}

// StepTotal is a number of supersteps and their time.
type StepTotal struct {
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
}

func (s *StepTotal) add(took float64) { s.Supersteps, s.Seconds = s.Supersteps+1, s.Seconds+took }

// Skewed is a superstep in which partitions differ.
type Skewed struct {
	Job       string  `json:"job,omitempty"`
	Superstep int     `json:"superstep"`
	Partition int     `json:"partition"`
	Ratio     float64 `json:"ratio"`   // the slowest over the mean
	Seconds   float64 `json:"seconds"` // the slowest less the mean
}

// tiny is the time in seconds below which a run is not summed up for people, nor the prediction of
// a delivery: such times are the machine's, not the program's.
const tiny = 1e-3

// factors counts factors by their logarithms, so that the median of any number of them is known to
// 2.5 %.
type factors [256]uint32

// perFactor is how many of the counters there are to a factor of e. The last counter takes all from
// 170,000 on.
const perFactor = 255.0 / 12

// add takes in a factor, of which log is the logarithm, not below 0.
func (f *factors) add(log float64) { f[int(min(log*perFactor+.5, float64(len(f)-1)))]++ }

// quantile is the factor that q quarters of all do not exceed: 2 is the median.
func (f *factors) quantile(q uint32) float64 {
	var sum uint32
	for _, n := range f {
		sum += n
	}
	at, left := 0, max((q*sum+2)/4, 1)
	for left > f[at] {
		left -= f[at]
		at++
	}
	return math.Exp(float64(at) / perFactor)
}

// Add takes in a superstep of a job, or of the search of a benchmark.
func (s *Summary) Add(job string, step *trace.Step) {
	s.Times.Add(&step.Times)
	s.Messages += step.Messages
	s.Sent += step.Sent
	s.Bytes += step.Bytes
	s.Partitions = max(s.Partitions, step.Partitions)
	s.Memory = max(s.Memory, step.Memory)
	s.GCPause += step.GCPause
	if step.Active == 0 {
		return // it has delivered to nobody, and is not counted
	}
	s.Supersteps++
	switch step.Delivery {
	case "push":
		s.Pushed.add(step.Times.Total)
	case "pull":
		s.Pulled.add(step.Times.Total)
	}
	lost := step.Busy.Most - step.Busy.Mean
	s.Skew += lost
	if lost > s.Worst.Seconds {
		s.Worst = Skewed{job, step.Superstep, step.Busy.Slowest, step.Busy.Ratio(), lost}
	}
	if len(step.Predicted) > 1 {
		s.Chosen++
		s.Delivered += step.Actual
		s.Regret += step.Regret()
	}
	if guess := step.Predicted[step.Scheme]; guess > 0 && step.Actual >= tiny {
		s.Judged++
		s.factors.add(math.Abs(math.Log(step.Actual / guess)))
		s.MedianError = s.factors.quantile(2)
	}
}

// Lines words the summary for people, a line for each thing there is to say: none of a run below a
// millisecond.
func (s *Summary) Lines() []string {
	if s.Supersteps == 0 || s.Times.Total < tiny {
		return nil
	}
	lines := []string{"time: " + s.phases()}
	if s.Pushed.Supersteps+s.Pulled.Supersteps > 0 {
		lines = append(lines, "delivery: "+s.switching())
	}
	if s.Partitions > 1 {
		of := ""
		if strings.Contains(s.Worst.Job, " ") { // a search of a benchmark
			of = " of " + s.Worst.Job
		}
		lines = append(lines, fmt.Sprintf("skew: waiting for the slowest partition took %s of %s; most in superstep %d%s, where partition %d worked %.1f times the mean",
			Seconds(s.Skew), Seconds(s.Times.Total), s.Worst.Superstep, of, s.Worst.Partition, s.Worst.Ratio))
	}
	return lines
}

// phases says where the time went, most first.
func (s *Summary) phases() string {
	t := &s.Times
	other := max(0, t.Total-t.Busy()-t.Wait)
	type part struct {
		name    string
		seconds float64
	}
	parts := []part{{"traverse", t.Traverse}, {"compute", t.Compute}, {"expand", t.Expand}, {"fold", t.Fold}, {"wait", t.Wait}, {"other", other}}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.seconds, a.seconds) })
	var words []string
	for _, p := range parts {
		if share := 100 * p.seconds / t.Total; share >= 0.5 {
			words = append(words, fmt.Sprintf("%s %.0f %%", p.name, share))
		}
	}
	return strings.Join(words, ", ")
}

func (s *Summary) switching() string {
	text := fmt.Sprintf("%d pushed in %s, %d pulled in %s", s.Pushed.Supersteps, Seconds(s.Pushed.Seconds), s.Pulled.Supersteps, Seconds(s.Pulled.Seconds))
	if s.Judged > 0 {
		off := fmt.Sprintf("%.1f", s.factors.quantile(1))
		if most := fmt.Sprintf("%.1f", s.factors.quantile(3)); most != off {
			off += " to " + most
		}
		text += fmt.Sprintf("; predictions off by a factor of %s (%d above 1 ms, the middle half)", off, s.Judged)
	}
	if s.Regret >= tiny {
		text += fmt.Sprintf("; by them another choice would have saved %s, %.1f %%", Seconds(s.Regret), 100*s.Regret/s.Delivered)
	}
	return text
}

// Seconds writes a time for people.
func Seconds(s float64) string {
	switch { // by what three digits make of it
	case s <= 0:
		return "0 s"
	case s < .9995e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < .9995:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 99.95:
		return fmt.Sprintf("%.3g s", s)
	default:
		return fmt.Sprintf("%.0f s", s)
	}
}

// Meter is a Journal that sums up runs, and keeps nothing else: it costs a run as good as nothing.
type Meter struct {
	Summary
	step trace.Step
}

// Record sums up supersteps, but not those of a run that only warms up. A run that goes on from a
// checkpoint counts from its beginning.
func (m *Meter) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if len(e.Before) > 0 {
			m.Summary, _ = Before(e.Before)
		}
	case *record.Superstep:
		if !strings.HasSuffix(e.Job, trace.WarmUp) {
			m.step.Sum(e)
			m.Add(e.Job, &m.step)
		}
	}
	return nil
}

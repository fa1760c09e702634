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

// Summary is the summary of one or several runs.
type Summary struct {
	Supersteps int            `json:"supersteps"`
	Times      record.Seconds `json:"seconds"` // sums of the supersteps' means
	Pushed     StepTotal      `json:"pushed"`
	Pulled     StepTotal      `json:"pulled"`

	// Skew is the time lost because partitions work longer than the mean. Worst is the superstep
	// with the largest loss.
	Skew  float64 `json:"skew"`
	Worst Skewed  `json:"worst"`

	// Chosen is the number of supersteps with a choice of schemes. Their deliveries took Delivered
	// seconds. By the model's own predictions, another choice would have saved Regret seconds.
	Chosen    int     `json:"chosen"`
	Delivered float64 `json:"delivered"`
	Regret    float64 `json:"regret"`
	// MedianError is the median factor between predicted and measured time, in either direction, of
	// the Judged deliveries that took at least a millisecond.
	Judged      int     `json:"judged"`
	MedianError float64 `json:"median_error"`
	factors     factors

	Messages, Sent, Bytes int     `json:"-"`
	Partitions            int     `json:"partitions"`
	Memory                int64   `json:"memory"` // maximum
	GCPause               float64 `json:"gc_pause"`
}

// account is a Summary as stored in checkpoints, with the start of the run.
type account struct {
	Summary
	Began    time.Time      `json:"began"`
	Messages int            `json:"messages"`
	Sent     int            `json:"messages_sent"`
	Bytes    int            `json:"bytes"`
	Factors  map[int]uint32 `json:"factors"` // factors other than 0
}

// Account encodes the summary of a run that began at a time, for its checkpoints.
func (s *Summary) Account(began time.Time) json.RawMessage {
	a := account{*s, began, s.Messages, s.Sent, s.Bytes, map[int]uint32{}}
	for i, n := range s.factors {
		if n > 0 {
			a.Factors[i] = n
		}
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil // a time is NaN or infinite: later figures will only count from the checkpoint
	}
	return data
}

// Before decodes the result of Account. It returns the zero Summary if there is none, as in
// checkpoints of Go programs.
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

// StepTotal is a number of supersteps and their total time.
type StepTotal struct {
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
}

func (s *StepTotal) add(took float64) { s.Supersteps, s.Seconds = s.Supersteps+1, s.Seconds+took }

// Skewed is a superstep with unequal partitions.
type Skewed struct {
	Job       string  `json:"job,omitempty"`
	Superstep int     `json:"superstep"`
	Partition int     `json:"partition"`
	Ratio     float64 `json:"ratio"`   // slowest divided by mean
	Seconds   float64 `json:"seconds"` // slowest minus mean
}

// Tiny is the time in seconds below which a run is not summarized, and predictions are not judged,
// because such times depend on the machine rather than the program.
const Tiny = 1e-3

// factors is a histogram of logarithms of factors. It gives quantiles with an error of 2.5 %.
type factors [256]uint32

// perFactor is the number of counters per factor of e. The last counter has all factors from
// 170,000.
const perFactor = 255.0 / 12

// add adds a factor, given by its logarithm, which is at least 0.
func (f *factors) add(log float64) { f[int(min(log*perFactor+.5, float64(len(f)-1)))]++ }

// quantile returns the quartile q of the factors: 2 is the median.
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

// Add adds a superstep of a job or of a search of a benchmark.
func (s *Summary) Add(job string, step *trace.Step) {
	s.Times.Add(&step.Times)
	s.Messages += step.Messages
	s.Sent += step.Sent
	s.Bytes += step.Bytes
	s.Partitions = max(s.Partitions, step.Partitions)
	s.Memory = max(s.Memory, step.Memory)
	s.GCPause += step.GCPause
	if step.Active == 0 {
		return // nothing was delivered, so it does not count
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
	if guess := step.Predicted[step.Scheme]; guess > 0 && step.Actual >= Tiny {
		s.Judged++
		s.factors.add(math.Abs(math.Log(step.Actual / guess)))
		s.MedianError = s.factors.quantile(2)
	}
}

// Lines formats the summary as lines of text. There are none for a run below a millisecond.
func (s *Summary) Lines() []string {
	if s.Supersteps == 0 || s.Times.Total < Tiny {
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
			Seconds(s.Skew), Seconds(s.Times.Total), s.Worst.Superstep, of,
			s.Worst.Partition, s.Worst.Ratio))
	}
	return lines
}

// phases formats the shares of the phases, largest first.
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
	text := fmt.Sprintf("%d pushed in %s, %d pulled in %s", s.Pushed.Supersteps,
		Seconds(s.Pushed.Seconds), s.Pulled.Supersteps, Seconds(s.Pulled.Seconds))
	if s.Judged > 0 {
		off := fmt.Sprintf("%.1f", s.factors.quantile(1))
		if most := fmt.Sprintf("%.1f", s.factors.quantile(3)); most != off {
			off += " to " + most
		}
		text += fmt.Sprintf(
			"; predictions off by a factor of %s (%d above 1 ms, the middle half)", off, s.Judged)
	}
	if s.Regret >= Tiny {
		text += fmt.Sprintf("; by them another choice would have saved %s, %.1f %%",
			Seconds(s.Regret), 100*s.Regret/s.Delivered)
	}
	return text
}

// Seconds formats a duration.
func Seconds(s float64) string {
	switch { // after rounding to three digits
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

// Meter is a Journal that only sums up runs, at negligible cost.
type Meter struct {
	Summary
	step trace.Step
}

// Record sums up supersteps, except those of a warm-up run. The summary of a resumed run includes
// the part before its checkpoint.
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

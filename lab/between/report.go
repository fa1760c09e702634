package between

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/superstep-go/superstep/record"
)

// Report has the results of all ways.
type Report struct {
	Program    string            `json:"program"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Graph      string            `json:"graph"`
	Vertices   uint64            `json:"vertices"`
	Edges      uint64            `json:"edges"`
	Workers    int               `json:"workers"`
	Threads    int               `json:"threads"` // per worker
	Network    string            `json:"network"` // namespaces or loopback
	Rate       float64           `json:"rate_bytes_per_second,omitempty"`
	Delay      float64           `json:"delay_seconds,omitempty"` // between two workers, each way
	Load       float64           `json:"load_seconds"`
	Rounds     int               `json:"rounds"`
	// number of values that are equal in all ways
	Compared int        `json:"values_compared"`
	Ways     []*Summary `json:"ways"`
}

// Quartiles are the median and the quartiles of several rounds.
type Quartiles struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Summary is the result of one way.
type Summary struct {
	Way        string `json:"way"`
	Supersteps int    `json:"supersteps"`
	Messages   uint64 `json:"messages"`      // one per sender and edge
	Values     uint64 `json:"messages_sent"` // between partitions, as all below
	Bytes      uint64 `json:"bytes_sent"`    // according to the engine's accounts
	// through the workers' cables, including headers of all layers and traffic with the master; 0
	// if unknown
	Wire    int64     `json:"wire_bytes"`
	Seconds Quartiles `json:"seconds"`
	// Ratio is this way's time divided by that of the first way in the same turn.
	Ratio Quartiles `json:"ratio"`
	// Phases are the sums over supersteps. Times of supersteps are medians over rounds.
	Phases Phases `json:"phases"`
	Steps  []Step `json:"supersteps_each"`
}

// Phases are times in seconds: means over partitions.
type Phases struct {
	Expand   float64 `json:"expand"`
	Traverse float64 `json:"traverse"`
	Fold     float64 `json:"fold"`
	Compute  float64 `json:"compute"`
	Wait     float64 `json:"wait"`
	Total    float64 `json:"total"`
}

// Step is a superstep. It delivers the messages of the previous one.
type Step struct {
	Superstep int    `json:"superstep"`
	Scheme    string `json:"scheme"` // in the last round
	Senders   int    `json:"senders"`
	Values    int    `json:"values"`
	Bytes     int    `json:"bytes"`
	Phases
}

// quartilesOf computes quartiles. It sorts its argument.
func quartilesOf(all []float64) Quartiles {
	slices.Sort(all)
	n := len(all)
	return Quartiles{(all[(n-1)/2] + all[n/2]) / 2, (all[(n-1)/4] +
		all[n/4]) / 2, (all[n-1-(n-1)/4] + all[n-1-n/4]) / 2}
}

// summary summarizes a way's runs. first has the first way's runs in the same turns.
func summary(name string, runs, first []*run) *Summary {
	last := runs[len(runs)-1]
	s := &Summary{
		Way: name, Supersteps: int(last.job.Supersteps), Messages: last.job.Messages,
		Values: last.job.MessagesSent, Bytes: last.job.BytesSent,
	}
	var seconds, ratios, wire []float64
	for i, r := range runs {
		seconds, wire = append(seconds, r.job.RunSeconds), append(wire, float64(r.wire))
		ratios = append(ratios, r.job.RunSeconds/first[i].job.RunSeconds)
	}
	s.Seconds, s.Ratio, s.Wire = quartilesOf(seconds), quartilesOf(ratios),
		int64(quartilesOf(wire).Median)
	for i := range last.steps {
		step := stepOf(runs, i)
		s.Phases.add(step.Phases, 1)
		s.Steps = append(s.Steps, step)
	}
	return s
}

// stepOf summarizes the i-th superstep of those runs that have it.
func stepOf(runs []*run, i int) (s Step) {
	var all []Phases
	for _, r := range runs {
		if i >= len(r.steps) {
			continue
		}
		t := r.steps[i]
		s = Step{Superstep: t.Superstep, Scheme: t.Scheme}
		var p Phases
		for k := range t.Partitions {
			q := &t.Partitions[k]
			s.Senders, s.Values, s.Bytes = s.Senders+q.Delivered, s.Values+q.Sent, s.Bytes+q.Bytes
			p.add(phasesOf(&q.Times), 1/float64(len(t.Partitions)))
		}
		p.Total = t.Seconds
		all = append(all, p)
	}
	median := func(of func(*Phases) float64) float64 {
		var x []float64
		for k := range all {
			x = append(x, of(&all[k]))
		}
		return quartilesOf(x).Median
	}
	s.Phases = Phases{
		median(func(p *Phases) float64 { return p.Expand }),
		median(func(p *Phases) float64 { return p.Traverse }),
		median(func(p *Phases) float64 { return p.Fold }),
		median(func(p *Phases) float64 { return p.Compute }),
		median(func(p *Phases) float64 { return p.Wait }),
		median(func(p *Phases) float64 { return p.Total }),
	}
	return s
}

func phasesOf(t *record.Seconds) Phases {
	return Phases{t.Expand, t.Traverse, t.Fold, t.Compute, t.Wait, t.Total}
}

// add adds other phases, multiplied by share.
func (p *Phases) add(q Phases, share float64) {
	p.Expand += share * q.Expand
	p.Traverse += share * q.Traverse
	p.Fold += share * q.Fold
	p.Compute += share * q.Compute
	p.Wait += share * q.Wait
	p.Total += share * q.Total
}

// cells formats the phases in milliseconds.
func (p *Phases) cells() string {
	text := ""
	for _, x := range []float64{p.Expand, p.Traverse, p.Fold, p.Compute, p.Wait, p.Total} {
		text += fmt.Sprintf("%.4g\t", 1e3*x)
	}
	return text
}

// Text writes the report as text. steps includes every superstep.
func (r *Report) Text(w io.Writer, steps bool) error {
	link := "no bound"
	if r.Rate > 0 {
		link = fmt.Sprintf("%.4g MB/s", r.Rate/1e6)
	}
	if r.Delay > 0 {
		link += fmt.Sprintf(" and %.3g ms each way", 1e3*r.Delay)
	}
	fmt.Fprintf(w,
		"%s on %s: %d vertices, %d edges, loaded in %.3g s\n%d workers of %d threads, %s, %s; medians of %d rounds by turns",
		r.Program, r.Graph, r.Vertices, r.Edges, r.Load, r.Workers, r.Threads, r.Network, link,
		r.Rounds)
	if r.Compared > 0 {
		fmt.Fprintf(w, "; %d values equal in all ways", r.Compared)
	}
	fmt.Fprint(w, "\n\n")
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out,
		"\tseconds\tlow\thigh\tover the first\tsupersteps\tvalues\tbytes\ton the wire\t")
	for _, s := range r.Ways {
		fmt.Fprintf(out, "%s\t%.4g\t%.4g\t%.4g\t%.3g\t%d\t%d\t%d\t%d\t\n", s.Way, s.Seconds.Median,
			s.Seconds.Low, s.Seconds.High, s.Ratio.Median,
			s.Supersteps, s.Values, s.Bytes, s.Wire)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nphases, ms, the mean of the partitions\n")
	fmt.Fprintln(out,
		"\tsuperstep\tscheme\tsenders\tvalues\tbytes\texpand\ttraverse\tfold\tcompute\twait\ttotal\t")
	for _, s := range r.Ways {
		for i := range s.Steps {
			if x := &s.Steps[i]; steps {
				fmt.Fprintf(out, "%s\t%d\t%s\t%d\t%d\t%d\t%s\n", s.Way, x.Superstep, x.Scheme,
					x.Senders, x.Values, x.Bytes, x.cells())
			}
		}
		fmt.Fprintf(out, "%s\tall\t\t\t%d\t%d\t%s\n", s.Way, s.Values, s.Bytes, s.Phases.cells())
	}
	return out.Flush()
}

// Package experiment repeats the comparisons of the papers on this engine. Each experiment runs a
// graph in the compared ways, in turns, checks every result, and reports tables and a figure. Start
// with experiment.go and measure.go.
//
//	Experiment.Run -> source: input, roots, validator -> graphs in the layouts compared -> jobs in the ways compared
//	               -> rounds by turns: seconds; a run that is recorded: messages and bytes -> Report
package experiment

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/lab/model"
)

// Experiment is a comparison from a paper.
type Experiment struct {
	Name  string
	Title string // the compared ways
	Paper string // the paper's section
	Scale int    // default scale of the largest graph; 0 if there is no graph
	run   func(ctx context.Context, b *bench) error
}

// All has all experiments.
var All = []Experiment{
	{"messages", "messages one by one, or one for each partition with a bitmap", "Ueno13, tables 1 and 2", 18, messages},
	{"grids", "pairs to all, bits to all, and grids, as machines grow", "Ueno11, sections 2 and 3, figure 7; Nakao20, tables 4 and 5", 18, grids},
	{"weak", "the reference codes and grids, as nodes and graph grow", "Ueno11, figures 5, 6 and 8", 18, weak},
	{"alltoall", "all-to-all between more and more processes", "Ueno11, figure 3", 0, alltoallRates},
	{"switch", "push or pull as the model says, by Beamer's rule, and always one", "Ueno13, 7; Nakao20, 2.1, figure 1", 18, direction},
	{"order", "vertices by falling degree, or as in the input", "Nakao20, 3.2", 18, order},
	{"bcsr", "a start for each vertex, or for each vertex with edges", "Nakao20, 3.1, tables 1 to 3", 18, bcsrLists},
	{"encoding", "who sent, as bits, as positions, or as is shorter", "Nakao20, 3.5.2, table 5", 18, encoding},
	{"overlap", "columns on their way while others are made and edges are walked, or one after the other", "Ueno11, 4.2; Nakao20, 3.5.3, figure 9", 18, overlap},
	{"windows", "messages at once, through windows, and by rendezvous, over a link with delay", "Nakao20, 5.4, figure 14; Matsuda", 0, windows},
	{"ring", "the ring at once, and by rendezvous, over links with delay", "Nakao20, figure 14a", 0, ringTimes},
	{"reduce", "a reduce at two sites, along ranks and along sites", "Matsuda, figure 7", 0, reduces},
	{"processes", "processes and threads of a node", "Nakao20, figures 12 and 13", 18, processes},
	{"phases", "parts of the time of the largest runs", "Nakao20, figures 14b and 17", 0, phases},
	{"frequency", "threads of normal and of higher frequency", "Nakao20, figure 15", 0, frequency},
	{"mapping", "rows and columns placed by topology", "Nakao20, figure 16", 14, mapping},
}

// Find returns the experiment with this name.
func Find(name string) (Experiment, error) {
	names := ""
	for _, e := range All {
		if e.Name == name {
			return e, nil
		}
		names += ", " + e.Name
	}
	return Experiment{}, fmt.Errorf("found experiment %q, expected all%s", name, names)
}

// Limits of options. Graphs smaller than LeastScale are too small for the compared partitions.
const (
	LeastScale, MostScale = 8, 24
	MostRepeat            = 1000
)

// Options are the size and resources of an experiment.
type Options struct {
	// Scale is the scale of the largest graph, which has 2^Scale vertices. 0 means the experiment's
	// default. Experiments without a graph ignore it.
	Scale int
	// Repeat is the number of timed rounds, 5 if 0.
	Repeat int
	// Team runs the work. nil means one thread.
	Team *parallel.Team
	// Command makes a worker process (cluster.Cluster). nil leaves out measurements between processes.
	Command func(ctx context.Context, arguments ...string) (*exec.Cmd, error)
	// Measured has the speed of this machine for predictions. nil means to measure it.
	Measured *Speed
	// Small leaves out large numbers of ranks.
	Small bool
	// Progress, if not nil, is called with the current stage and its progress.
	Progress func(stage string, done, total int64)
}

// Speed is what a prediction uses of a machine.
type Speed struct {
	Rates   model.Rates
	Waiting model.Waiting
}

// Report is the result of an experiment.
type Report struct {
	Name    string   `json:"experiment"`
	Title   string   `json:"title"`
	Paper   string   `json:"paper"`
	Scale   int      `json:"scale,omitempty"` // 0 if there is no graph
	Repeat  int      `json:"repeat"`
	Threads int      `json:"threads"`
	CPUs    int      `json:"cpus"`
	Tables  []*Table `json:"tables"` // the first is the main result, others have details
	// Findings describe the tables in sentences.
	Findings []string      `json:"findings,omitempty"`
	Figure   figure.Figure `json:"-"`
}

// bench is a running experiment.
type bench struct {
	Options
	report *Report
}

// Run runs the experiment. Every result is checked; a wrong one is an error.
func (e Experiment) Run(ctx context.Context, o Options) (*Report, error) {
	if o.Repeat == 0 {
		o.Repeat = 5
	}
	if o.Scale != 0 && (o.Scale < LeastScale || o.Scale > MostScale) {
		return nil, fmt.Errorf("SCALE %d: expected %d to %d", o.Scale, LeastScale, MostScale)
	}
	if o.Scale == 0 || e.Scale == 0 {
		o.Scale = e.Scale
	}
	if o.Repeat < 1 || o.Repeat > MostRepeat {
		return nil, fmt.Errorf("%d repetitions: expected 1 to %d", o.Repeat, MostRepeat)
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	b := &bench{o, &Report{
		Name: e.Name, Title: e.Title, Paper: e.Paper, Scale: o.Scale, Repeat: o.Repeat,
		Threads: o.Team.Size(), CPUs: runtime.NumCPU(),
	}}
	b.report.Figure.Title = e.Name + ": " + e.Title
	b.report.Figure.Subtitle = fmt.Sprintf("%s · %s, medians of %d", e.Paper, b.report.graphText(),
		o.Repeat)
	if err := e.run(ctx, b); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return b.report, nil
}

// graphText describes the scale and threads of an experiment. Without a graph it uses no threads.
func (r *Report) graphText() string {
	if r.Scale == 0 {
		return "no graph"
	}
	return fmt.Sprintf("SCALE %d, %d threads", r.Scale, r.Threads)
}

// table begins a table of the report.
func (b *bench) table(name string, columns ...Column) *Table {
	t := &Table{Name: name, Columns: columns}
	b.report.Tables = append(b.report.Tables, t)
	return t
}

// find adds a finding.
func (b *bench) find(format string, args ...any) {
	b.report.Findings = append(b.report.Findings, fmt.Sprintf(format, args...))
}

// panel adds a panel to the figure.
func (b *bench) panel(p figure.Panel) { b.report.Figure.Panels = append(b.report.Figure.Panels, p) }

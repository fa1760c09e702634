package nas

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/experiment"
)

// ways are ways to choose algorithms of collectives, with increasing knowledge of the network.
var ways = []string{
	"constants", // by constants of a local network, as in an MPI for clusters
	"measured",  // by measured costs between every two ranks
	// also by the ranks' sites: two-level algorithms are available, too
	"sites",
}

// compare is a task: it runs CG, FT and IS with algorithms chosen in all ways, in turns.
type compare struct{ Repeat int }

// trial is a benchmark with one way.
type trial struct {
	Benchmark  string
	Way        string
	Algorithms string
	Seconds    []float64 // by round
	Wrong      bool      // some result was not the published one
	run        func(ctx context.Context) (seconds float64, right bool, err error)
}

func (c *compare) do(
	ctx context.Context, class Class, link collective.Link, sites []int, stage stager,
) (any, error) {
	var trials []*trial
	matrix := MakeA(class.CG)
	group, err := collective.NewGroup(link, nil, nil)
	if err != nil {
		return nil, err
	}
	ft := NewTransformer(class.FT, group)
	for _, way := range ways {
		stage("measuring the network", 0, 1)
		model, err := modelOf(ctx, link, sites, way)
		if err != nil {
			return nil, err
		}
		cg, err := cgTrial(class, matrix, link, model)
		if err != nil {
			return nil, err
		}
		is, err := isTrial(ctx, class, link, model)
		if err != nil {
			return nil, err
		}
		transform, err := ft.trial(class, link, model)
		if err != nil {
			return nil, err
		}
		cg.Way, is.Way, transform.Way = way, way, way
		trials = append(trials, cg, transform, is)
	}
	for turn := range c.Repeat {
		for i := range trials {
			if turn%2 == 1 {
				i = len(trials) - 1 - i
			}
			t := trials[i]
			stage("running CG, FT and IS", turn*len(trials)+i, c.Repeat*len(trials))
			seconds, right, err := t.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", t.Benchmark, t.Way, err)
			}
			t.Seconds, t.Wrong = append(t.Seconds, seconds), t.Wrong || !right
		}
	}
	return trials, nil
}

// modelOf returns the model that a way uses.
func modelOf(
	ctx context.Context, link collective.Link, sites []int, way string,
) (*collective.Model, error) {
	switch way {
	case "constants":
		return collective.Uniform(link.Size(), collective.Unmeasured), nil
	case "measured":
		sites = nil
	}
	return collective.Calibrate(ctx, link, collective.Calibration{Tag: allTag, Sites: sites})
}

// cgTrial returns the trial of CG with the ranks in one column.
func cgTrial(
	class Class, m *Matrix, link collective.Link, model *collective.Model,
) (*trial, error) {
	s, err := NewSolver(class.CG, m, graph.Of(link.Size()), link, model, nil)
	if err != nil {
		return nil, err
	}
	gather, err := s.column.Choose(collective.Allgather, s.pieceBytes(), 0)
	if err != nil {
		return nil, err
	}
	reduce, err := s.all.Choose(collective.Allreduce, 8, 0)
	return &trial{
		Benchmark: "CG", Algorithms: fmt.Sprintf("allgather %s, allreduce %s", gather, reduce),
		run: func(ctx context.Context) (float64, bool, error) {
			r := CGResult{Published: class.CG.Zeta}
			seconds, err := slowest(ctx, s.all, allTag, func() error {
				zeta, norm, err := s.Power(ctx, class.CG.Iterations)
				r.judge(zeta, norm)
				return err
			})
			return seconds, r.Verified, err
		},
	}, err
}

// isTrial returns the trial of IS.
func isTrial(
	ctx context.Context, class Class, link collective.Link, model *collective.Model,
) (*trial, error) {
	g, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	s := NewSorter(class.IS, g)
	all, err := g.Choose(collective.Alltoall, s.call().Bytes, 0)
	if err != nil {
		return nil, err
	}
	reduce, err := g.Choose(collective.Allreduce, 8*(buckets+len(class.IS.Tests)), 0)
	return &trial{
		Benchmark: "IS", Algorithms: fmt.Sprintf("alltoall %s, allreduce %s", all, reduce),
		run: func(ctx context.Context) (float64, bool, error) {
			r, err := s.benchmark(ctx, class)
			if err != nil {
				return 0, false, err
			}
			return r.Seconds, r.Verified, nil
		},
	}, err
}

// placements are distributions of ranks over two sites.
var placements = []struct {
	name string
	site func(rank, ranks int) int
}{
	{"halves", func(rank, ranks int) int { return rank * 2 / ranks }}, // the lower half at one site
	{"by turns", func(rank, _ int) int { return rank % 2 }},           // even ranks at one site
}

// Comparison compares CG, FT and IS between two sites, with algorithms chosen with and without
// knowledge of the sites.
type Comparison struct {
	Class string  `json:"class"`
	Ranks int     `json:"ranks"`
	Delay float64 `json:"delay_seconds"`
	// bytes per second between the sites; 0 means no limit
	Bandwidth float64           `json:"bandwidth,omitempty"`
	Repeat    int               `json:"repeat"`
	Table     *experiment.Table `json:"table"`
	Verified  bool              `json:"verified"`
}

// Compare runs CG, FT and IS between two sites for repeat rounds, after one that does not count.
func Compare(ctx context.Context, class Class, at Place, repeat int) (*Comparison, error) {
	r := &Comparison{
		Class: class.Name, Ranks: at.Ranks, Delay: at.Delay.Seconds(),
		Bandwidth: at.Bandwidth, Repeat: repeat, Verified: true,
		Table: &experiment.Table{Name: "sites", Columns: []experiment.Column{
			{Name: "benchmark", Meaning: "of the NAS Parallel Benchmarks"},
			{Name: "placement", Meaning: "of the ranks at the two sites: the lower half at one, or by turns"},
			{Name: "chosen_by", Meaning: "what the algorithms were chosen by: constants of a local network, measured messages, or these and the sites"},
			{Name: "algorithms", Meaning: "that were chosen"},
			{Name: "seconds", Unit: experiment.Seconds, Meaning: "median of the rounds"},
			{Name: "least", Unit: experiment.Seconds, Meaning: "of the rounds"},
			{Name: "most", Unit: experiment.Seconds, Meaning: "of the rounds"},
			{Name: "over_sites", Unit: experiment.Ratio, Meaning: "over the time with sites of the same round, median"},
		}},
	}
	for _, p := range placements {
		at.Sites = make([]int, at.Ranks)
		for i := range at.Sites {
			at.Sites[i] = p.site(i, at.Ranks)
		}
		report, err := at.run(ctx, task{Class: class, Compare: &compare{repeat + 1}})
		if err != nil {
			return nil, err
		}
		trials := report.([]*trial)
		for _, benchmark := range []string{"CG", "FT", "IS"} {
			of := slices.DeleteFunc(slices.Clone(trials),
				func(t *trial) bool { return t.Benchmark != benchmark })
			aware := of[len(of)-1].Seconds[1:]
			for _, t := range of {
				seconds := t.Seconds[1:]
				ratios := make([]float64, len(seconds))
				for i, s := range seconds {
					ratios[i] = s / aware[i]
				}
				r.Verified = r.Verified && !t.Wrong
				r.Table.Rows = append(r.Table.Rows, []any{
					benchmark, p.name, t.Way, t.Algorithms, collective.Median(seconds),
					slices.Min(seconds), slices.Max(seconds), collective.Median(ratios),
				})
			}
		}
	}
	return r, nil
}

// Text writes the comparison as text.
func (r *Comparison) Text(w io.Writer) error {
	bound := ""
	if r.Bandwidth > 0 {
		bound = fmt.Sprintf(" and %.4g bytes a second", r.Bandwidth)
	}
	_, err := fmt.Fprintf(w,
		"NAS CG, FT and IS, class %s, %d ranks, goroutines, at two sites with %v of delay%s each way between them\nmedians of %d rounds by turns: %s\n\n",
		r.Class, r.Ranks, time.Duration(math.Round(r.Delay*1e9)), bound,
		r.Repeat, verdict(r.Verified))
	if err != nil {
		return err
	}
	return r.Table.Text(w)
}

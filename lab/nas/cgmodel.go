package nas

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/experiment"
)

// CGModel has the predicted and measured communication time of a CG iteration (future work in
// Matsumoto15).
type CGModel struct {
	Class     string            `json:"class"`
	CPUs      int               `json:"cpus"`
	Delay     float64           `json:"delay_seconds,omitempty"`
	Bandwidth float64           `json:"bandwidth,omitempty"`
	Repeat    int               `json:"repeat"`
	Table     *experiment.Table `json:"table"`
	Pairs     []Mean            `json:"pairs"`
	Beyond    *experiment.Table `json:"beyond"` // more ranks than measured
	Findings  []string          `json:"findings"`
	Verified  bool              `json:"verified"`
}

// Mean is the mean cost of a message over all pairs of this number of ranks.
type Mean struct {
	Ranks int `json:"ranks"`
	collective.Pair
}

// most is the maximum number of ranks for which the model is used.
const most = 256

// significant is the ratio of times below which a difference is significant. Two runs may differ by
// less.
const significant = 0.95

// paperLayout returns the paper's grid.
func paperLayout(ranks int) string { return graph.Of(ranks).String() }

// PredictCG predicts, measures and runs CG for each number of ranks, in rising order. With a delay
// or a bandwidth, half of the ranks are at each of two sites.
func PredictCG(
	ctx context.Context, class Class, at Place, ranks []int, repeat int,
) (*CGModel, error) {
	m := &CGModel{
		Class: class.Name, CPUs: runtime.NumCPU(),
		Delay: at.Delay.Seconds(), Bandwidth: at.Bandwidth, Repeat: repeat, Verified: true,
		Table: &experiment.Table{Name: "cg-model", Columns: []experiment.Column{
			{Name: "ranks", Meaning: "P"},
			{Name: "part", Meaning: "of an iteration: all its communication with a column of ranks or in a grid, in CG as it runs, or one collective"},
			{Name: "how", Meaning: "by which algorithms"},
			{Name: "bytes", Unit: experiment.Bytes, Meaning: "of a rank's piece, or number"},
			{Name: "predicted", Unit: experiment.Seconds, Meaning: "from alpha and beta of each pair of ranks, as measured now"},
			{Name: "measured", Unit: experiment.Seconds, Meaning: "median of the rounds, until the slowest rank is done"},
			{Name: "error", Meaning: "|measured - predicted| / measured, of Matsumoto15's equation 2"},
		}},
	}
	var found []predicted
	for _, n := range ranks {
		at.Ranks, at.Sites = n, nil
		if at.Delay > 0 || at.Bandwidth > 0 {
			for i := range n {
				at.Sites = append(at.Sites, i*2/n)
			}
		}
		report, err := at.run(ctx, task{Class: class, Predict: &predict{repeat}})
		if err != nil {
			return nil, fmt.Errorf("%d ranks: %w", n, err)
		}
		p := *report.(*predicted)
		m.add(n, p)
		found = append(found, p)
	}
	for _, part := range []string{partAllgather, partAllreduce, partGrid} {
		m.Findings = append(m.Findings, winners(part, ranks, found))
	}
	if m.Delay > 0 || m.Bandwidth > 0 {
		// for pairs at two sites a mean is useless
		m.Beyond = &experiment.Table{Name: "beyond"}
		return m, nil
	}
	return m, m.beyond(class.CG, ranks[len(ranks)-1], found[len(found)-1].Mean)
}

// add adds the rows of a number of ranks.
func (m *CGModel) add(ranks int, p predicted) {
	row := func(x prediction) {
		e := "-"
		if x.Predicted > 0 && x.Measured > 0 {
			e = fmt.Sprintf("%.0f %%", 100*math.Abs(x.Measured-x.Predicted)/x.Measured)
		}
		m.Table.Rows = append(m.Table.Rows,
			[]any{ranks, x.Part, x.How, x.Bytes, x.Predicted, x.Measured, e})
	}
	for _, x := range p.Parts {
		row(x)
		if x.Part == partIteration && x == lastOf(p.Parts, partIteration) {
			row(prediction{"in CG", "of it, the rank that waits least", x.Bytes, x.Predicted, p.InCG})
		}
	}
	m.Pairs = append(m.Pairs, Mean{ranks, p.Mean})
	m.Verified = m.Verified && p.Right
}

// lastOf returns the last prediction of a part. For an iteration it uses the chosen algorithms.
func lastOf(parts []prediction, part string) (last prediction) {
	for _, x := range parts {
		if x.Part == part {
			last = x
		}
	}
	return last
}

// candidates returns the compared ways of a part, by name. Grids are compared with the paper's
// layout, all with the chosen algorithms.
func candidates(part string, parts []prediction) (list []prediction) {
	for _, x := range parts {
		if x.Part == part {
			if part == partGrid {
				x.How, _, _ = strings.Cut(x.How, ":")
			}
			list = append(list, x)
		}
	}
	if x := lastOf(parts, partIteration); part == partGrid && len(list) > 0 {
		x.How, _, _ = strings.Cut(x.How, ":")
		list = append([]prediction{x}, list...)
	}
	return list
}

// winners describes the fastest way of a part, predicted and measured, and from how many ranks it
// beats the paper's way.
func winners(part string, ranks []int, found []predicted) string {
	var lists [2][]string
	var beaten [2][]int // numbers of ranks
	for i, n := range ranks {
		list := candidates(part, found[i].Parts)
		if len(list) == 0 {
			continue
		}
		paper := paperLayout(n)
		switch part {
		case partAllgather:
			paper = string(paperAlgorithms[collective.Allgather])
		case partAllreduce:
			paper = string(paperAlgorithms[collective.Allreduce])
		}
		for k, of := range []func(prediction) float64{
			func(x prediction) float64 { return x.Predicted },
			func(x prediction) float64 { return x.Measured },
		} {
			best, its := list[0], math.Inf(1)
			for _, x := range list {
				if of(x) < of(best) {
					best = x
				}
				if x.How == paper {
					its = of(x)
				}
			}
			lists[k] = append(lists[k], fmt.Sprintf("%d: %s", n, best.How))
			if of(best) < significant*its {
				beaten[k] = append(beaten[k], n)
			}
		}
	}
	if len(lists[0]) == 0 {
		return part + ": one rank sends nothing"
	}
	say := func(at []int) string {
		switch {
		case len(at) == 0:
			return "at no P"
		case slices.Equal(at, ranks[slices.Index(ranks, at[0]):]):
			return fmt.Sprintf("from P = %d on", at[0])
		}
		return fmt.Sprintf("at P = %v alone", strings.Trim(fmt.Sprint(at), "[]"))
	}
	return fmt.Sprintf("%s, the fastest by P: predicted %s; measured %s; better than the paper's by 5 %% or more: predicted %s, measured %s",
		part, strings.Join(lists[0], ", "), strings.Join(lists[1], ", "), say(beaten[0]),
		say(beaten[1]))
}

// beyond predicts for more ranks. All pairs are assumed to have the mean cost of the measured ones.
func (m *CGModel) beyond(size CGSize, ranks int, mean collective.Pair) error {
	m.Beyond = &experiment.Table{Name: "beyond", Columns: []experiment.Column{
		{Name: "ranks", Meaning: "P, with all messages as the mean of the largest P that was measured"},
		{Name: "allgather", Meaning: "the fastest, predicted"},
		{Name: "allreduce", Meaning: "the fastest, predicted"},
		{Name: "paper", Unit: experiment.Seconds, Meaning: "an iteration as the paper has it, predicted"},
		{Name: "chosen", Unit: experiment.Seconds, Meaning: "by the fastest algorithms, predicted"},
		{Name: "grid", Meaning: "the fastest, predicted"},
		{Name: "in_grid", Unit: experiment.Seconds, Meaning: "an iteration in it, predicted"},
	}}
	for n := 1 << (int(math.Log2(float64(max(ranks, 1)))) + 1); n <= most && mean.Beta > 0; n *= 2 {
		model := collective.Uniform(n, mean)
		gather, _, err := model.Choose(collective.Allgather, size.pieceBytes(n), 0)
		if err != nil {
			return err
		}
		reduce, _, err := model.Choose(collective.Allreduce, 8, 0)
		if err != nil {
			return err
		}
		paper, _, err := size.communication(model, graph.Of(n), paperAlgorithms)
		if err != nil {
			return err
		}
		chosen, _, err := size.communication(model, graph.Of(n), nil)
		if err != nil {
			return err
		}
		best, least := graph.Of(n), chosen
		for _, grid := range grids(n) {
			seconds, _, err := size.communication(model, grid, nil)
			if err != nil {
				return err
			}
			if seconds < least {
				best, least = grid, seconds
			}
		}
		m.Beyond.Rows = append(m.Beyond.Rows,
			[]any{n, string(gather), string(reduce), paper, chosen, best.String(), least})
	}
	return nil
}

// Text writes the prediction as text.
func (m *CGModel) Text(w io.Writer) error {
	place := "at one site"
	if m.Delay > 0 || m.Bandwidth > 0 {
		place = fmt.Sprintf("at two sites, %.3g s of delay", m.Delay)
		if m.Bandwidth > 0 {
			place += fmt.Sprintf(" and %.4g bytes a second", m.Bandwidth)
		}
	}
	fmt.Fprintf(w,
		"communication of an iteration of CG, class %s, ranks are goroutines %s, %d processors; medians of %d rounds: zeta %s\n\n",
		m.Class, place, m.CPUs, m.Repeat, verdict(m.Verified))
	for _, p := range m.Pairs {
		if p.Ranks > 1 {
			fmt.Fprintf(w, "between %d ranks, mean: alpha %.3g s/B, beta %.3g s, gap %.3g s\n",
				p.Ranks, p.Alpha, p.Beta, p.Gap)
		}
	}
	fmt.Fprintln(w)
	if err := m.Table.Text(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, f := range m.Findings {
		fmt.Fprintln(w, f)
	}
	if len(m.Beyond.Rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nmore ranks, if messages take what they took in the mean; predicted\n")
	return m.Beyond.Text(w)
}

// CheckRanks returns an error unless ranks are rising numbers from 1 to bound.
func CheckRanks(ranks []int, bound int) error {
	if len(ranks) == 0 || ranks[0] < 1 || ranks[len(ranks)-1] > bound || !slices.IsSorted(ranks) ||
		len(slices.Compact(slices.Clone(ranks))) != len(ranks) {
		return fmt.Errorf("found %v, expected numbers that rise, from 1 to %d", ranks, bound)
	}
	return nil
}

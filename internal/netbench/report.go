package netbench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/superstep-go/superstep/internal/collective"
)

// Report is the result of Run.
type Report struct {
	Ranks int `json:"ranks"`
	// Workers has the names of the ranks. Sites has the site of each rank; it is nil if there is
	// only one site.
	Workers []string `json:"workers"`
	Sites   []string `json:"sites,omitempty"`
	// Loopback: all workers are on one machine.
	Loopback bool              `json:"loopback,omitempty"`
	Model    *collective.Model `json:"model"` // fitted, for the predictions
	Points   []Point           `json:"points"`
	// NoRaw is the reason why requested raw measurements are missing.
	NoRaw string `json:"no_raw,omitempty"`
	// Shares has an entry for each size that was measured both by the link and raw.
	Shares []LinkShare `json:"shares_of_raw,omitempty"`
	// Choices has an entry for each collective and size that was measured with several algorithms.
	Choices []Choice `json:"choices"`
	// Accuracy has the errors of predictions for each collective.
	Accuracy []Accuracy `json:"accuracy"`
}

// Point is the measurement of one collective with one algorithm and one size.
type Point struct {
	Collective collective.Collective `json:"collective"`
	Algorithm  collective.Algorithm  `json:"algorithm"`
	Bytes      int                   `json:"bytes"`
	Repeats    int                   `json:"repeats"`
	// median of the repetitions, each until the slowest rank is done
	Seconds   float64 `json:"seconds"`
	Least     float64 `json:"least_seconds"`
	Predicted float64 `json:"predicted_seconds"` // 0 for raw measurements
	// Error is |measured - predicted| / measured (Matsumoto15, equation 2); 0 for raw measurements.
	Error float64 `json:"relative_error"`
	// Bandwidth is the least number of bytes that a rank must receive or send with any algorithm,
	// divided by the seconds.
	Bandwidth float64 `json:"bytes_per_second"`
}

// LinkShare is the ratio of the link's bandwidth to that of the raw connection.
type LinkShare struct {
	Collective collective.Collective `json:"collective"`
	Bytes      int                   `json:"bytes"`
	Share      float64               `json:"share"`
}

// Choice compares the algorithm that the model chooses with the fastest measured one.
type Choice struct {
	Collective collective.Collective `json:"collective"`
	Bytes      int                   `json:"bytes"`
	Chosen     collective.Algorithm  `json:"chosen"`
	Fastest    collective.Algorithm  `json:"fastest"`
	// time of the chosen algorithm / time of the fastest, minus 1
	Loss float64 `json:"loss"`
}

// Accuracy has the relative errors of a collective's predictions, over all sizes and algorithms.
type Accuracy struct {
	Collective collective.Collective `json:"collective"`
	Median     float64               `json:"median_error"`
	Most       float64               `json:"most_error"`
	// MostLarge is the greatest error for sizes from 4 KiB on, for which Matsumoto15 gives it.
	MostLarge float64 `json:"most_error_4096"`
}

// Validate returns an error if a report from another process is incomplete.
func (r *Report) Validate() error {
	m := r.Model
	switch {
	case m == nil || r.Ranks < 1 || m.Ranks != r.Ranks || len(m.Pairs) != r.Ranks*r.Ranks:
		return fmt.Errorf("a report of %d ranks without a model of them", r.Ranks)
	case m.Sites != nil && len(m.Sites) != r.Ranks || len(r.Workers) != r.Ranks ||
		r.Sites != nil && len(r.Sites) != r.Ranks:
		return fmt.Errorf("a report of %d ranks with the names of %d and the sites of %d", r.Ranks,
			len(r.Workers), max(len(m.Sites), len(r.Sites)))
	}
	return nil
}

// fill sets the times from repetitions. Each repetition has parts consecutive messages.
func (p *Point) fill(times []float64, ranks int, parts float64) {
	for i := range times {
		times[i] /= parts
	}
	p.Repeats = len(times) // those that count
	p.Seconds = collective.Median(times)
	p.Least = slices.Min(times)
	if p.Seconds > 0 && p.Algorithm != Raw {
		p.Error = math.Abs(p.Seconds-p.Predicted) / p.Seconds
	}
	if p.Seconds > 0 {
		p.Bandwidth = volume(p.Collective, ranks) * float64(p.Bytes) / p.Seconds
	}
}

// volume returns the number of bytes through a rank's port, per byte of size.
func volume(c collective.Collective, ranks int) float64 {
	others := float64(ranks - 1)
	switch c {
	case collective.GatherTo, collective.Allgather, collective.Alltoall:
		return others
	case collective.Allreduce:
		return 2 * others / float64(ranks)
	}
	return 1
}

// summarize computes the parts of the report that follow from the points.
func (r *Report) summarize() {
	for _, c := range r.Collectives() {
		var errs []float64
		a := Accuracy{Collective: c}
		for _, p := range r.Points {
			if p.Collective == c && p.Algorithm != Raw {
				errs = append(errs, p.Error)
				a.Most = max(a.Most, p.Error)
				if p.Bytes >= 4096 {
					a.MostLarge = max(a.MostLarge, p.Error)
				}
			}
		}
		if a.Median = collective.Median(errs); len(errs) > 0 {
			r.Accuracy = append(r.Accuracy, a)
		}
		if c == PointToPoint || c == Stream {
			r.share(c)
		} else if len(r.algorithms(c)) > 1 {
			for _, n := range r.sizes(c) {
				r.Choices = append(r.Choices, r.choice(c, n))
			}
		}
	}
}

// share compares the link with raw connections.
func (r *Report) share(c collective.Collective) {
	for _, n := range r.sizes(c) {
		link, raw := r.point(c, Direct, n), r.point(c, Raw, n)
		if link != nil && raw != nil && link.Seconds > 0 {
			r.Shares = append(r.Shares, LinkShare{c, n, raw.Seconds / link.Seconds})
		}
	}
}

// point returns a point, or nil.
func (r *Report) point(c collective.Collective, a collective.Algorithm, n int) *Point {
	i := slices.IndexFunc(r.Points,
		func(p Point) bool { return p.Collective == c && p.Algorithm == a && p.Bytes == n })
	if i < 0 {
		return nil
	}
	return &r.Points[i]
}

func (r *Report) choice(c collective.Collective, n int) Choice {
	var fastest, chosen *Point
	for i := range r.Points {
		p := &r.Points[i]
		if p.Collective != c || p.Bytes != n {
			continue
		}
		if fastest == nil || p.Seconds < fastest.Seconds {
			fastest = p
		}
		if chosen == nil || p.Predicted < chosen.Predicted*(1-1e-9) {
			chosen = p
		}
	}
	choice := Choice{Collective: c, Bytes: n, Chosen: chosen.Algorithm, Fastest: fastest.Algorithm}
	if fastest.Seconds > 0 {
		choice.Loss = chosen.Seconds/fastest.Seconds - 1
	}
	return choice
}

// Collectives returns the measured collectives, in order.
func (r *Report) Collectives() []collective.Collective {
	return distinct(r.Points,
		func(p Point) (collective.Collective, bool) { return p.Collective, true })
}

func (r *Report) algorithms(c collective.Collective) []collective.Algorithm {
	return distinct(r.Points,
		func(p Point) (collective.Algorithm, bool) { return p.Algorithm, p.Collective == c })
}

func (r *Report) sizes(c collective.Collective) []int {
	sizes := distinct(r.Points, func(p Point) (int, bool) { return p.Bytes, p.Collective == c })
	slices.Sort(sizes)
	return sizes
}

// distinct returns the distinct keys of points, in order of first appearance.
func distinct[K comparable](points []Point, key func(Point) (K, bool)) []K {
	var list []K
	seen := map[K]bool{}
	for _, p := range points {
		if k, ok := key(p); ok && !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

// Text writes the report as tables: the fitted pairs, and for each collective the time, bandwidth
// and error by size.
func (r *Report) Text(w io.Writer) error {
	var s strings.Builder
	workers := slices.Clone(r.Workers)
	for i, site := range r.Sites {
		if site != "" {
			workers[i] += " at " + site
		}
	}
	fmt.Fprintf(&s, "%d workers: %s", r.Ranks, strings.Join(workers, ", "))
	if r.Loopback {
		s.WriteString("\nloopback: they share the processors of a machine, which the model does not know")
	}
	s.WriteString("\n\nT = alpha n + beta by pair, fitted; predictions use classes of sizes\n")
	t := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "from\tto\t1/alpha\tbeta\tgap\t")
	for _, p := range r.pairs() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", p.from, p.to, rate(1/p.Alpha),
			duration(p.Beta), duration(p.Gap))
	}
	t.Flush()
	if r.Model.Trunk > 0 {
		fmt.Fprintf(&s, "trunk between sites: %s\n", rate(1/r.Model.Trunk))
	}
	for _, c := range r.Collectives() {
		r.table(&s, c)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

const mostPairs = 12 // rows of the table; more are summarized

type pairRow struct {
	from, to string
	collective.Pair
}

// pairs returns the fitted pairs. If they are many it returns the medians of the pairs inside and
// between sites.
func (r *Report) pairs() []pairRow {
	var rows []pairRow
	groups := [2][]collective.Pair{}
	for from := range r.Ranks {
		for to := from + 1; to < r.Ranks; to++ {
			p := r.Model.Pair(from, to)
			rows = append(rows, pairRow{r.Workers[from], r.Workers[to], p})
			level := 0
			if r.Model.Sites != nil && r.Model.Sites[from] != r.Model.Sites[to] {
				level = 1
			}
			groups[level] = append(groups[level], p)
		}
	}
	if len(rows) <= mostPairs {
		return rows
	}
	rows = nil
	for level, name := range []string{"inside a site", "between sites"} {
		median := func(f func(collective.Pair) float64) float64 {
			var values []float64
			for _, p := range groups[level] {
				values = append(values, f(p))
			}
			return collective.Median(values)
		}
		if len(groups[level]) > 0 {
			rows = append(rows,
				pairRow{fmt.Sprintf("%d pairs", len(groups[level])), name, collective.Pair{
					Alpha: median(func(p collective.Pair) float64 { return p.Alpha }),
					Beta:  median(func(p collective.Pair) float64 { return p.Beta }),
					Gap:   median(func(p collective.Pair) float64 { return p.Gap }),
				}})
		}
	}
	return rows
}

// table writes a table with a row per size. For each algorithm it has the time, the bandwidth, and
// how much later (+) or earlier (-) than predicted it was. A star marks the algorithm that the
// model chooses.
func (r *Report) table(s *strings.Builder, c collective.Collective) {
	fmt.Fprintf(s, "\n%s: time, bandwidth, measured against predicted (* chosen)\n", c)
	t := tabwriter.NewWriter(s, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "bytes\t")
	for _, a := range r.algorithms(c) {
		fmt.Fprintf(t, "%s\t\t\t", a)
	}
	fmt.Fprintln(t)
	for _, n := range r.sizes(c) {
		fmt.Fprintf(t, "%s\t", size(n))
		for _, a := range r.algorithms(c) {
			p := r.point(c, a, n)
			if p == nil {
				fmt.Fprint(t, "-\t\t\t")
				continue
			}
			star := ""
			if slices.ContainsFunc(r.Choices,
				func(h Choice) bool { return h.Collective == c && h.Bytes == n && h.Chosen == a }) {
				star = "*"
			}
			fmt.Fprintf(t, "%s%s\t%s\t%s\t", star, duration(p.Seconds),
				rate(p.Bandwidth), deviation(p))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	r.shares(s, c)
	for _, a := range r.Accuracy {
		if a.Collective == c {
			fmt.Fprintf(s, "relative error: median %.0f %%, most %.0f %%, most from 4 KiB on %.0f %%\n",
				100*a.Median, 100*a.Most, 100*a.MostLarge)
		}
	}
}

// shares writes the share of a raw connection's bandwidth that the link reaches.
func (r *Report) shares(s *strings.Builder, c collective.Collective) {
	var list []string
	for _, h := range r.Shares {
		if h.Collective == c {
			list = append(list, fmt.Sprintf("%s %.0f %%", size(h.Bytes), 100*h.Share))
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(s, "of raw TCP: %s\n", strings.Join(list, ", "))
	} else if (c == PointToPoint || c == Stream) && r.NoRaw != "" {
		fmt.Fprintf(s, "no raw TCP beside it: %s\n", r.NoRaw)
	}
}

func deviation(p *Point) string {
	if p.Seconds == 0 || p.Algorithm == Raw {
		return "-"
	}
	return fmt.Sprintf("%+.0f%%", 100*(p.Seconds-p.Predicted)/p.Seconds)
}

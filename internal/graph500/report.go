// Package graph500 runs the Graph500 benchmark: kernels 2 and 3 are vertex programs on the engine,
// the validators use only the edge list, and statistics and output follow the specification, in the
// layout of the reference code. docs/graph500.md describes what is timed. Read run.go first, then
// rank.go.
package graph500

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is the result of one run. Times are in seconds.
type Report struct {
	Scale, EdgeFactor int
	Seeds             [2]uint64 // of the generator
	Processes         int       // num_mpi_processes: number of worker processes
	Generation        float64
	Construction      float64 // time of kernel 1

	// Restarts has, for each time that the graph was made again, the reason and the number of
	// searches before. Generation and Construction are the last times.
	Restarts []string

	// Roots are the vertices where searches start; there are NBFS of them.
	Roots []uint64
	// BFS is kernel 2, SSSP kernel 3; a kernel that did not run is zero.
	BFS, SSSP Kernel
	// Valid tells whether all searches were valid; nil if none was validated.
	Valid *bool

	Threads, Partitions int
	Rows, Columns       int // of the grid of partitions
	PeakRSS             int64
}

// Kernel has the measurements of a kernel's searches, by root.
type Kernel struct {
	// Time is the official time of a search. It ends when the result is available by input numbers.
	Time []float64
	// Translate is the part of Time for the translation from VertexIDs to input numbers.
	Translate []float64
	// Nedge is the number of edges that the validator counts, see validate.Result. It is the same
	// for both kernels if they search the same graph.
	Nedge []int64
	// Validate is the time of validation; nil if there was none.
	Validate []float64
}

// figures are the measurements with statistics, in their order.
var figures = []string{"time", "nedge", "TEPS", "validate"}

// entry is a line of the output block, or a field of the JSON. Keys of a kernel have no prefix yet.
type entry struct {
	key   string
	value any
}

// entries returns the statistics of a figure, with the official names of quartiles and others.
func (k Kernel) entries(figure string) []entry {
	edges := make([]float64, len(k.Nedge))
	for i, n := range k.Nedge {
		edges[i] = float64(n)
	}
	var s Statistics
	harmonic := ""
	switch figure {
	case "time":
		s = Describe(k.Time)
	case "nedge":
		s = Describe(edges)
	case "TEPS":
		s, harmonic = DescribeTEPS(k.Time, edges), "harmonic_"
	case "validate":
		s = Describe(k.Validate)
	}
	return []entry{
		{"min_" + figure, s.Min},
		{"firstquartile_" + figure, s.FirstQuartile},
		{"median_" + figure, s.Median},
		{"thirdquartile_" + figure, s.ThirdQuartile},
		{"max_" + figure, s.Max},
		{harmonic + "mean_" + figure, s.Mean},
		{harmonic + "stddev_" + figure, s.Stddev},
	}
}

// searching returns the mean time of translation, and the harmonic mean of TEPS without
// translation.
func (k Kernel) searching() (translate, teps float64) {
	n := min(len(k.Time), len(k.Translate), len(k.Nedge))
	alone, edges := make([]float64, n), make([]float64, n)
	for i := range n {
		alone[i], edges[i] = k.Time[i]-k.Translate[i], float64(k.Nedge[i])
	}
	return Describe(k.Translate).Mean, DescribeTEPS(alone, edges).Mean
}

// Grid returns the grid of partitions as "RxC".
func (r Report) Grid() string { return fmt.Sprintf("%dx%d", r.Rows, r.Columns) }

// run returns the entries before those of the kernels.
func (r Report) run() []entry {
	return []entry{
		{"SCALE", r.Scale},
		{"edgefactor", r.EdgeFactor},
		{"NBFS", len(r.Roots)},
		{"graph_generation", r.Generation},
		{"num_mpi_processes", r.Processes},
		{"construction_time", r.Construction},
	}
}

// named is a kernel and its name.
type named struct {
	name string
	Kernel
}

// kernels returns the kernels that ran.
func (r Report) kernels() []named {
	return slices.DeleteFunc([]named{{"bfs", r.BFS}, {"sssp", r.SSSP}}, func(k named) bool {
		return len(k.Time) == 0
	})
}

// WriteText writes the output block in the order and layout of the reference code, with labels
// padded to 32 columns. There are two differences. nedge is written for each kernel, as the
// specification requires; the reference code writes it once, for the last kernel. A kernel that did
// not run has no lines. Our own fields, and remarks that begin with #, follow the block. A run that
// is not valid has no block, as in the reference code.
func (r Report) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	if r.Valid != nil && !*r.Valid {
		fmt.Fprintln(out, "No results printed for invalid run.")
		return out.Flush()
	}
	line := func(label string, value any) {
		if x, ok := value.(float64); ok {
			value = fmt.Sprintf("%.6g", x)
		}
		fmt.Fprintf(out, "%-32s%v\n", label+":", value)
	}
	for _, e := range r.run() {
		line(e.key, e.value)
	}
	for _, figure := range figures {
		for _, k := range r.kernels() {
			if figure == "validate" && k.Validate == nil {
				continue
			}
			for _, e := range k.entries(figure) {
				label := fmt.Sprintf("%-5s%s", k.name, e.key)
				switch {
				case figure == "nedge":
					line(label, fmt.Sprintf("%.11g", e.value))
				case e.key == "harmonic_mean_TEPS": // the reference code marks the official result
					fmt.Fprintf(out, "%-29s!  %.6g\n", label+":", e.value)
				default:
					line(label, e.value)
				}
			}
		}
	}
	valid := map[bool]string{true: "true", false: "not checked"}[r.Valid != nil]
	for _, e := range []entry{
		{"threads", r.Threads},
		{"partitions", r.Partitions},
		{"workers", r.Processes},
		{"grid", r.Grid()},
		{"peak_rss_bytes", r.PeakRSS},
		{"valid", valid},
	} {
		line(e.key, e.value)
	}
	for _, why := range r.Restarts {
		fmt.Fprintf(out, "# restarted: %s\n", why)
	}
	fmt.Fprintln(out, "# nedge counts the input tuples in the component of the root: duplicates each time, self-loops not (the reference's rule)")
	for _, k := range r.kernels() {
		translate, teps := k.searching()
		fmt.Fprintf(out, "# %s_time ends with the result in the input's vertex numbers; without the %.6g s (mean) from the engine's to these, %s_harmonic_mean_TEPS is %.6g\n",
			k.name, translate, k.name, teps)
	}
	return out.Flush()
}

// Text returns the output of WriteText.
func (r Report) Text() string {
	var text strings.Builder
	_ = r.WriteText(&text) // into memory
	return text.String()
}

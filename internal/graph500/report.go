// Package graph500 runs, judges and reports the Graph500 benchmark: kernels 2 and 3 are vertex
// programs on the engine, the validators go by the edge list alone, and the statistics and the
// output are the specification's, with the reference's layout. docs/graph500.md says what is timed.
package graph500

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Report is everything of one run. Times are in seconds.
type Report struct {
	Scale, EdgeFactor int
	Seeds             [2]uint64 // of the generator
	Processes         int       // num_mpi_processes: worker processes
	Generation        float64
	Construction      float64 // kernel 1

	// Restarts say why, after how many searches, the graph was made again, each time. Generation
	// and Construction are the last times.
	Restarts []string

	// Roots are the vertices searched from; there are NBFS of them.
	Roots []uint64
	// BFS is kernel 2, SSSP kernel 3; what was not run is zero.
	BFS, SSSP Kernel
	// Valid tells whether every search passed; nil when none was judged.
	Valid *bool

	Threads, Partitions int
	Rows, Columns       int // of the grid of partitions
	PeakRSS             int64
}

// Kernel is what the searches of a kernel took, by root.
type Kernel struct {
	// Time is that of a search until its result is there in the input's vertex numbers: the
	// official one.
	Time []float64
	// Translate is the part of Time that brings the result from the engine's vertex numbers to the
	// input's.
	Translate []float64
	// Nedge is what the validator counts, see validate.Result: the same for both kernels when they
	// search the same graph.
	Nedge []int64
	// Validate is the time of validation, nil when there was none.
	Validate []float64
}

func (k Kernel) ran() bool { return len(k.Time) > 0 }

// statistics returns those of time, nedge, TEPS and validate.
func (k Kernel) statistics() (time, nedge, teps, validate Statistics) {
	edges := make([]float64, len(k.Nedge))
	for i, n := range k.Nedge {
		edges[i] = float64(n)
	}
	return Describe(k.Time), Describe(edges), DescribeTEPS(k.Time, edges), Describe(k.Validate)
}

// searching returns the mean time of translation, and the harmonic mean of TEPS without it.
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

// WriteText writes the output block in the order and the layout of the reference, labels padded to
// 32 columns, with two differences: nedge is given for each kernel, as the specification asks,
// where the reference prints one set without a prefix that the last kernel run has filled; and a
// kernel that was not run has no lines. Fields of ours and remarks, which begin with #, follow the
// block. A run that is not valid has no block, as in the reference.
func (r Report) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	if r.Valid != nil && !*r.Valid {
		fmt.Fprintln(out, "No results printed for invalid run.")
		return out.Flush()
	}
	b := block{out}
	b.integer("SCALE", int64(r.Scale))
	b.integer("edgefactor", int64(r.EdgeFactor))
	b.integer("NBFS", int64(len(r.Roots)))
	b.number("graph_generation", r.Generation)
	b.integer("num_mpi_processes", int64(r.Processes))
	b.number("construction_time", r.Construction)
	b.kernels(r.BFS, r.SSSP)
	b.integer("threads", int64(r.Threads))
	b.integer("partitions", int64(r.Partitions))
	b.integer("workers", int64(r.Processes))
	b.line("grid", r.Grid())
	b.integer("peak_rss_bytes", r.PeakRSS)
	if r.Valid == nil {
		b.line("valid", "not checked")
	} else {
		b.line("valid", "true")
	}
	for _, why := range r.Restarts {
		fmt.Fprintf(out, "# restarted: %s\n", why)
	}
	fmt.Fprintln(out, "# nedge counts the input tuples in the component of the root: duplicates each time, self-loops not (the reference's rule)")
	for _, k := range []struct {
		name string
		Kernel
	}{{"bfs", r.BFS}, {"sssp", r.SSSP}} {
		if k.ran() {
			translate, teps := k.searching()
			fmt.Fprintf(out, "# %s_time ends with the result in the input's vertex numbers; without the %.6g s (mean) from the engine's to these, %s_harmonic_mean_TEPS is %.6g\n",
				k.name, translate, k.name, teps)
		}
	}
	return out.Flush()
}

// Text is what WriteText writes.
func (r Report) Text() string {
	var text strings.Builder
	_ = r.WriteText(&text) // into memory
	return text.String()
}

// block writes lines of the output block.
type block struct{ w io.Writer }

func (b block) kernels(bfs, sssp Kernel) {
	kernels := [...]struct {
		Kernel
		prefix string
	}{{bfs, "bfs  "}, {sssp, "sssp "}}
	for _, k := range kernels {
		if time, _, _, _ := k.statistics(); k.ran() {
			b.statistics(k.prefix, "time", "%.6g", time)
		}
	}
	for _, k := range kernels {
		if _, nedge, _, _ := k.statistics(); k.ran() {
			b.statistics(k.prefix, "nedge", "%.11g", nedge)
		}
	}
	for _, k := range kernels {
		if _, _, teps, _ := k.statistics(); k.ran() {
			b.rates(k.prefix, teps)
		}
	}
	for _, k := range kernels {
		if _, _, _, validate := k.statistics(); k.Validate != nil {
			b.statistics(k.prefix, "validate", "%.6g", validate)
		}
	}
}

func (b block) statistics(prefix, what, format string, s Statistics) {
	for _, f := range s.places() {
		b.line(prefix+f.name+"_"+what, fmt.Sprintf(format, f.value))
	}
	b.line(prefix+"mean_"+what, fmt.Sprintf(format, s.Mean))
	b.line(prefix+"stddev_"+what, fmt.Sprintf(format, s.Stddev))
}

func (b block) rates(prefix string, s Statistics) {
	for _, f := range s.places() {
		b.number(prefix+f.name+"_TEPS", f.value)
	}
	// The reference marks the figure that counts.
	fmt.Fprintf(b.w, "%-29s!  %.6g\n", prefix+"harmonic_mean_TEPS:", s.Mean)
	b.number(prefix+"harmonic_stddev_TEPS", s.Stddev)
}

func (b block) integer(label string, x int64)  { b.line(label, fmt.Sprint(x)) }
func (b block) number(label string, x float64) { b.line(label, fmt.Sprintf("%.6g", x)) }

func (b block) line(label, value string) { fmt.Fprintf(b.w, "%-32s%s\n", label+":", value) }

// place is one of the five places in the sorted figures, with its official name.
type place struct {
	name  string
	value float64
}

func (s Statistics) places() [5]place {
	return [...]place{
		{"min", s.Min}, {"firstquartile", s.FirstQuartile}, {"median", s.Median}, {"thirdquartile", s.ThirdQuartile}, {"max", s.Max},
	}
}

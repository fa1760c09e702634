package cli

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
)

// runReport is what --json writes.
type runReport struct {
	Algorithm     string            `json:"algorithm"`
	Parameters    map[string]string `json:"parameters"`
	Graph         string            `json:"graph"`
	Vertices      int               `json:"vertices"`
	Edges         int               `json:"edges"`
	Directed      bool              `json:"directed"`
	Supersteps    int               `json:"supersteps"`
	Converged     bool              `json:"converged"`
	LoadTime      float64           `json:"load_time"`
	RunTime       float64           `json:"run_time"`
	WriteTime     float64           `json:"write_time"`
	SuperstepTime []float64         `json:"superstep_time"`
	Messages      int               `json:"messages"`
	MessagesSent  int               `json:"messages_sent"`
	BytesSent     int               `json:"bytes_sent"`
	PeakRSS       int64             `json:"peak_rss_bytes"`
	Threads       int               `json:"threads"`
	Partitions    int               `json:"partitions"`
	Workers       int               `json:"workers"` // processes
	Grid          string            `json:"grid"`
	Delivery      string            `json:"delivery"`
	Verified      *bool             `json:"verified,omitempty"`
	Aggregators   trace.Aggregates  `json:"aggregators,omitempty"`
}

// reported prints the report of a run, and lines that sum it up.
func (a *app) reported(w io.Writer, report *runReport, lines []string) {
	if !report.Converged {
		a.notices().say(slog.LevelWarn,
			fmt.Sprintf("%s did not converge in %s", report.Algorithm, things(report.Supersteps, "superstep", "supersteps")))
	}
	report.text(w)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

func (p *runReport) text(w io.Writer) {
	kind := "undirected"
	if p.Directed {
		kind = "directed"
	}
	fmt.Fprintf(w, "%s on %s: %s, %s, %s\n", p.Algorithm, p.Graph,
		things(p.Vertices, "vertex", "vertices"), things(p.Edges, "edge", "edges"), kind)
	how := "converged"
	if !p.Converged {
		how = "stopped"
	}
	fmt.Fprintf(w, "%s after %s, %s", how, things(p.Supersteps, "superstep", "supersteps"), things(p.Messages, "message", "messages"))
	if p.Partitions > 1 {
		fmt.Fprintf(w, ", %s and %s between %d partitions", things(p.MessagesSent, "value", "values"), mem.Text(int64(p.BytesSent)), p.Partitions)
	}
	fmt.Fprintf(w, "\nload %.3f s, run %.6f s, write %.3f s, peak memory %s, %s\n",
		p.LoadTime, p.RunTime, p.WriteTime, mem.Text(p.PeakRSS), things(p.Threads, "thread", "threads"))
	texts := p.Aggregators.Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(w, "aggregator %s: %s\n", name, texts[name])
	}
	if p.Verified != nil {
		fmt.Fprintln(w, "verified: the result satisfies its certificate")
	}
}

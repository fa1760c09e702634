// Package sites measures the benefit of knowing sites, with a delay between two of them. It
// compares collectives chosen by constants, by measurement and by sites, as Matsuda did for
// GridMPI, and PageRank on a cluster whose workers report their sites or do not. Start with
// sites.go.
package sites

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/experiment"
	"github.com/superstep-go/superstep/lab/netem"
)

// Options describe the measurement.
type Options struct {
	Workers int
	Delay   time.Duration // between the sites, each way
	// bytes per second of all messages between the sites, each way; 0 means no limit
	Bandwidth float64
	Sizes     []int
	Repeat    int // rounds, after one that does not count
	// Graph is the graph for PageRank, which runs in worker processes that Command starts. If it is
	// empty, PageRank is not run.
	Graph      string
	Iterations int
	Command    func(ctx context.Context, arguments ...string) (*exec.Cmd, error)
}

// Report has the results.
type Report struct {
	Workers     int               `json:"workers"`
	Delay       float64           `json:"delay_seconds"`
	Bandwidth   float64           `json:"bandwidth,omitempty"`
	Repeat      int               `json:"repeat"`
	Collectives *experiment.Table `json:"collectives"`
	PageRank    *experiment.Table `json:"pagerank,omitempty"`
}

// ways are ways to choose algorithms.
var ways = []string{"constants", "measured", "sites"}

// placements are distributions of workers over sites: the lower half at one site, or alternately,
// as if names were unrelated to sites.
var placements = []struct {
	name string
	site func(rank, ranks int) int
}{
	{"halves", func(rank, ranks int) int { return rank * 2 / ranks }},
	{"by turns", func(rank, _ int) int { return rank % 2 }},
}

var collectives = []collective.Collective{collective.Broadcast, collective.Allreduce, collective.Alltoall}

// Measure runs the measurement.
func Measure(ctx context.Context, o Options) (*Report, error) {
	r := &Report{
		Workers: o.Workers, Delay: o.Delay.Seconds(), Bandwidth: o.Bandwidth, Repeat: o.Repeat,
		Collectives: &experiment.Table{Name: "collectives", Columns: []experiment.Column{
			{Name: "placement", Meaning: "of the workers at the two sites"},
			{Name: "collective", Meaning: "broadcast of so many bytes, allreduce of numbers in so many, alltoall of so many to each"},
			{Name: "bytes", Unit: experiment.Bytes, Meaning: "of its data"},
			{Name: "chosen_by", Meaning: "constants of a local network, measured messages, or these and the sites"},
			{Name: "algorithm", Meaning: "that was chosen"},
			{Name: "seconds", Unit: experiment.Seconds, Meaning: "until the last worker is done, median of the rounds"},
			{Name: "least", Unit: experiment.Seconds, Meaning: "of the rounds"},
			{Name: "over_sites", Unit: experiment.Ratio, Meaning: "over the time with sites of the same round, median"},
		}},
	}
	for _, p := range placements {
		if err := r.collectives(ctx, o, p.name, p.site); err != nil {
			return nil, err
		}
	}
	if o.Graph == "" {
		return r, nil
	}
	var err error
	r.PageRank, err = pageRank(ctx, o)
	return r, err
}

// collectives measures with workers at these sites.
func (r *Report) collectives(ctx context.Context, o Options, placement string, site func(rank,
	ranks int) int,
) error {
	at := make([]int, o.Workers)
	for i := range at {
		at[i] = site(i, o.Workers)
	}
	var wires [2]*netem.Wire
	if o.Bandwidth > 0 {
		wires = [2]*netem.Wire{netem.NewWire(o.Bandwidth), netem.NewWire(o.Bandwidth)}
	}
	w, err := netem.Join(ctx, o.Workers, mesh.Options{Compress: mesh.CompressOff},
		func(c net.Conn, from, to int) net.Conn {
			if at[from] == at[to] {
				return c
			}
			return netem.Lag(c, o.Delay, wires[at[from]])
		})
	if err != nil {
		return err
	}
	defer w.Close()
	groups := make([][]*collective.Group, len(ways))
	for i, way := range ways {
		groups[i] = make([]*collective.Group, o.Workers)
		err := all(ctx, o.Workers, func(ctx context.Context, rank int) error {
			link := w.Sessions[rank].Link()
			model, err := modelOf(ctx, link, at, way)
			if err == nil {
				groups[i][rank], err = collective.NewGroup(link, model, nil)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, c := range collectives {
		for _, bytes := range o.Sizes {
			seconds := make([][]float64, len(ways))
			for round := range o.Repeat + 1 {
				for i := range ways {
					began := time.Now()
					err := all(ctx, o.Workers, func(ctx context.Context, rank int) error { return do(ctx, groups[i][rank], c, bytes) })
					if err != nil {
						return fmt.Errorf("%s of %d bytes: %w", c, bytes, err)
					}
					if round > 0 {
						seconds[i] = append(seconds[i], time.Since(began).Seconds())
					}
				}
			}
			for i, way := range ways {
				algorithm, err := groups[i][0].Choose(c, bytes, 0)
				if err != nil {
					return err
				}
				r.Collectives.Rows = append(r.Collectives.Rows, []any{
					placement, string(c), bytes, way, string(algorithm),
					collective.Median(seconds[i]), slices.Min(seconds[i]),
					over(seconds[i], seconds[len(ways)-1]),
				})
			}
		}
	}
	return nil
}

// over returns the median ratio of two ways, round by round.
func over(some, others []float64) float64 {
	ratios := make([]float64, len(some))
	for i := range some {
		ratios[i] = some[i] / others[i]
	}
	return collective.Median(ratios)
}

func modelOf(
	ctx context.Context, link collective.Link, at []int, way string,
) (*collective.Model, error) {
	switch way {
	case "constants":
		return collective.Uniform(link.Size(), collective.Unmeasured), nil
	case "measured":
		at = nil
	}
	return collective.Calibrate(ctx, link, collective.Calibration{Tag: tag, Sites: at})
}

const tag = 1

// all calls do for each rank concurrently. When one fails, it cancels the others and returns the
// error.
func all(ctx context.Context, ranks int, do func(ctx context.Context, rank int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for rank := range ranks {
		group.Go(func() {
			if err := do(ctx, rank); err != nil {
				cancel(fmt.Errorf("rank %d: %w", rank, err))
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// do performs a rank's part of a collective, and checks the result.
func do(ctx context.Context, g *collective.Group, c collective.Collective, size int) error {
	call, rank, ranks := collective.Call{Tag: tag, Bytes: size}, g.Link().Rank(), g.Link().Size()
	wrong := fmt.Errorf("%s of %d bytes gives something else than it should", c, size)
	switch c {
	case collective.Broadcast:
		got, err := g.Broadcast(ctx, call, 0, pattern(0, 0, size))
		if err == nil && !bytes.Equal(got, pattern(0, 0, size)) {
			err = wrong
		}
		return err
	case collective.Allreduce:
		data := make([]byte, size)
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(data[i:], uint64(i+rank))
		}
		if err := g.Allreduce(ctx, call, data, collective.SumUint64); err != nil {
			return err
		}
		for i := 0; i < size; i += 8 {
			if binary.LittleEndian.Uint64(data[i:]) != uint64(ranks*i+ranks*(ranks-1)/2) {
				return wrong
			}
		}
		return nil
	}
	blocks := make([][]byte, ranks)
	for to := range blocks {
		blocks[to] = pattern(rank, to, size)
	}
	got, err := g.Alltoall(ctx, call, blocks)
	for from := range got {
		if err == nil && !bytes.Equal(got[from], pattern(from, rank, size)) {
			err = wrong
		}
	}
	return err
}

// pattern returns what one rank sends another.
func pattern(from, to, size int) []byte {
	return bytes.Repeat([]byte{byte(16*from + to + 1)}, size)
}

// Text writes the report as text.
func (r *Report) Text(w io.Writer) error {
	bound := ""
	if r.Bandwidth > 0 {
		bound = fmt.Sprintf(" and %.4g bytes a second", r.Bandwidth)
	}
	fmt.Fprintf(w,
		"%d workers at two sites with %v of delay%s each way between them, medians of %d rounds by turns\n\n", r.Workers, time.Duration(r.Delay*1e9), bound, r.Repeat)
	if err := r.Collectives.Text(w); err != nil || r.PageRank == nil {
		return err
	}
	fmt.Fprintln(w)
	return r.PageRank.Text(w)
}

// Figure draws the collectives: a panel for each collective and placement.
func (r *Report) Figure(w io.Writer) error {
	f := figure.Figure{
		Title: fmt.Sprintf("Collectives of %d workers at two sites, %v apart", r.Workers,
			time.Duration(r.Delay*1e9)),
		Subtitle: "until the last worker is done, by what the algorithm was chosen by",
	}
	for _, c := range collectives {
		for _, p := range placements {
			panel := figure.Panel{
				Title: fmt.Sprintf("%s, %s", c, p.name),
				X:     figure.Axis{Label: "bytes", Base: 2, Text: func(v float64) string { return short(v, "B") }},
				Y:     figure.Axis{Base: 10, Text: func(v float64) string { return fmt.Sprintf("%.3g ms", 1e3*v) }},
			}
			for i, way := range ways {
				s := figure.Series{Name: way, Style: figure.Styles[i]}
				for _, row := range r.Collectives.Rows {
					if slices.Equal(row[:2], []any{p.name, string(c)}) && row[3] == way {
						s.Dots = append(s.Dots,
							figure.Point{X: float64(row[2].(int)), Y: row[5].(float64)})
					}
				}
				s.Line = s.Dots
				panel.Series = append(panel.Series, s)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	return f.Write(w)
}

func short(v float64, unit string) string {
	for _, prefix := range []string{"", "Ki", "Mi"} {
		if v < 1024 || prefix == "Mi" {
			return fmt.Sprintf("%.3g %s%s", v, prefix, unit)
		}
		v /= 1024
	}
	return ""
}

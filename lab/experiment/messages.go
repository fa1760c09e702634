package experiment

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/verify"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/pregel"
)

// manner is a set of delivery options with a name for the tables.
type manner struct {
	name    string
	options engine.Options
}

// manners are Ueno13's naive delivery, its proposal, and the current forms of both.
var manners = []manner{
	{"naive", engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}}},
	{"combined", engine.Options{Delivery: delivery.ChooseNaive}},
	{"bitmap", engine.Options{Delivery: delivery.ChoosePull, Experiment: delivery.Experiment{Encoding: delivery.Bitmap}}},
	{"pull", engine.Options{Delivery: delivery.ChoosePull}},
	{"mirrored", engine.Options{Delivery: delivery.ChooseMirrored}},
	{"auto", engine.Options{}},
}

// Partitions and iterations in Table 2.
const (
	tablePartitions = 4
	tableIterations = 10
)

// gains are the speedups of bitmaps over naive delivery in Table 2: 180.98 s over 115.05 s, and
// 15.072 s over 16.280 s.
var gains = map[string]float64{"pagerank": 180.98 / 115.05, "bfs": 15.072 / 16.280}

// messages repeats Ueno13's tables.
func messages(ctx context.Context, b *bench) error {
	t := b.table("messages", append([]Column{
		{"program", Plain, "on an R-MAT graph of 4 partitions"},
		{"delivery", Plain, "naive: one by one; combined: pushed; bitmap: pulled, presence always as bits; pull: as bits, positions or nothing; auto: the model's choice"},
		{"frames", Plain, "from partition to partition"},
		{"values", Plain, "in them"},
		{"bytes", Bytes, "of them"},
		{"gain", Ratio, "naive's time over this, " + byTurns},
	}, secondsColumns...)...)
	steps := b.table(
		"supersteps", Column{"program", Plain, "as in the first table"},
		Column{"delivery", Plain, "too"},
		Column{"superstep", Plain, "whose messages are delivered"},
		Column{"scheme", Plain, "by which"},
		Column{"senders", Plain, "of messages to all neighbours"}, Column{"edges", Plain, "walked"},
		Column{"values", Plain, "sent to other partitions"}, Column{"bytes", Bytes, "sent"},
	)
	if err := b.programs(ctx, t, steps); err != nil {
		return err
	}
	return b.copies(ctx)
}

// programs runs both programs in all manners, as in Table 2.
func (b *bench) programs(ctx context.Context, t, steps *Table) error {
	in, _, err := b.generated(ctx, fmt.Sprintf("rmat:scale=%d,a=0.45,b=0.15,c=0.15", b.Scale))
	if err != nil {
		return err
	}
	defer in.Close()
	g, err := build.Local(ctx, in,
		graph.Options{Partitions: tablePartitions, Team: b.Team, Progress: b.Progress})
	if err != nil {
		return err
	}
	defer g.Close()
	p := &programs{b, in, g}
	for _, program := range []struct {
		name string
		make func(ctx context.Context, o engine.Options) (way, func(), error)
	}{{"pagerank", p.pagerank}, {"bfs", p.bfs}} {
		panel := figure.Panel{Title: program.name + ": bytes sent", X: figure.Axis{Label: "superstep"}, Y: figure.Axis{Base: 10, Text: Bytes.axis}}
		var ways []way
		counts := make([]traffic, len(manners))
		for i, m := range manners {
			m.options.Team, m.options.Trace = b.Team, &counts[i]
			run, end, err := program.make(ctx, m.options)
			if err != nil {
				return err
			}
			_, err = run(ctx)
			end()
			if err != nil {
				return err
			}
			m.options.Trace = nil
			if run, end, err = program.make(ctx, m.options); err != nil {
				return err
			}
			defer end()
			ways = append(ways, run)
			series := figure.Series{Name: m.name, Style: figure.Styles[i]}
			for n, s := range counts[i].steps {
				steps.add(program.name, m.name, n, s.scheme, s.senders, s.edges, s.all.values,
					s.all.bytes)
				series.Dots = append(series.Dots,
					figure.Point{X: float64(n), Y: float64(s.all.bytes)})
			}
			series.Line = series.Dots
			for n := len(panel.X.Names); n < len(counts[i].steps); n++ {
				panel.X.Names = append(panel.X.Names, fmt.Sprint(n))
			}
			panel.Series = append(panel.Series, series)
		}
		b.panel(panel)
		times, err := b.alternate(ctx, "running "+program.name, ways)
		if err != nil {
			return err
		}
		gain := map[string]float64{}
		for i, m := range manners {
			median, low, high := times[i].seconds()
			gain[m.name], _, _ = times[0].over(times[i])
			all := counts[i].all
			t.add(program.name, m.name, all.frames, all.values, all.bytes, gain[m.name], median,
				low, high)
		}
		b.find("%s: bitmaps gain %.2f over naive, the choice of the model %.2f; Ueno13, table 2, has %.2f", program.name, gain["bitmap"], gain["auto"], gains[program.name])
	}
	return nil
}

// programs makes the runs of Table 2.
type programs struct {
	b  *bench
	in *edges.Input
	g  *graph.Graph
}

func (p *programs) verified(ctx context.Context) verify.Graph {
	return verify.Graph{Edges: p.in.Edges, Vertices: p.g.N, Directed: p.g.Directed, Labels: p.g.Labels, Team: p.b.Team, Stop: ctx.Err}
}

func (p *programs) pagerank(ctx context.Context, o engine.Options) (way, func(), error) {
	program := algorithms.PageRank{Damping: 0.85, Iterations: tableIterations}
	job, err := engine.NewJob(ctx, p.g, pregel.Erase(program), o)
	if err != nil {
		return nil, nil, err
	}
	ranks := make([]float64, p.g.N)
	return timed(job, func(ctx context.Context) error {
		for v, id := range p.g.IDs {
			ranks[v] = job.Any(pregel.VertexID(id)).(float64)
		}
		return verify.Ranks(p.verified(ctx), program.Damping, tableIterations, 0, ranks)
	}), job.Close, nil
}

// bfs searches from the vertex with the most arcs.
func (p *programs) bfs(ctx context.Context, o engine.Options) (way, func(), error) {
	job, err := engine.NewJob(ctx, p.g, pregel.Erase(algorithms.BFS{Source: 0}), o)
	if err != nil {
		return nil, nil, err
	}
	parent := make([]int64, p.g.N)
	return timed(job, func(ctx context.Context) error {
		for v, id := range p.g.IDs {
			parent[v] = -1
			if from := job.Any(pregel.VertexID(id)).(pregel.VertexID); from != pregel.None {
				parent[v] = int64(p.g.Order[from])
			}
		}
		return verify.BFS(p.verified(ctx), int(p.g.Order[0]), parent)
	}), job.Close, nil
}

// timed returns rounds of a job. The check of the result is not timed.
func timed(job *engine.Job, check func(context.Context) error) way {
	return func(ctx context.Context) (sample, error) {
		job.Prepare()
		start := time.Now()
		if _, err := job.Run(ctx); err != nil {
			return sample{}, err
		}
		seconds := time.Since(start).Seconds()
		return sample{seconds: seconds}, check(ctx)
	}
}

// copiesDegree is the mean degree in Table 1. Its graph has a million vertices, but the counts do
// not depend on their number.
const copiesDegree = 32

// shares are Table 1: for each number of partitions, messages if a partition gets one per sender,
// divided by messages if it gets one per edge.
var shares = []struct {
	partitions int
	published  float64
}{{2, 0.0625}, {4, 0.125}, {8, 0.245}, {16, 0.432}, {32, 0.632}, {64, 0.787}}

// copies counts the values of Table 1.
func (b *bench) copies(ctx context.Context) error {
	t := b.table(
		"copies", Column{"partitions", Plain, "of a uniform graph of mean degree 32"},
		Column{"one_by_one", Plain, "messages to other partitions when every vertex sends to all its neighbours"},
		Column{"once", Plain, "values, when each partition gets one of a sender"},
		Column{"share", Ratio, "of the two"},
		Column{"formula", Ratio, "(4)/(1) of Ueno13, of vertices that have 32 arcs each"},
		Column{"published", Ratio, "table 1 of Ueno13"},
	)
	in, _, err := b.generated(ctx,
		generate.Uniform{N: 1 << (b.Scale - 3), Degree: copiesDegree, Seed: 1}.Name())
	if err != nil {
		return err
	}
	defer in.Close()
	panel := figure.Panel{
		Title:  "values that cross partitions, over messages that do",
		X:      figure.Axis{Label: "partitions", Base: 2},
		Series: []figure.Series{{Name: "here", Style: figure.Styles[0]}, {Name: "table 1", Style: figure.Styles[1]}},
	}
	worst := 0.0
	for i, c := range shares {
		b.Progress("counting", int64(i), int64(len(shares)))
		g, err := build.Local(ctx, in, graph.Options{Partitions: c.partitions, Team: b.Team})
		if err != nil {
			return err
		}
		naive, err := b.sent(ctx, g,
			engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}})
		if err != nil {
			g.Close()
			return err
		}
		once, err := b.sent(ctx, g, engine.Options{Delivery: delivery.ChoosePull})
		g.Close()
		if err != nil {
			return err
		}
		p, share := float64(c.partitions), float64(once)/float64(naive)
		t.add(c.partitions, naive, once, share, p*(1-math.Pow(1-1/p, copiesDegree))/copiesDegree,
			c.published)
		worst = max(worst, math.Abs(share/c.published-1))
		panel.Series[0].Dots = append(panel.Series[0].Dots, figure.Point{X: p, Y: share})
		panel.Series[1].Line = append(panel.Series[1].Line, figure.Point{X: p, Y: c.published})
	}
	b.panel(panel)
	b.find("values over messages for 2 to 64 partitions are within %.1f %% of Ueno13, table 1",
		100*worst)
	return nil
}

// sent runs one superstep in which every vertex sends to all its neighbours. It returns the number
// of values between partitions.
func (b *bench) sent(ctx context.Context, g *graph.Graph, o engine.Options) (int, error) {
	o.Team = b.Team
	job, err := engine.NewJob(ctx, g,
		pregel.Erase(algorithms.PageRank{Damping: 0.85, Iterations: 1}), o)
	if err != nil {
		return 0, err
	}
	defer job.Close()
	outcome, err := job.Run(ctx)
	if err != nil {
		return 0, err
	}
	return outcome.Sent, nil
}

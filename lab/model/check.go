package model

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// Comparison compares predicted traffic with that of searches on a grid, with all partitions in one
// process.
type Comparison struct {
	Scale      int   `json:"scale"`
	EdgeFactor int   `json:"edge_factor"`
	Grid       Grid  `json:"grid"`
	Searches   int   `json:"searches"`
	Rows       []Row `json:"rows"`
}

// Row compares one phase of one scheme over all searches.
type Row struct {
	Scheme    string `json:"scheme"`
	Phase     string `json:"phase"`
	Predicted Volume `json:"predicted"`
	Measured  Volume `json:"measured"`
}

// Error returns the relative error of the predicted bytes.
func (r *Row) Error() float64 { return ratio(r.Predicted.Bytes, r.Measured.Bytes) - 1 }

func ratio(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// counter sums up what partitions sent, by exchange.
type counter map[string]Volume

func (c counter) Record(e trace.Event) error {
	s, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	for i := range s.Partitions {
		for _, p := range s.Partitions[i].Peers {
			v := c[p.Exchange]
			v.add(Volume{1, float64(p.Messages), float64(p.Bytes)})
			c[p.Exchange] = v
		}
	}
	return nil
}

// Check builds a graph for a grid, searches it with every scheme from roots of all degrees, and
// compares the traffic with predictions.
func Check(
	ctx context.Context, scale, edgeFactor int, grid Grid, roots int,
	progress func(stage string, done, total int64),
) (*Comparison, error) {
	g, err := buildFor(ctx, scale, edgeFactor, grid, progress)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	c := &Comparison{Scale: scale, EdgeFactor: edgeFactor, Grid: grid}
	searches := int64(0)
	for scheme := range schemes {
		sent, want := counter{}, Traffic{}
		for i := range min(roots, g.Connected) {
			root := (2*i + 1) * g.Connected / (2 * roots)
			q, local := g.Deal.Of(uint32(root))
			s := NewSearch(scale, edgeFactor, float64(g.Parts[q].OutDegrees[local]))
			for _, l := range s.Levels {
				t := l.Traffic(scale, grid, scheme)
				want.Expand.add(t.Expand)
				want.Ring.add(t.Ring)
				want.Fold.add(t.Fold)
			}
			if err := search(ctx, g, pregel.VertexID(root), scheme, sent); err != nil {
				return nil, err
			}
			searches++
			progress("searching", searches, int64(schemes)*int64(roots))
		}
		c.Searches = min(roots, g.Connected)
		ring := sent["ring"]
		ring.Values = 0 // the ring sends open vertices, not messages
		c.Rows = append(
			c.Rows, Row{scheme.String(), "expand", want.Expand, sent["expand"]},
			Row{scheme.String(), "ring", want.Ring, ring},
			Row{scheme.String(), "fold", want.Fold, sent["fold"]},
		)
	}
	return c, nil
}

// buildFor builds a Kronecker graph with a partition for each process of a grid.
func buildFor(
	ctx context.Context, scale, edgeFactor int, grid Grid,
	progress func(stage string, done, total int64),
) (*graph.Graph, error) {
	kronecker := generate.Kronecker{Scale: scale, EdgeFactor: edgeFactor, Seed1: 2, Seed2: 3}
	in, err := generate.Input(ctx, kronecker,
		generate.Options{Progress: func(done, total int64) { progress("generating", done, total) }})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return build.Local(ctx, in, graph.Options{
		Grid: graph.Grid{Rows: grid.Rows, Columns: grid.Columns}, Duplicates: graph.LeastDuplicate,
		DropLoops: true, Progress: progress,
	})
}

func search(
	ctx context.Context, g *graph.Graph, root pregel.VertexID, scheme Scheme, sink trace.Journal,
) error {
	o := engine.Options{Trace: sink, Delivery: delivery.ChoosePush}
	switch flat := len(g.Parts) == 1 || g.Parts[0].Grid.Flat(); {
	case scheme == Pull && flat:
		o.Delivery = delivery.ChoosePull
	case scheme == Pull:
		o.Delivery = delivery.ChooseRingPull
	case flat:
		o.Delivery = delivery.ChooseNaive
	}
	j, err := engine.NewJob(ctx, g, pregel.Erase(algorithms.BFS{Source: root}), o)
	if err != nil {
		return err
	}
	defer j.Close()
	_, err = j.Run(ctx)
	return err
}

// Text writes the comparison as a table.
func (c *Comparison) Text(w io.Writer) error {
	fmt.Fprintf(w, "SCALE %d, edge factor %d, a grid of %dx%d in one process: %d searches\n\n",
		c.Scale, c.EdgeFactor, c.Grid.Rows, c.Grid.Columns, c.Searches)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "scheme\tphase\tmessages\tvalues\tbytes\tpredicted\tvalues\tbytes\terror\t\n")
	if c.Grid.Partitions() == 1 {
		_, err := fmt.Fprintln(w, "One process sends nothing: a check wants a grid of two or more.")
		return err
	}
	for _, r := range c.Rows {
		if r.Measured.Messages == 0 && r.Predicted.Messages == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%+.1f %%\t\n", r.Scheme,
			r.Phase, r.Measured.Messages, r.Measured.Values, r.Measured.Bytes,
			r.Predicted.Messages, r.Predicted.Values, r.Predicted.Bytes, 100*r.Error())
	}
	return t.Flush()
}

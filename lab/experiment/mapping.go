package experiment

import (
	"context"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// axis is a dimension of Fugaku's network. Two of its places are neighbours if their numbers differ
// by one; in a torus, the first and the last are, too.
type axis struct {
	name  string
	size  int
	torus bool
}

// hops returns the distance of two places.
func hops(axes []axis, a, b []int) (sum int) {
	for i, x := range axes {
		d := max(a[i]-b[i], b[i]-a[i])
		if x.torus {
			d = min(d, x.size-d)
		}
		sum += d
	}
	return sum
}

// mappings of processes to places, the first axis varying fastest.
const (
	byNumber  = "by number" // from 0 on each axis
	reflected = "reflected" // each axis to and fro, so that successive processes are neighbours
)

// places returns the places of all processes of a dimension, R or C.
func places(axes []axis, mapping string) (all [][]int) {
	n := 1
	for _, a := range axes {
		n *= a.size
	}
	for i := range n {
		at, rest := make([]int, len(axes)), i
		for k, a := range axes {
			at[k], rest = rest%a.size, rest/a.size
			// rest is the number of passes along this axis.
			if mapping == reflected && rest%2 == 1 {
				at[k] = a.size - 1 - at[k]
			}
		}
		all = append(all, at)
	}
	return all
}

// ringHops returns the distances of successive processes, and of the last and the first.
func ringHops(axes []axis, all [][]int) (most, sum, last int) {
	for i := 1; i < len(all); i++ {
		d := hops(axes, all[i-1], all[i])
		most, sum = max(most, d), sum+d
	}
	return most, sum, hops(axes, all[len(all)-1], all[0])
}

// mapping counts the hops of messages along rows and columns of processes that are placed on the
// axes of Fugaku's network (Nakao20, figure 16), and the bytes between two sites for a grid whose
// rows or columns are placed together.
func mapping(ctx context.Context, b *bench) error {
	x, y, z := axis{"X", 20, true}, axis{"Y", 16, true}, axis{"Z", 24, true}
	small := []axis{{"a", 2, false}, {"b", 3, true}, {"c", 2, false}}
	t := b.table("mapping",
		Column{"how", Plain, "counted"},
		Column{"dimension", Plain, "of the grid of processes"},
		Column{"axes", Plain, "with their sizes; the first varies fastest"},
		Column{"processes", Plain, ""},
		Column{"mapping", Plain, "by number, or reflected: each axis to and fro (Nakao20, 5.6)"},
		Column{"most", Plain, "hops to the next process of the ring"},
		Column{"mean", Ratio, "hops to the next"},
		Column{"last", Plain, "hops from the last to the first"},
	)
	panel := figure.Panel{Title: "mean hops to the next process", Y: figure.Axis{Text: Ratio.axis}}
	for i, m := range []string{byNumber, reflected} {
		panel.Series = append(panel.Series, figure.Series{Name: m, Style: figure.Styles[i]})
	}
	for i, d := range []struct {
		name string
		axes []axis
	}{{"C, figure 16", small}, {"R", []axis{x, y}}, {"C", append([]axis{z}, small...)}} {
		var names []string
		for _, a := range d.axes {
			names = append(names, fmt.Sprintf("%s%d", a.name, a.size))
		}
		for k, m := range []string{byNumber, reflected} {
			all := places(d.axes, m)
			most, sum, last := ringHops(d.axes, all)
			mean := float64(sum) / float64(len(all)-1)
			t.add(howCounted, d.name, strings.Join(names, " "), len(all), m, most, mean, last)
			panel.Series[k].Dots = append(panel.Series[k].Dots, figure.Point{X: float64(i), Y: mean})
			if m == reflected {
				b.find("%s: reflected, the next process is at most %d hops away, and the last %d from the first",
					d.name, most, last)
			}
		}
		panel.X.Names = append(panel.X.Names, d.name)
	}
	b.panel(panel)
	return b.sitesOfGrids(ctx)
}

// pairBytes is a journal of the bytes from each partition to each other.
type pairBytes map[[2]int]int

func (p pairBytes) Record(e trace.Event) error {
	if r, ok := e.(*record.Superstep); ok {
		for i := range r.Partitions {
			for _, q := range r.Partitions[i].Peers {
				p[[2]int{r.Partitions[i].Partition, q.Partition}] += q.Bytes
			}
		}
	}
	return nil
}

// crossing returns the bytes between partitions at different sites, and all bytes.
func (p pairBytes) crossing(site func(partition int) int) (between, all int) {
	for pair, n := range p {
		if all += n; site(pair[0]) != site(pair[1]) {
			between += n
		}
	}
	return between, all
}

// placed are ways to place the partitions of a grid at two sites.
var placed = []struct {
	name string
	site func(g graph.Grid, partition int) int
}{
	{"rows", func(g graph.Grid, p int) int { return g.Row(p) * 2 / g.Rows }},
	{"columns", func(g graph.Grid, p int) int { return g.Column(p) * 2 / g.Columns }},
	{"mixed", func(g graph.Grid, p int) int { return (g.Row(p) + g.Column(p)) % 2 }},
}

// sitesOfGrids counts the bytes between two sites in searches.
func (b *bench) sitesOfGrids(ctx context.Context) error {
	t := b.table("sites",
		Column{"how", Plain, "counted: partitions in this process"},
		Column{"grid", Plain, "R x C"},
		Column{"together", Plain, "what is at one of two sites: whole rows, whole columns, or neither"},
		Column{"between", Bytes, "from site to site, of a search"}, Column{"share", Ratio, "of all bytes"},
	)
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", b.Scale), 4)
	if err != nil {
		return err
	}
	defer s.close()
	for _, side := range []int{2, 4} {
		grid := graph.Grid{Rows: side, Columns: side}
		b.Progress(fmt.Sprintf("searching %v", grid), 0, 1)
		sent := pairBytes{}
		x, err := s.inLayout(ctx, &layout{}, grid, sent)
		if err != nil {
			return err
		}
		_, err = x.round(ctx)
		x.close()
		if err != nil {
			return err
		}
		for _, p := range placed {
			between, all := sent.crossing(func(partition int) int { return p.site(grid, partition) })
			t.add(howCounted, grid.String(), p.name, float64(between)/float64(len(s.roots)),
				float64(between)/float64(all))
			b.find("%v, %s at one site: %.2f of the bytes go from site to site", grid, p.name,
				float64(between)/float64(all))
		}
	}
	return nil
}

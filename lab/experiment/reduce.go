package experiment

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/netem"
)

// Sizes of the reduce, and the bandwidth between the sites, of Matsuda's link (1 Gbit/s).
var reduceSizes = []int{1 << 10, 16 << 10, 256 << 10, 1 << 20}

const (
	reduceRanks = 8
	reduceRate  = 125e6
)

// reduces measures a reduce to rank 0 at two sites along two binary trees: by numbers of ranks, as
// YAMPII does, and first inside each site, as IMPI does (Matsuda, figure 7).
func reduces(ctx context.Context, b *bench) error {
	t := b.table("reduce", append([]Column{
		{"placement", Plain, "of the ranks at the two sites"},
		{"link", Plain, "between the sites: none is loopback"},
		{"tree", Plain, "by numbers of ranks, or by sites"},
		{"crossings", Plain, "messages from site to site"},
		{"bytes", Bytes, "of each rank's data"},
		{"bandwidth", "B/s", "bytes times ranks over the time"},
		{"over_sites", Ratio, "time, " + byTurns},
	}, secondsColumns...)...)
	for _, place := range []struct {
		name string
		site func(rank int) int
	}{
		{"halves", func(rank int) int { return rank * 2 / reduceRanks }},
		{"by turns", func(rank int) int { return rank % 2 }},
	} {
		var sites, byNumber, bySite []int
		for rank := range reduceRanks {
			byNumber, sites = append(byNumber, rank), append(sites, place.site(rank))
		}
		for site := range 2 {
			for rank, s := range sites {
				if s == site {
					bySite = append(bySite, rank)
				}
			}
		}
		panel := figure.Panel{
			Title: "reduce, " + place.name, X: figure.Axis{Label: "bytes", Base: 2, Text: Bytes.axis},
			Y: figure.Axis{Base: 10, Text: Unit("B/s").axis},
		}
		for i, delay := range []time.Duration{0, lagOneWay} {
			name := "1 Gbit/s"
			if delay > 0 {
				name += ", " + delay.String()
			}
			wires := []*netem.Wire{netem.NewWire(reduceRate), netem.NewWire(reduceRate)}
			w, err := netem.Join(ctx, reduceRanks, mesh.Options{Compress: mesh.CompressOff},
				func(c net.Conn, from, to int) net.Conn {
					if sites[from] == sites[to] {
						return c
					}
					return netem.Lag(c, delay, wires[sites[from]])
				})
			if err != nil {
				return err
			}
			trees := []struct {
				name  string
				order []int
			}{{"numbers", byNumber}, {"sites", bySite}}
			for k, tree := range trees {
				panel.Series = append(panel.Series, figure.Series{Name: tree.name + ", " + name, Style: figure.Styles[2*i+k]})
			}
			err = b.reduceOver(ctx, w, func(bytes int, times []rounds) {
				for k, tree := range trees {
					median, low, high := times[k].seconds()
					over, _, _ := times[k].over(times[1])
					bandwidth := float64(bytes*reduceRanks) / median
					t.add(place.name, name, tree.name, crossings(tree.order, sites), bytes, bandwidth, over, median, low, high)
					s := &panel.Series[2*i+k]
					s.Dots = append(s.Dots, figure.Point{X: float64(bytes), Y: bandwidth})
					s.Line = s.Dots
					if k == 0 && bytes == reduceSizes[len(reduceSizes)-1] {
						b.find("%s, %s, 1 MiB: by numbers %.2f times the time of by sites, with %d crossings and %d", place.name, name, over, crossings(tree.order, sites), crossings(bySite, sites))
					}
				}
			}, byNumber, bySite)
			w.Close()
			if err != nil {
				return err
			}
		}
		b.panel(panel)
	}
	return nil
}

// reduceOver measures both orders for each size.
func (b *bench) reduceOver(
	ctx context.Context, w *netem.Workers, found func(bytes int, times []rounds), orders ...[]int,
) error {
	for _, bytes := range reduceSizes {
		var ways []way
		for _, order := range orders {
			ways = append(ways, func(ctx context.Context) (sample, error) {
				return together(ctx, reduceRanks, func(ctx context.Context, rank int) error {
					sum, err := reduceAlong(ctx, w.Sessions[rank].Link(), order, numbered(bytes, rank))
					if err == nil && rank == order[0] {
						err = checkNumber(sum, bytes, reduceRanks*(reduceRanks-1)/2)
					}
					return err
				})
			})
		}
		times, err := b.alternate(ctx, fmt.Sprintf("reducing %d bytes", bytes), ways)
		if err != nil {
			return err
		}
		found(bytes, times)
	}
	return nil
}

// reduceAlong adds the data of all ranks along a binary tree, and returns the sum on the first rank
// of the order: in step i, ranks whose places differ by 2^i combine.
func reduceAlong(
	ctx context.Context, link collective.Link, order []int, data []byte,
) ([]byte, error) {
	at := 0
	for order[at] != link.Rank() {
		at++
	}
	for step := 1; step < len(order); step *= 2 {
		if at&step != 0 {
			return data, link.Send(ctx, order[at-step], linkTag, data)
		}
		if at+step >= len(order) {
			continue
		}
		got, err := link.Receive(ctx, order[at+step], linkTag)
		if err != nil {
			return nil, err
		}
		if len(got) != len(data) {
			return nil, fmt.Errorf("found %d bytes, expected %d", len(got), len(data))
		}
		collective.SumUint64.Combine(data, got)
		collective.Release(link, got)
	}
	return data, nil
}

// crossings returns the number of messages of the tree between two sites.
func crossings(order, sites []int) (n int) {
	for at := 1; at < len(order); at++ {
		if sites[order[at]] != sites[order[at&(at-1)]] {
			n++
		}
	}
	return n
}

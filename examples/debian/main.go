// Command debian ranks Debian's packages by PageRank on the graph of their dependencies. The first
// packages are those on which most of Debian depends, directly or not.
//
//	debian [-top N] [-communities] [FILE]
//
// With -communities it prints the largest groups of packages that depend on each other more than on
// other packages. FILE has the output of `apt-cache dumpavail`; - is standard input. Without FILE
// the command runs apt-cache.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

func main() {
	top := flag.Int("top", 20, "how many packages to print")
	groups := flag.Bool("communities", false, "print the largest communities in place of the ranks")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(),
			"usage: debian [-top N] [-communities] [FILE]\n\nFILE is what `apt-cache dumpavail` prints, - standard input; without it apt-cache is run.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 1 || *top < 0 {
		flag.Usage()
		os.Exit(2)
	}
	print := rank
	if *groups {
		print = communities
	}
	if err := run(context.Background(), flag.Arg(0), *top, os.Stdout, print); err != nil {
		fmt.Fprintln(os.Stderr, "debian:", err)
		os.Exit(1)
	}
}

// run reads the packages of a file and calls print with their graph.
func run(ctx context.Context, file string, top int, out io.Writer, print func(context.Context,
	dependencies, int, io.Writer) error,
) error {
	packages, err := read(ctx, file)
	if err != nil {
		return err
	}
	d := resolve(packages)
	if len(d.names) == 0 {
		return fmt.Errorf("%s: no packages", cmp.Or(file, "apt-cache dumpavail"))
	}
	return print(ctx, d, top, out)
}

// rank prints the packages with the highest ranks.
func rank(ctx context.Context, d dependencies, top int, out io.Writer) error {
	g, err := superstep.FromEdges(ctx, d.edges,
		superstep.LoadOptions{SelfLoops: superstep.DropSelfLoops})
	if err != nil {
		return err
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, algorithms.PageRank{Damping: 0.85})
	if err != nil {
		return err
	}
	fmt.Fprintf(out,
		"%d packages, %d dependencies, %d that nothing meets; PageRank took %d supersteps\n",
		g.NumVertices(), g.NumEdges(), d.unmet, res.Supersteps)
	type ranked struct {
		label uint64
		rank  float64
	}
	var list []ranked
	for label, rank := range res.All() {
		list = append(list, ranked{label, rank})
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.label, b.label))
	})
	fmt.Fprintf(out, "%12s  %-30s %s\n", "rank", "package", "dependents")
	for i, p := range list[:min(top, len(list))] {
		fmt.Fprintf(out, "%3d  %.5f  %-30s %10d\n", i+1, p.rank, d.names[p.label],
			d.dependents[p.label])
	}
	return nil
}

// communities finds communities with the Louvain method and prints the largest. It lists the five
// packages with the most dependents in each.
func communities(ctx context.Context, d dependencies, top int, out io.Writer) error {
	g, err := superstep.FromEdges(ctx, d.edges,
		superstep.LoadOptions{Undirected: true, SelfLoops: superstep.DropSelfLoops, Duplicates: superstep.FirstDuplicates})
	if err != nil {
		return err
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, algorithms.Louvain{}, superstep.Options{Deterministic: true})
	if err != nil {
		return err
	}
	members := map[pregel.VertexID][]uint64{}
	for label, community := range res.All() {
		members[community] = append(members[community], label)
	}
	for _, list := range members {
		slices.SortFunc(list, func(a, b uint64) int { return cmp.Or(cmp.Compare(d.dependents[b], d.dependents[a]), cmp.Compare(a, b)) })
	}
	all := slices.SortedFunc(maps.Values(members),
		func(a, b []uint64) int { return cmp.Or(len(b)-len(a), cmp.Compare(a[0], b[0])) })
	fmt.Fprintf(out, "%d packages, %d communities\n", g.NumVertices(), len(all))
	for _, community := range all[:min(top, len(all))] {
		var names []string
		for _, label := range community[:min(5, len(community))] {
			names = append(names, d.names[label])
		}
		fmt.Fprintf(out, "%6d  %s\n", len(community), strings.Join(names, ", "))
	}
	return nil
}

// read parses a file, standard input, or the output of apt-cache.
func read(ctx context.Context, file string) ([]Package, error) {
	switch file {
	case "-":
		return parse("standard input", os.Stdin)
	case "":
		apt := exec.CommandContext(ctx, "apt-cache", "dumpavail")
		apt.Stderr = os.Stderr
		out, err := apt.Output()
		if err != nil {
			return nil, fmt.Errorf("apt-cache dumpavail, which is run when no FILE is given: %w",
				err)
		}
		return parse("apt-cache dumpavail", bytes.NewReader(out))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(file, f)
}

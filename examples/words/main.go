// Command words climbs word ladders: words of as many letters are joined if they differ in one
// letter, and a shortest way from one to the other is searched.
//
//	words [-dict FILE] [FROM TO]
//
// FILE has a word a line; Debian's package wamerican has one. Words with capitals or apostrophes
// are left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

func main() {
	dict := flag.String("dict", "/usr/share/dict/words", "the list of words, one a line")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(),
			"usage: words [-dict FILE] [FROM TO]\n\nFROM and TO are cold and warm if not given.")
		flag.PrintDefaults()
	}
	flag.Parse()
	ends := flag.Args()
	if len(ends) == 0 {
		ends = []string{"cold", "warm"}
	}
	if len(ends) != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), *dict, ends[0], ends[1], os.Stdout); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: give a list of words with -dict, or install Debian's package wamerican", err)
		}
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run reads the words as long as from and to, counts components, and prints the ladder.
func run(ctx context.Context, dict, from, to string, out io.Writer) error {
	letters := utf8.RuneCountInString(from)
	if letters != utf8.RuneCountInString(to) {
		return fmt.Errorf("%s and %s are not of one length", from, to)
	}
	f, err := os.Open(dict)
	if err != nil {
		return err
	}
	defer f.Close()
	words, err := readWords(dict, f, letters)
	if err != nil {
		return err
	}
	for _, w := range []string{from, to} {
		if _, ok := slices.BinarySearch(words, w); !ok {
			return fmt.Errorf("%s: %q is not in the list", dict, w)
		}
	}
	g, err := superstep.FromEdges(ctx, join(words),
		superstep.LoadOptions{Undirected: true, SelfLoops: superstep.DropSelfLoops})
	if err != nil {
		return err
	}
	defer g.Close()
	if err := printComponents(ctx, g, letters, out); err != nil {
		return err
	}
	return printLadder(ctx, g, words, from, to, out)
}

// printComponents says how many components there are, and how large.
func printComponents(ctx context.Context, g *superstep.Graph, letters int, out io.Writer) error {
	res, err := superstep.Run(ctx, g, algorithms.WCC{})
	if err != nil {
		return err
	}
	size := map[pregel.VertexID]int{} // by the id that stands for the component
	for _, component := range res.All() {
		size[component]++
	}
	sizes := slices.Sorted(maps.Values(size))
	slices.Reverse(sizes)
	alone := 0
	for alone < len(sizes) && sizes[len(sizes)-1-alone] == 1 {
		alone++
	}
	fmt.Fprintf(out, "%d words of %d letters, %d pairs that differ in one\n", g.NumVertices(),
		letters, g.NumEdges()/2)
	fmt.Fprintf(out, "%d components, %d of them a word alone; the largest, in words: %d\n",
		len(sizes), alone, sizes[:min(5, len(sizes))])
	return nil
}

// printLadder searches from the end, so that parents lead to it from the beginning. It is
// deterministic: of the many shortest ladders it is always the same.
func printLadder(ctx context.Context, g *superstep.Graph, words []string, from, to string, out io.Writer) error {
	first, last := vertex(g, words, from), vertex(g, words, to)
	res, err := superstep.Run(ctx, g, algorithms.BFS{Source: last},
		superstep.Options{Deterministic: true})
	if err != nil {
		return err
	}
	if res.Value(first) == pregel.None {
		fmt.Fprintf(out, "no ladder leads from %s to %s\n", from, to)
		return nil
	}
	fmt.Fprint(out, from)
	steps := 0
	for v := first; v != last; steps++ {
		v = res.Value(v)
		fmt.Fprint(out, " -> ", words[g.Label(v)])
	}
	fmt.Fprintf(out, "\nsteps: %d\n", steps)
	return nil
}

// vertex returns the handle of a word: its input id is its place in the list.
func vertex(g *superstep.Graph, words []string, word string) pregel.VertexID {
	i, _ := slices.BinarySearch(words, word)
	v, _ := g.Vertex(uint64(i))
	return v
}

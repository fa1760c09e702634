// Command words finds word ladders. Two words of the same length are neighbours if they differ in
// one letter. The command searches a shortest path from one word to another.
//
//	words [-dict FILE] [FROM TO]
//
// FILE has one word on each line, like /usr/share/dict/words of Debian's package wamerican. The
// command ignores words with capitals or apostrophes.
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
			err = fmt.Errorf(
				"%w: give a list of words with -dict, or install Debian's package wamerican", err)
		}
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run reads the words of the length of from and to, counts components, and prints the ladder.
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

// printComponents prints the number of components and the largest sizes.
func printComponents(ctx context.Context, g *superstep.Graph, letters int, out io.Writer) error {
	res, err := superstep.Run(ctx, g, algorithms.WCC{})
	if err != nil {
		return err
	}
	size := map[pregel.VertexID]int{} // by the component's representative
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

// printLadder searches from the last word, so that the parents lead from the first word to it. The
// run is deterministic: it always finds the same one of several shortest ladders.
func printLadder(
	ctx context.Context, g *superstep.Graph, words []string, from, to string, out io.Writer,
) error {
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

// vertex returns the vertex of a word. Its label is the index of the word in the list.
func vertex(g *superstep.Graph, words []string, word string) pregel.VertexID {
	i, _ := slices.BinarySearch(words, word)
	v, _ := g.Vertex(uint64(i))
	return v
}

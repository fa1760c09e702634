package beside

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

// Algorithms are the algorithms that both sides support.
var Algorithms = []string{"bfs", "pagerank", "sssp", "wcc"}

// Iterations is the number of PageRank iterations in a trial, on both sides.
const Iterations = 20

// Trials loads a graph and runs an algorithm on it n times. It prints the time of each call of
// superstep.Run in GAPBS' format. Searches begin at random vertices with edges. Closing a result is
// not timed, as GAPBS does not time freeing its results.
func Trials(ctx context.Context, w io.Writer, file, algorithm string, n, threads int) error {
	o := superstep.LoadOptions{Threads: threads}
	if algorithm == "sssp" {
		o.Weights = superstep.Float32 // as wide as GAPBS' integers
	}
	g, err := superstep.Load(ctx, file, o)
	if err != nil {
		return err
	}
	defer g.Close()
	sources, err := sources(file, n)
	if err != nil {
		return err
	}
	for _, label := range sources {
		source, ok := g.Vertex(label)
		if !ok {
			return fmt.Errorf("%s: vertex %d is missing", file, label)
		}
		start := time.Now()
		switch algorithm {
		case "bfs":
			err = run(ctx, g, algorithms.BFS{Source: source}, threads)
		case "pagerank":
			err = run(ctx, g, algorithms.PageRank{Iterations: Iterations}, threads)
		case "sssp":
			err = run(ctx, g, algorithms.SSSP[float32]{Source: source}, threads)
		case "wcc":
			err = run(ctx, g, algorithms.WCC{}, threads)
		default:
			err = fmt.Errorf("there is no algorithm %q", algorithm)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %.6f\n", trialTime, time.Since(start).Seconds())
	}
	return nil
}

func run[V, M any](ctx context.Context, g *superstep.Graph, p pregel.Program[V, M], threads int,
) error {
	_, err := superstep.Run(ctx, g, p, superstep.Options{Threads: threads})
	return err
}

// sources picks n random vertices with out-edges. It reads the offsets at the beginning of a
// serialized graph of GAPBS:
//
//	directed, 1 byte | edges, 8 | vertices, 8 | offset of each vertex, and of the end, 8 each | ...
func sources(file string, n int) ([]uint64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	number := func(at int64) (uint64, error) {
		var b [8]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		return binary.LittleEndian.Uint64(b[:]), nil
	}
	edges, err := number(1)
	if err != nil {
		return nil, err
	}
	vertices, err := number(9)
	if err != nil {
		return nil, err
	}
	if edges == 0 || vertices == 0 {
		return nil, fmt.Errorf("%s: the graph has no edges", file)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []uint64
	for len(all) < n {
		v := r.Uint64N(vertices)
		from, err := number(17 + 8*int64(v))
		if err != nil {
			return nil, err
		}
		to, err := number(25 + 8*int64(v))
		if err != nil {
			return nil, err
		}
		if to > from {
			all = append(all, v)
		}
	}
	return all, nil
}

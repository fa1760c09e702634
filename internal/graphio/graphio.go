// Package graphio reads graphs from files into lists of tuples, and writes graphs and results to
// files. It is where untrusted input is read: whatever a file holds, the outcome is the graph it
// describes or one error that names the file, the line, what was found and what was expected; never
// a panic, never a smaller graph.
//
//	file -> pieces of whole lines -> parser, one a worker -> batches, in order -> numbering of ids -> edges.Packed
//	        (gzip, zstd: one goroutine                                            (bitmap or sorted)
//	         decodes at a time)
package graphio

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Format is a way to lay out a graph in files.
type Format string

// The formats that are read and, but for Adjacency, Giraph and GraphML, written.
const (
	SNAP         Format = "snap"
	EL           Format = "el"
	WEL          Format = "wel"
	MatrixMarket Format = "mtx"
	LDBC         Format = "ldbc"
	Graph500     Format = "graph500"
	Adjacency    Format = "adjacency"
	CSV          Format = "csv"
	TSV          Format = "tsv"
	JSONLines    Format = "jsonl"
	Parquet      Format = "parquet"
	DIMACS       Format = "dimacs"
	METIS        Format = "metis"
	GraphML      Format = "graphml"
	Serialized   Format = "sg"  // of GAPBS
	SerializedW  Format = "wsg" // the same with weights
	Giraph       Format = "giraph"
)

// ParseFormat returns the format of the name given.
func ParseFormat(s string) (Format, error) {
	if !slices.Contains(Formats, s) {
		return "", fmt.Errorf("found the graph format %s, expected one of %s", quote([]byte(s)), strings.Join(Formats, ", "))
	}
	return Format(s), nil
}

// ReadOptions say how to read a file; the zero value sniffs the format, drops weights and uses one
// goroutine.
type ReadOptions struct {
	// Format is the file's format; "" finds it by name and content.
	Format Format
	// Directed, when it is not nil, overrides what the format or the file says.
	Directed *bool
	// Team shares the work; nil is the caller alone.
	Team *parallel.Team
	// MaxExpand is how many bytes a compressed file may expand to; 0 is 100 times its size and at
	// least 1 GiB.
	MaxExpand int64
	// Progress is called now and then, by one goroutine at a time, with the bytes of the files read
	// and to be read; a file that is read twice counts twice. The total is 0 when it is not known.
	Progress func(done, total int64)
	// Weights is the kind of weights to keep where the file has weights; Unweighted drops them.
	Weights edges.Weights
	// Columns are those of a table.
	Columns Columns
	// SkipBad is how many malformed lines of a text are left out, as edges.Input.Skipped tells; one
	// more is an error.
	SkipBad int
}

const (
	// maxVertices is how many vertices a graph may have.
	maxVertices = 1 << 32
	// maxLine is the longest line read, in bytes: the longest sensible one is a comment.
	maxLine = 1 << 20
	// pieceSize is how many bytes a worker parses at a time: what it holds of them stays in its
	// cache.
	pieceSize = 1 << 20
)

// Read reads the graph in a file, or for LDBC in the files beside it. Its vertices are numbered by
// rising input id. Errors about the content read "FILE:LINE: found X, expected Y". The caller
// closes the result.
func Read(ctx context.Context, path string, o ReadOptions) (*edges.Input, error) {
	return newReader(o, pieceSize).read(ctx, path)
}

// ReadRank reads the part of a file that the given one of several ranks has: together they read all
// of it, in order. Plain files are cut by bytes, at the ends of lines or records; compressed ones
// by pieces, of which a rank decodes those before its own too. Errors name the file and line that
// Read would: of several, the one of the lowest rank comes first. What only all ranks together can
// tell, its Check, Undeclared and Repeated say. The caller closes the result.
func ReadRank(ctx context.Context, path string, rank, ranks int, o ReadOptions) (*edges.RankInput, error) {
	r := newReader(o, pieceSize)
	r.rank, r.ranks = rank, ranks
	return r.readRank(ctx, path)
}

// reader is one call of Read or ReadRank.
type reader struct {
	ReadOptions
	piece       int
	rank, ranks int  // whose part is read, of how many; all that is read is part 0 of 1
	partial     bool // a part is read, even if it is all: of regular files only
	progress    progress
	free        func() int64 // bytes of memory that are available; 0 if unknown
	skipped     []string     // malformed lines that were left out
	name        string       // of what is read, as the caller has it
	// of several files all but the first, which are read one after the other
	others    []string
	format    Format // of the files
	expecting bool   // progress expects all that is still to be opened
}

func newReader(o ReadOptions, piece int) *reader {
	return &reader{ReadOptions: o, piece: piece, ranks: 1, progress: progress{report: o.Progress}, free: mem.Room}
}

func (r *reader) read(ctx context.Context, path string) (*edges.Input, error) {
	s, err := r.tuples(ctx, path)
	if err != nil {
		return nil, err
	}
	return &s.Input, nil
}

func (r *reader) readRank(ctx context.Context, path string) (*edges.RankInput, error) {
	r.partial = true
	return r.tuples(ctx, path)
}

// tuples reads a file, or a part of it, and returns why ctx ended if it did.
func (r *reader) tuples(ctx context.Context, path string) (*edges.RankInput, error) {
	if r.Format != "" {
		if _, err := ParseFormat(string(r.Format)); err != nil {
			return nil, err
		}
	}
	s, err := r.dispatch(ctx, path)
	if err == nil {
		s.Skipped, s.SkipBad = r.skipped, r.SkipBad
	}
	if ctx.Err() != nil {
		if err == nil {
			s.Close()
		}
		return nil, fmt.Errorf("reading %s: %w", path, context.Cause(ctx))
	}
	return s, err
}

// dispatch reads a file, or several, by their format.
func (r *reader) dispatch(ctx context.Context, name string) (*edges.RankInput, error) {
	format, files, err := inputs(ctx, name, r.Format)
	if format == LDBC {
		err = cmp.Or(r.takesVertices(format), err)
	}
	if err != nil {
		return nil, err
	}
	path := name
	if r.name = name; format != LDBC && format != Graph500 {
		if path, r.others = files[0], files[1:]; r.Format == "" {
			format = formatOfName(path)
		}
		if len(r.others) > 0 {
			if err := r.alike(files, format); err != nil {
				return nil, err
			}
		}
	}
	if path == Stdin && format == "" {
		return nil, fileFault(stdinName, "no name that tells a format", "--format: one of "+strings.Join(Formats, ", "))
	}
	if format == LDBC || format == Graph500 {
		if err := r.takesVertices(format); err != nil {
			return nil, err
		}
		if format == LDBC {
			return r.readLDBC(ctx, path)
		}
		return r.readGraph500(ctx, path)
	}
	f, err := r.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := f.head()
	if r.Format == "" {
		format = formatOfContent(format, head)
	}
	if err := f.foreign(head, format); err != nil {
		return nil, err
	}
	if err := r.takesVertices(format); err != nil {
		return nil, err
	}
	if r.format = format; len(r.others) > 0 {
		if err := r.alike(files, format); err != nil {
			return nil, err
		}
	}
	return readers[format](r, ctx, f)
}

// readers read the formats whose edges are in one file.
var readers = map[Format]func(r *reader, ctx context.Context, f *file) (*edges.RankInput, error){
	SNAP:         (*reader).readEdgeList,
	EL:           (*reader).readEdgeList,
	WEL:          (*reader).readEdgeList,
	MatrixMarket: (*reader).readMatrixMarket,
	Adjacency:    (*reader).readAdjacency,
	CSV:          (*reader).readCSV,
	TSV:          (*reader).readCSV,
	JSONLines:    (*reader).readJSONLines,
	Giraph:       (*reader).readGiraph,
	DIMACS:       (*reader).readDIMACS,
	METIS:        (*reader).readMETIS,
	Parquet:      (*reader).readParquet,
	GraphML:      (*reader).readGraphML,
	Serialized:   (*reader).readSerialized,
	SerializedW:  (*reader).readSerialized,
}

// single reports whether weights are rounded to single precision.
func (r *reader) single() bool { return r.Weights == edges.Float32 }

// directed returns what the caller says of the edges' direction, or else what the format or the
// file says.
func (r *reader) directed(file bool) bool {
	if r.Directed != nil {
		return *r.Directed
	}
	return file
}

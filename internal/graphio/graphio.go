// Package graphio reads graphs from files into lists of tuples, and writes graphs and results to
// files. Files are untrusted input. Whatever a file contains, the outcome is its graph, or one
// error with the file, the line, what was found and what was expected. It is never a panic and
// never a smaller graph. Start with graphio.go and table.go.
//
//	file -> pieces of whole lines -> parser, one a worker -> batches, in order
//	        (gzip, zstd: one goroutine                              |
//	         decodes at a time)                                     v
//	                       edges.Packed <- numbering of ids (bitmap or sorted)
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

// Format is a file format of graphs.
type Format string

// The formats that can be read. All but Adjacency, Giraph and GraphML can be written.
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
	SerializedW  Format = "wsg" // GAPBS with weights
	Giraph       Format = "giraph"
)

// ParseFormat returns the format with this name.
func ParseFormat(s string) (Format, error) {
	if !slices.Contains(Formats, s) {
		return "", fmt.Errorf("found the graph format %s, expected one of %s", quote([]byte(s)),
			strings.Join(Formats, ", "))
	}
	return Format(s), nil
}

// ReadOptions are options of reading. The zero value detects the format, drops weights and uses one
// goroutine.
type ReadOptions struct {
	// Format is the file's format. "" detects it by name and content.
	Format Format
	// Directed, if not nil, overrides the direction in the format or the file.
	Directed *bool
	// Team shares the work. nil means the caller's goroutine alone.
	Team *parallel.Team
	// MaxExpand is the maximum size of a decompressed file in bytes. 0 is 100 times the compressed
	// size, and at least 1 GiB.
	MaxExpand int64
	// Progress is called from time to time, by one goroutine at a time, with the bytes that were
	// read and the total. A file that is read twice counts twice. The total is 0 if it is unknown.
	Progress func(done, total int64)
	// Weights is the kind of weights to keep if the file has weights. Unweighted drops them.
	Weights edges.Weights
	// Columns are the columns of a table.
	Columns Columns
	// SkipBad is the maximum number of malformed lines that are skipped. edges.Input.Skipped lists
	// them. One more is an error.
	SkipBad int
}

const (
	// maxVertices is the maximum number of vertices of a graph.
	maxVertices = 1 << 32
	// maxLine is the maximum length of a line in bytes.
	maxLine = 1 << 20
	// pieceSize is the number of bytes that a worker parses at a time. The parsed piece fits into
	// its cache.
	pieceSize = 1 << 20
)

// Read reads the graph in a file. For LDBC it reads the files beside it, too. Vertices are numbered
// by rising input id. Errors of the content have the form "FILE:LINE: found X, expected Y". The
// caller closes the result.
func Read(ctx context.Context, path string, o ReadOptions) (*edges.Input, error) {
	return newReader(o, pieceSize).read(ctx, path)
}

// ReadRank reads one rank's part of a file. The parts of all ranks are the whole file, in order.
// Plain files are cut by bytes, at the ends of lines or records. Compressed files are cut by
// pieces, and a rank also decodes the pieces before its own. Errors name the same file and line as
// those of Read; of several errors, the first is that of the lowest rank. The functions Check,
// Undeclared and Repeated of the result check what only all ranks together know. The caller closes
// the result.
func ReadRank(
	ctx context.Context, path string, rank, ranks int, o ReadOptions,
) (*edges.RankInput, error) {
	r := newReader(o, pieceSize)
	r.rank, r.ranks = rank, ranks
	return r.readRank(ctx, path)
}

// reader is one call of Read or ReadRank.
type reader struct {
	ReadOptions
	piece       int
	rank, ranks int  // which part of how many; part 0 of 1 is the whole file
	partial     bool // parts are read, even if one part is all; only of regular files
	progress    progress
	free        func() int64 // returns the available memory in bytes; 0 if unknown
	skipped     []string     // malformed lines that were skipped
	name        string       // the name of the graph that the caller gave
	// the files after the first one, which are read one after the other
	others    []string
	format    Format // of the files
	expecting bool   // the total of progress already includes the files that are still to be opened
}

func newReader(o ReadOptions, piece int) *reader {
	r := &reader{ReadOptions: o, piece: piece, ranks: 1, free: mem.Room}
	r.progress.report = o.Progress
	return r
}

func (r *reader) read(ctx context.Context, path string) (*edges.Input, error) {
	s, err := r.tuples(ctx, path)
	if err != nil {
		return nil, err
	}
	in := s.Input // without the functions of a part, which keep the reader's data
	return &in, nil
}

func (r *reader) readRank(ctx context.Context, path string) (*edges.RankInput, error) {
	r.partial = true
	return r.tuples(ctx, path)
}

// tuples reads a file, or a part of it. If ctx ended, it returns the cause.
func (r *reader) tuples(ctx context.Context, path string) (s *edges.RankInput, err error) {
	defer mem.Recover(&err)
	if r.Format != "" {
		if _, err := ParseFormat(string(r.Format)); err != nil {
			return nil, err
		}
	}
	if s, err = r.dispatch(ctx, path); err == nil {
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

// dispatch reads one or several files by their format.
func (r *reader) dispatch(ctx context.Context, name string) (*edges.RankInput, error) {
	format, files, err := inputs(ctx, name, r.Format)
	r.name = name
	if format == LDBC || format == Graph500 {
		err = cmp.Or(r.takesVertices(format), err)
	}
	if err != nil {
		return nil, err
	}
	switch format {
	case Graph500:
		return r.readGraph500(ctx, name)
	case LDBC: // its reader opens the other files
		files, r.Format = files[1:2], LDBC
	}
	path := files[0]
	if r.others = files[1:]; r.Format == "" {
		format = formatOfName(path)
	}
	if path == Stdin && format == "" {
		return nil, fileFault(stdinName, "no name that tells a format", "--format: one of "+
			strings.Join(Formats, ", "))
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
	r.format = format
	err = cmp.Or(r.alike(files, format), f.foreign(head, format), r.takesVertices(format))
	if err != nil {
		return nil, err
	}
	p := &parsed{textFile: textFile{f: f}}
	defer p.close()
	if err := functions[format].read(r, ctx, p); err != nil {
		return nil, inFile(err, f.path)
	}
	return r.finish(ctx, p)
}

// functions has the functions of each format. read reads what comes before the edges in p.f, or all
// of p.f, and describes it in p. Graph500 has none: its edges are not numbered. Formats without
// write cannot be written.
var functions = map[Format]struct {
	read  func(r *reader, ctx context.Context, p *parsed) error
	write func(w *writer) error
}{
	SNAP:         {(*reader).readEdgeList, (*writer).edgeList},
	EL:           {(*reader).readEdgeList, (*writer).edgeList},
	WEL:          {(*reader).readEdgeList, (*writer).edgeList},
	MatrixMarket: {(*reader).readMatrixMarket, (*writer).matrixMarket},
	LDBC:         {(*reader).readLDBC, (*writer).ldbc},
	Graph500:     {nil, (*writer).graph500},
	Adjacency:    {(*reader).readAdjacency, nil},
	CSV:          {(*reader).readCSV, (*writer).table},
	TSV:          {(*reader).readCSV, (*writer).table},
	JSONLines:    {(*reader).readJSONLines, (*writer).table},
	Giraph:       {(*reader).readGiraph, nil},
	DIMACS:       {(*reader).readDIMACS, (*writer).dimacs},
	METIS:        {(*reader).readMETIS, (*writer).metis},
	Parquet:      {(*reader).readParquet, (*writer).parquet},
	GraphML:      {(*reader).readGraphML, nil},
	Serialized:   {(*reader).readSerialized, (*writer).serialized},
	SerializedW:  {(*reader).readSerialized, (*writer).serialized},
}

// grammar returns the grammar of lines of two ids, and a weight if weighted is true.
func (r *reader) grammar(weighted bool) grammar {
	g := grammar{columns: 2, high: maxID, single: r.Weights == edges.Float32}
	if weighted {
		g.columns = 3
	}
	return g
}

// directed returns the direction that the caller chose, or else that of the format or the file.
func (r *reader) directed(file bool) bool {
	if r.Directed != nil {
		return *r.Directed
	}
	return file
}

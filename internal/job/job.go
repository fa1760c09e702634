// Package job describes the requests of users. A [Spec] is a request to run a program. The flags of
// the command line, the API of the page and its schema are derived from its fields and their tags.
// The master and the workers receive it as JSON. Package resolve interprets it for the engine. Read
// job.go first.
//
// Tags of a field: json is its key. flag is the name of the flag, if it is not the key with
// hyphens. help is its description, with the name of the value in braces; users cannot set a field
// without help. group is its group in the help of a command; with "more" only --help-all shows it,
// and with "hidden" nothing does. words are its allowed values. range is LEAST..MOST or LEAST.. of
// a number on the command line. default is the value of a flag that is not given.
package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/store"
)

// Spec is a request to run a program.
type Spec struct {
	Program    string            `json:"program,omitempty" help:"the program to run"`
	Parameters map[string]string `json:"parameters,omitempty" help:"the program's parameters"`
	// Graph is the name of a graph of the cluster. If it is empty, Source is loaded for the job and
	// dropped afterwards.
	Graph string `json:"catalog,omitempty"`
	*Source
	// Rows and Columns are the grid of partitions for Source; if both are 0, the master chooses.
	Rows    uint32 `json:"rows,omitempty"`
	Columns uint32 `json:"columns,omitempty"`
	Options
	// KeepWhen determines when checkpoints are taken; nil means the master's default. In a
	// checkpoint, it applies to the run that resumes.
	KeepWhen   *checkpoint.Policy `json:"keep_when,omitempty"`
	KeepResult bool               `json:"keep_result,omitempty" help:"keep the result, for those who ask for it"`
	Unsorted   bool               `json:"unsorted,omitempty"` // the result need not be sorted by id
	Queueing

	Graph500 *Graph500 `json:"graph500,omitempty" help:"the benchmark, which makes its own graph"`
	// measurements between the workers, without a graph
	Netbench *Netbench `json:"netbench,omitempty"`

	// Set by clients in Go: the type of values for a raw result, the program's form without its
	// code (engine.Registered.Form), and the load of the catalog's graph whose vertex numbers the
	// client uses.
	Values string `json:"values,omitempty"`
	Form   string `json:"form,omitempty"`
	Load   string `json:"load,omitempty"`
	// Inputs are columns of the program whose initial values are results of jobs. ColumnData are
	// columns whose initial values a client has sent.
	Inputs     map[string]string      `json:"inputs,omitempty"`
	ColumnData map[string]*ColumnData `json:"column_data,omitempty"`
	// Sets are the vertex sets that the job names by files: the sent data, by file. With Numbered,
	// lines of the result also have the vertices' numbers in sets, for clients that ask for them.
	Sets     map[string]*ColumnData `json:"sets,omitempty"`
	Numbered bool                   `json:"numbered,omitempty"`
	// Set by the master: the place of the job's checkpoints, and of the checkpoints to resume from.
	Checkpoints string `json:"checkpoints,omitempty"`
	GoOn        string `json:"go_on,omitempty"`
}

// Queueing determines when a cluster runs a job.
type Queueing struct {
	Priority string `json:"priority,omitempty" group:"cluster,more" words:"normal,low,high" help:"on a cluster: the priority of the job in the queue; only operators may use high"`
}

// Source is a request for a graph: its input, and how to read and store it.
type Source struct {
	Input       string `json:"graph,omitempty" flag:"-" help:"catalog:NAME, a generator such as kronecker:scale=18, or the whole path of a file that the workers see"`
	Format      string `json:"format,omitempty" group:"input" help:"the file's {FORMAT} (default: detected from name and content)"`
	Directed    *bool  `json:"directed,omitempty" flag:"-" help:"read edges as directed, or undirected, whatever the input says"`
	MaxExpand   Size   `json:"max_expand,omitzero" group:"input,more" help:"refuse a compressed file that expands to more than {BYTES}, such as 50GB (default: 100 times its size, at least 1GB)"`
	SkipBad     uint32 `json:"skip_bad,omitempty" group:"input,more" range:"0..1000000" help:"skip up to {N} malformed lines of a text file; one more is an error"`
	Duplicates  string `json:"duplicates,omitempty" group:"input,more" words:"keep,first,min,sum,error" help:"parallel edges: keep all; keep the first of the input; keep the one of min weight; replace them by one whose weight is their sum; or refuse them as an error"`
	SelfLoops   string `json:"self_loops,omitempty" group:"input,more" words:"keep,drop" help:"edges from a vertex to itself: keep or drop them"`
	UnitWeights bool   `json:"unit_weights,omitempty" group:"input,more" help:"give every edge the weight 1"`
	Weights     string `json:"weights,omitempty" flag:"-" words:"none,float32,float64" help:"of the catalog's graph; those that the input has by default"`
	// Columns of tables, by name or by number from 1.
	SourceColumn string `json:"source_column,omitempty" group:"input,more" help:"tables: the {COLUMN} of the edges' sources, a name or a number (default: a column with a usual name, or the first)"`
	TargetColumn string `json:"target_column,omitempty" group:"input,more" help:"tables: the {COLUMN} of the edges' targets (default: a column with a usual name, or the second)"`
	WeightColumn string `json:"weight_column,omitempty" group:"input,more" help:"tables and GraphML: the {COLUMN} of weights (default: a column with a usual name)"`
	Delimiter    string `json:"delimiter,omitempty" group:"input,more" help:"CSV: the {CHARACTER} between columns, or the word tab (default: detected)"`
	Vertices     string `json:"vertices,omitempty" group:"input,more" help:"tables: a {FILE} (CSV, TSV or Parquet) with a line for each vertex, including vertices without edges"`
	VertexColumn string `json:"vertex_column,omitempty" group:"input,more" help:"the {COLUMN} of ids in the file of --vertices (default: a column with a usual name, or the first)"`
	Header       *bool  `json:"header,omitempty" group:"input,more" words:"auto,yes,no" help:"CSV and TSV: whether the first line has the names of the columns"`
	IDs          string `json:"ids,omitempty" group:"input,more" words:"auto,number,name" help:"tables and GraphML: whether vertices are numbers or names"`
	Within       string `json:"within,omitempty" flag:"-"` // the file of a vertex set
	CheckFiles   bool   `json:"check_files,omitempty" group:"cluster,more" help:"compare all bytes of the files that the workers see (default: of files above 4 MiB one block in 16)"`
	TrustFiles   bool   `json:"trust_files,omitempty" group:"cluster,more" help:"do not compare the files that the workers see"`
}

// Options determine how a program runs.
type Options struct {
	Delivery      string `json:"delivery,omitempty" group:"run" words:"auto,push,naive,mirrored,lalp,pull,whole,ring" help:"how messages are delivered: auto chooses in each superstep, the others fix the choice; naive, mirrored and lalp need partitions in one row or column, whole and ring need a grid RxC"`
	Deterministic bool   `json:"deterministic,omitempty" group:"run" help:"make results independent of threads, partitions and delivery"`
	MaxSupersteps uint32 `json:"max_supersteps,omitempty" group:"limits" help:"stop after {N} supersteps (default: no limit)"`
	// SuperstepTimeout fails the job if a superstep takes longer; 0 means no limit.
	SuperstepTimeout Duration `json:"superstep_timeout,omitzero" group:"limits,more" help:"fail when a superstep takes longer than {TIME}, such as 30s (default: no limit)"`
	Seed             uint64   `json:"seed,omitempty" group:"run,more" help:"the {SEED} of the program's random numbers"`
	// For experiments (lab): the encoding of columns; messages are not combined before they are
	// sent; columns are sent one after the other, and not while edges are walked.
	Encoding   string `json:"encoding,omitempty"`
	Uncombined bool   `json:"uncombined,omitempty"`
	Serial     bool   `json:"serial,omitempty"`
	Trace      bool   `json:"trace,omitempty"` // records include every exchange
	// continue from a checkpoint of a run with another seed or other parameters
	Fork bool `json:"fork,omitempty"`
}

// Graph500 is the benchmark: generation, kernel 1, and searches from many roots, each timed and
// validated.
type Graph500 struct {
	Scale      uint32 `json:"scale" group:"input" help:"make a graph of 2^{SCALE} vertices"`
	EdgeFactor uint32 `json:"edge_factor,omitempty" flag:"edgefactor" group:"input" default:"16" help:"make {N} times as many edges as vertices"`
	Roots      uint32 `json:"roots,omitempty" group:"run" default:"64" range:"1.." help:"search from {N} roots"`
	Seed1      uint64 `json:"seed1,omitempty" group:"input" default:"2" help:"the generator's first {SEED}"`
	Seed2      uint64 `json:"seed2,omitempty" group:"input" default:"3" help:"the generator's second {SEED}"`
	SSSP       bool   `json:"sssp" group:"run" help:"also run kernel 3, single-source shortest paths"`
	NoValidate bool   `json:"no_validate" group:"run" help:"do not validate the results"`
}

// Netbench measures messages and collectives between the workers, see package netbench. The report
// is the result.
type Netbench struct {
	// sizes of messages in bytes, ascending; none means the default
	Sizes       []uint64 `json:"sizes,omitempty"`
	Collectives []string `json:"collectives,omitempty"` // none means the default
	Algorithm   string   `json:"algorithm,omitempty" group:"run" help:"measure only the algorithm {NAME} (default: all)"`
	Repetitions uint32   `json:"repetitions,omitempty" group:"run" help:"measure everything {N} times (default: 5 to 50 times, by how long it takes)"`
}

// ColumnData is the initial values of a column, or a vertex set, that a client has sent. The master
// stores them until the jobs that use them have ended.
type ColumnData struct {
	ID string `json:"id"`
	// the file from which the lines "LINE ID VALUE" are, LINE from 1, or the set; empty means blocks
	// of a raw result
	File string `json:"file,omitempty"`
	// the lines are "LINE NAME<TAB>VALUE" with the name in quotes, or an input id if the graph has
	// no names
	Named  bool   `json:"named,omitempty"`
	Values string `json:"values,omitempty"` // of blocks: the type of values, see Spec
	// of blocks: the load of the graph with these vertices
	Load string     `json:"load,omitempty"`
	Sum  *store.Sum `json:"sum,omitempty"` // of all that was sent
}

// Duration is a duration, in JSON as text: 30s.
type Duration time.Duration

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(cmp.Or(string(text), "0"))
	if err != nil || t < 0 {
		return unlike(text, d)
	}
	*d = Duration(t)
	return nil
}

// unlike returns an error of encoding/json, which adds the key.
func unlike[T any](text []byte, _ *T) error {
	return &json.UnmarshalTypeError{Value: fmt.Sprintf("%.50q", text), Type: reflect.TypeFor[T]()}
}

// Sent yields what a client has sent for the job before: columns and vertex sets, with their
// descriptions.
func (s *Spec) Sent() iter.Seq2[string, *ColumnData] {
	return func(yield func(string, *ColumnData) bool) {
		for name, data := range s.ColumnData {
			if !yield("column "+name, data) {
				return
			}
		}
		for file, data := range s.Sets {
			if !yield("vertex set "+file, data) {
				return
			}
		}
	}
}

// Origin describes where a job's graph comes from: its name in the catalog, a file, or a generator.
// For a network benchmark it describes the network.
func (s *Spec) Origin() string {
	switch g := s.Graph500; {
	case s.Netbench != nil:
		return "the network"
	case s.Graph != "":
		return s.Graph
	case g == nil:
		return s.Source.Origin()
	case g.EdgeFactor == 16: // the generator's default
		return fmt.Sprintf("kronecker:scale=%d", g.Scale)
	default:
		return fmt.Sprintf("kronecker:scale=%d,edgefactor=%d", g.Scale, g.EdgeFactor)
	}
}

// Origin returns the file or generator, or "" without a source.
func (s *Source) Origin() string {
	if s == nil {
		return ""
	}
	return s.Input
}

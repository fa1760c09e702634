// Package job describes what can be asked of a run. A [Spec] is what a user asks for, wherever he
// asks: the flags of the command line, the API of the page and its schema are derived from its
// fields and their tags, and it is what a master and its workers are told, as JSON. What a
// description means to the engine is package resolve's.
//
// Tags of a field: json is its key; flag is the name of the flag, if it is not the key with
// hyphens; help is about it, with the name of the value in braces, and of a key without help users
// say nothing; group is where the help of a command has it, "more" that only --help-all shows it,
// and "hidden" that none does; words are those that it may have; range is LEAST..MOST of a number
// on the command line, or LEAST..; default is what a flag has that is not given.
package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/store"
)

// Spec is what can be asked of a run.
type Spec struct {
	Program    string            `json:"program,omitempty" help:"the program to run"`
	Parameters map[string]string `json:"parameters,omitempty" help:"the program's parameters"`
	// Graph is the name of a graph of the cluster. Without one Source is loaded for the job, and
	// dropped after it.
	Graph string `json:"catalog,omitempty"`
	*Source
	// Rows and Columns are of the grid of partitions of Source; both 0 leave it to the master.
	Rows    uint32 `json:"rows,omitempty"`
	Columns uint32 `json:"columns,omitempty"`
	Options
	// KeepWhen is when checkpoints are taken, if the job says so. In a checkpoint: when whoever
	// goes on from it takes them.
	KeepWhen   *checkpoint.Policy `json:"keep_when,omitempty"`
	KeepResult bool               `json:"keep_result,omitempty" help:"keep the result, for those who ask for it"`
	Unsorted   bool               `json:"unsorted,omitempty"` // the result need not be by rising id
	Queueing

	Graph500 *Graph500 `json:"graph500,omitempty" help:"the benchmark, which makes its own graph"`
	// measurements between the workers, without a graph
	Netbench *Netbench `json:"netbench,omitempty"`

	// What a client in Go says: the type of values as it has them, which it wants raw; what the
	// program is there, but for its code (engine.Registered.Form); and the load of the catalog's
	// graph whose numbers of vertices it knows.
	Values string `json:"values,omitempty"`
	Form   string `json:"form,omitempty"`
	Load   string `json:"load,omitempty"`
	// Inputs are columns of the program that begin with results of jobs, and ColumnData those that
	// a client has sent.
	Inputs     map[string]string      `json:"inputs,omitempty"`
	ColumnData map[string]*ColumnData `json:"column_data,omitempty"`
	// What the master says: where the job's checkpoints are, and those of the job that this one
	// goes on from.
	Checkpoints string `json:"checkpoints,omitempty"`
	GoOn        string `json:"go_on,omitempty"`
}

// Queueing says when a cluster runs a job.
type Queueing struct {
	Priority string `json:"priority,omitempty" group:"cluster,more" words:"normal,low,high" help:"on a cluster: the priority of the job in the queue; only operators may use high"`
}

// Source is a graph as it is asked for: from where, how it is read and how it is stored.
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
	// Columns of tables: by name, or by number from 1.
	SourceColumn string `json:"source_column,omitempty" group:"input,more" help:"tables: the {COLUMN} of the edges' sources, a name or a number (default: a column with a usual name, or the first)"`
	TargetColumn string `json:"target_column,omitempty" group:"input,more" help:"tables: the {COLUMN} of the edges' targets (default: a column with a usual name, or the second)"`
	WeightColumn string `json:"weight_column,omitempty" group:"input,more" help:"tables and GraphML: the {COLUMN} of weights (default: a column with a usual name)"`
	Delimiter    string `json:"delimiter,omitempty" group:"input,more" help:"CSV: the {CHARACTER} between columns, or the word tab (default: detected)"`
	Vertices     string `json:"vertices,omitempty" group:"input,more" help:"tables: a {FILE} (CSV, TSV or Parquet) with a line for each vertex, including vertices without edges"`
	VertexColumn string `json:"vertex_column,omitempty" group:"input,more" help:"the {COLUMN} of ids in the file of --vertices (default: a column with a usual name, or the first)"`
	Header       *bool  `json:"header,omitempty" group:"input,more" words:"auto,yes,no" help:"CSV and TSV: whether the first line has the names of the columns"`
	IDs          string `json:"ids,omitempty" group:"input,more" words:"auto,number,name" help:"tables and GraphML: whether vertices are numbers or names"`
	CheckFiles   bool   `json:"check_files,omitempty" group:"cluster,more" help:"compare all bytes of the files that the workers see (default: of files above 4 MiB one block in 16)"`
	TrustFiles   bool   `json:"trust_files,omitempty" group:"cluster,more" help:"do not compare the files that the workers see"`
}

// Options say how a program runs.
type Options struct {
	Delivery      string `json:"delivery,omitempty" group:"run" words:"auto,push,naive,mirrored,pull,whole,ring" help:"how messages are delivered: auto chooses in each superstep, the others fix the choice; naive and mirrored need partitions in one row or column, whole and ring need a grid RxC"`
	Deterministic bool   `json:"deterministic,omitempty" group:"run" help:"make results independent of threads, partitions and delivery"`
	MaxSupersteps uint32 `json:"max_supersteps,omitempty" group:"limits" help:"stop after {N} supersteps (default: no limit)"`
	// SuperstepTimeout fails the job when a superstep takes longer; 0 is no limit.
	SuperstepTimeout Duration `json:"superstep_timeout,omitzero" group:"limits,more" help:"fail when a superstep takes longer than {TIME}, such as 30s (default: no limit)"`
	Seed             uint64   `json:"seed,omitempty" group:"run,more" help:"the {SEED} of the program's random numbers"`
	// What experiments choose (lab): how columns are encoded, that nothing is combined before it is
	// sent, and that columns go one after the other, and none while edges are walked.
	Encoding   string `json:"encoding,omitempty"`
	Uncombined bool   `json:"uncombined,omitempty"`
	Serial     bool   `json:"serial,omitempty"`
	Trace      bool   `json:"trace,omitempty"` // records tell of every exchange
	// it goes on from a checkpoint of a run with other parameters, seed and so on
	Fork bool `json:"fork,omitempty"`
}

// Graph500 is the benchmark: generation, kernel 1, searches from many roots, each timed and judged.
type Graph500 struct {
	Scale      uint32 `json:"scale" group:"input" help:"make a graph of 2^{SCALE} vertices"`
	EdgeFactor uint32 `json:"edge_factor,omitempty" flag:"edgefactor" group:"input" default:"16" help:"make {N} times as many edges as vertices"`
	Roots      uint32 `json:"roots,omitempty" group:"run" default:"64" range:"1.." help:"search from {N} roots"`
	Seed1      uint64 `json:"seed1,omitempty" group:"input" default:"2" help:"the generator's first {SEED}"`
	Seed2      uint64 `json:"seed2,omitempty" group:"input" default:"3" help:"the generator's second {SEED}"`
	SSSP       bool   `json:"sssp" group:"run" help:"also run kernel 3, single-source shortest paths"`
	NoValidate bool   `json:"no_validate" group:"run" help:"do not validate the results"`
}

// Netbench measures messages and collectives between the workers, as package netbench does. The
// report is the result.
type Netbench struct {
	// of messages in bytes, rising; none: the usual ones
	Sizes       []uint64 `json:"sizes,omitempty"`
	Collectives []string `json:"collectives,omitempty"` // none: the usual ones
	Algorithm   string   `json:"algorithm,omitempty" group:"run" help:"measure only the algorithm {NAME} (default: all)"`
	Repetitions uint32   `json:"repetitions,omitempty" group:"run" help:"measure everything {N} times (default: 5 to 50 times, by how long it takes)"`
}

// ColumnData is what a client has sent of a column. The master keeps it until a job that names it
// has ended.
type ColumnData struct {
	ID string `json:"id"`
	// it is lines "LINE ID VALUE" of this file, LINE from 1; empty: blocks of a raw result
	File string `json:"file,omitempty"`
	// it is lines "LINE NAME<TAB>VALUE", the name in quotes; without names an input id
	Named  bool   `json:"named,omitempty"`
	Values string `json:"values,omitempty"` // of blocks: the type of values, as Spec has it
	// of blocks: the load of the graph that has the vertices
	Load string     `json:"load,omitempty"`
	Sum  *store.Sum `json:"sum,omitempty"` // of all that was sent
}

// Duration is a time, in JSON as text: 30s.
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

// unlike is an error of encoding/json, which adds the key.
func unlike[T any](text []byte, _ *T) error {
	return &json.UnmarshalTypeError{Value: fmt.Sprintf("%.50q", text), Type: reflect.TypeFor[T]()}
}

// Origin is what a job's graph comes from: its name in the catalog, a file, or a generator; and of
// a job without one what it is about.
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

// Origin is the file or the generator, or nothing of no source.
func (s *Source) Origin() string {
	if s == nil {
		return ""
	}
	return s.Input
}

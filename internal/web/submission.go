package web

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/jobspec"
)

// Input is a graph as it is asked for: from where, how it is read and stored. What is left out is as on the command line.
type Input struct {
	// Graph is a generator, or the path of a file that the workers see; of a job also catalog:NAME, without what follows.
	Graph       string `json:"graph"`
	Format      string `json:"format"`
	Directed    *bool  `json:"directed"`
	Duplicates  string `json:"duplicates"` // keep, first, min, sum, error
	SelfLoops   string `json:"self_loops"` // keep, drop
	UnitWeights bool   `json:"unit_weights"`
	CheckFiles  bool   `json:"check_files"` // workers compare all bytes of the files that they see
	TrustFiles  bool   `json:"trust_files"` // or none
	// Of CSV and TSV: columns by name or number, the character between them, whether the first line names them, and whether vertices are
	// numbers or names.
	SourceColumn string `json:"source_column"`
	TargetColumn string `json:"target_column"`
	WeightColumn string `json:"weight_column"`
	Delimiter    string `json:"delimiter"`
	Header       *bool  `json:"header"`
	IDs          string `json:"ids"`

	Grid       string `json:"grid"` // RxC
	Partitions uint32 `json:"partitions"`
}

// Loading is a graph as it is asked for under a name of the catalog.
type Loading struct {
	Name string `json:"name"`
	Input
	Weights string `json:"weights"` // none, float32, float64; empty is those that the input has
}

// Submission is a job as it is asked for. What is left out is as on the command line.
type Submission struct {
	Program    string            `json:"program"`
	Parameters map[string]string `json:"parameters"`
	Input

	Delivery      string `json:"delivery"`
	Deterministic bool   `json:"deterministic"`
	MaxSupersteps uint32 `json:"max_supersteps"`
	Seed          uint64 `json:"seed"` // of the random numbers that a program draws
	KeepResult    bool   `json:"keep_result"`
	Priority      string `json:"priority"` // low, normal, high
	// SuperstepTimeout is a time, such as 30s; empty is no limit.
	SuperstepTimeout string `json:"superstep_timeout"`
	// Graph500 asks for the benchmark, which has no program, parameters or graph.
	Graph500 *Benchmark `json:"graph500"`
	// Key names the call: one that is made again finds the job it made; another job with the same key is refused.
	Key string `json:"key"`
}

// Benchmark is Graph500 as it is asked for. What is 0 is as on the command line.
type Benchmark struct {
	Scale      uint32 `json:"scale"`
	EdgeFactor uint32 `json:"edge_factor"`
	Roots      uint32 `json:"roots"`
	Seed1      uint64 `json:"seed1"`
	Seed2      uint64 `json:"seed2"`
	SSSP       bool   `json:"sssp"`
	NoValidate bool   `json:"no_validate"`
}

// What the keys of a Benchmark are that are left out.
const (
	usualEdgeFactor = 16
	usualRoots      = 64
	usualSeed1      = 2
	usualSeed2      = 3
)

// Submit puts a job into the queue, unless ctx has ended, and returns its id; found, if an earlier call with the same key has done it.
func (c *Cluster) Submit(ctx context.Context, s *Submission) (id string, found bool, err error) {
	spec, err := s.spec()
	if err != nil {
		return "", false, err
	}
	j, found, err := c.master.Submit(ctx, &control.SubmitJobRequest{Spec: spec, Key: s.Key})
	return j.GetId(), found, err
}

// spec is the job for the master. What makes no sense the master says, but for what only the command line knows. An error about a key begins with it.
func (s *Submission) spec() (*control.JobSpec, error) {
	spec := &control.JobSpec{
		Program: s.Program, Parameters: s.Parameters, KeepResult: s.KeepResult,
		Options: &control.RunOptions{
			Delivery: s.Delivery, Deterministic: s.Deterministic, MaxSupersteps: s.MaxSupersteps, Seed: s.Seed, Trace: true,
		},
	}
	var ok bool
	if spec.Priority, ok = control.PriorityOf(s.Priority); !ok {
		return nil, invalid("priority: found %.50q, expected low, normal or high", s.Priority)
	}
	if s.SuperstepTimeout != "" {
		limit, err := time.ParseDuration(s.SuperstepTimeout)
		if err != nil || limit < 0 {
			return nil, invalid("superstep_timeout: found %.50q, expected a time, such as 30s", s.SuperstepTimeout)
		}
		spec.Options.SuperstepTimeout = int64(limit)
	}
	var err error
	switch name, catalog := strings.CutPrefix(s.Graph, control.CatalogPrefix); {
	case s.Graph500 != nil:
		if s.Program != "" || len(s.Parameters) > 0 || !s.Input.only("grid", "partitions") || s.KeepResult || s.MaxSupersteps > 0 || s.Seed > 0 {
			return nil, invalid("graph500: it makes its own graph; leave out all but grid, partitions, delivery, deterministic, superstep_timeout and key")
		}
		b := s.Graph500
		spec.Program, spec.Graph500 = control.Graph500Program, &control.Graph500{
			Scale: b.Scale, EdgeFactor: cmp.Or(b.EdgeFactor, usualEdgeFactor), Roots: cmp.Or(b.Roots, usualRoots),
			Seed1: cmp.Or(b.Seed1, usualSeed1), Seed2: cmp.Or(b.Seed2, usualSeed2), Sssp: b.SSSP, Validate: !b.NoValidate,
		}
	case catalog:
		spec.Graph = name
		if !s.Input.only("graph") {
			return nil, invalid("graph %s: a graph of the catalog is as it was loaded; leave out format, directed and all else that says how one is loaded", s.Graph)
		}
		return spec, nil
	default:
		if spec.Source, err = s.source(); err != nil {
			return nil, err
		}
	}
	spec.Rows, spec.Columns, err = s.cut()
	return spec, err
}

// only reports whether no key is given but those of some names.
func (i *Input) only(names ...string) bool {
	v := reflect.ValueOf(i).Elem()
	for k := range v.NumField() {
		if !v.Field(k).IsZero() && !slices.Contains(names, v.Type().Field(k).Tag.Get("json")) {
			return false
		}
	}
	return true
}

// source is what the workers are to load.
func (i *Input) source() (*control.GraphSource, error) {
	if i.SelfLoops != "" && !slices.Contains(selfLoops, i.SelfLoops) {
		return nil, invalid("self_loops: found %.50q, expected keep or drop", i.SelfLoops)
	}
	if i.IDs != "" && !slices.Contains(graphio.IDKinds, i.IDs) {
		return nil, invalid("ids: found %.50q, expected %s", i.IDs, strings.Join(graphio.IDKinds, " or "))
	}
	if i.Delimiter != "" {
		if _, err := graphio.ParseDelimiter(i.Delimiter); err != nil {
			return nil, invalid("delimiter: %v", err)
		}
	}
	if generate.IsGenerator(i.Graph) {
		if err := jobspec.Loadable(i.Graph); err != nil {
			return nil, invalid("graph: %v", err)
		}
	} else if i.Graph != "" && !filepath.IsAbs(i.Graph) {
		return nil, invalid("graph: found %.150q, expected %sNAME, a generator such as kronecker:scale=18, or the whole path of a file that the workers see",
			i.Graph, control.CatalogPrefix)
	}
	return &control.GraphSource{
		Input: i.Graph, Format: i.Format, Directed: i.Directed, Duplicates: i.Duplicates, DropLoops: i.SelfLoops == "drop", UnitWeights: i.UnitWeights,
		SourceColumn: i.SourceColumn, TargetColumn: i.TargetColumn, WeightColumn: i.WeightColumn, Delimiter: i.Delimiter, Header: i.Header, Ids: i.IDs,
		CheckFiles: i.CheckFiles, TrustFiles: i.TrustFiles,
	}, nil
}

var selfLoops = []string{"keep", "drop"}

// cut says into which grid of partitions the graph is cut; 0 by 0 leaves it to the master.
func (i *Input) cut() (rows, columns uint32, err error) {
	switch {
	case i.Grid != "" && i.Partitions > 0:
		return 0, 0, invalid("partitions: the grid says how many: give one of the two")
	case i.Partitions > 0:
		i = &Input{Grid: fmt.Sprintf("%dx1", i.Partitions)}
	case i.Grid == "":
		return 0, 0, nil
	}
	g, err := graph.ParseGrid(i.Grid)
	if err != nil {
		return 0, 0, invalid("grid: %v", err)
	}
	return uint32(g.Rows), uint32(g.Columns), nil
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

package graph500

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// MaxScale is the greatest SCALE: numbers of vertices have 32 bits, with some values reserved.
const MaxScale = 31

// Config is the configuration of a rank.
type Config struct {
	Generator generate.Kronecker
	Roots     int  // at most
	SSSP      bool // kernel 3 will run too
	Validate  bool
	// Grid is the grid of partitions, and Owner the rank of each partition.
	Grid  graph.Grid
	Owner []int
	Team  *parallel.Team
	// Progress, if not nil, is called with the current stage and its progress.
	Progress func(stage string, done, total int64)

	// hubs is the number of vertices, those of the highest degrees, whose input numbers each of
	// several ranks has in an array; 0 means defaultHubs.
	hubs int
}

// Rank is one rank's part of a run of the benchmark: tuples, partitions, and the results for a
// range of the vertices, by input numbers. A single rank has everything.
//
//	Generate -> Construct -> { search, by others -> Judge }
//
// All methods except Close are collective: every rank must call the same methods in the same order.
type Rank struct {
	Config
	group *collective.Group
	tag   uint32

	in    *edges.RankInput
	first int // number of the rank's first tuple
	g     *graph.Graph
	arena *mem.Arena

	validator *validate.Validator
	per       int      // vertices in a range
	parent    []uint32 // of the rank's own range
	dist      []float32
	tables    *tables
}

// Offsets of these tags.
const (
	forItself = iota
	forValidation
	forBuilding = forValidation + validate.Tags
)

// NewRank makes an empty rank.
func NewRank(group *collective.Group, tag uint32, c Config) *Rank {
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	c.hubs = cmp.Or(c.hubs, defaultHubs)
	return &Rank{Config: c, group: group, tag: tag, arena: new(mem.Arena), tables: new(tables)}
}

// Close frees the rank's memory. It is idempotent.
func (s *Rank) Close() {
	s.forget()
	if s.validator != nil {
		s.validator.Close()
	}
	s.g.Close()
	s.arena.Close()
	s.validator, s.g, s.parent, s.dist, s.tables = nil, nil, nil, nil, new(tables)
}

// forget frees the tuples.
func (s *Rank) forget() {
	if s.in != nil {
		s.in.Close()
		s.in = nil
	}
}

// Graph returns the rank's partitions, after Construct.
func (s *Rank) Graph() *graph.Graph { return s.g }

func (s *Rank) rank() int  { return s.group.Link().Rank() }
func (s *Rank) ranks() int { return s.group.Link().Size() }

func (s *Rank) bulk() collective.Call {
	return collective.Call{Tag: s.tag + forItself, Bytes: 1 << 18 / s.ranks()}
}

func (s *Rank) small() collective.Call { return collective.Call{Tag: s.tag + forItself, Bytes: 8} }

// slowest replaces each value by its maximum over all ranks.
func (s *Rank) slowest(ctx context.Context, seconds ...*float64) error {
	bits := make([]uint64, len(seconds)) // bit patterns of positive floats have the same order
	for i, x := range seconds {
		bits[i] = math.Float64bits(*x)
	}
	bits, err := collective.Combine(ctx, s.group, s.small(), collective.MaxUint64, bits...)
	for i, x := range seconds {
		*x = math.Float64frombits(bits[i])
	}
	return err
}

// Generate makes the rank's tuples, and returns the seconds of the slowest rank.
func (s *Rank) Generate(ctx context.Context) (float64, error) {
	start := time.Now()
	in, err := generate.RankInput(ctx, s.Generator, s.rank(), s.ranks(), false, generate.Options{
		Weights: s.options().Weights, Team: s.Team,
		Beside: graph.LeastBytes(s.Generator.Vertices(), s.Generator.Edges(), false,
			s.options()) / int64(s.ranks()),
		Progress: func(done, total int64) { s.Progress("generating", done, total) },
	})
	s.in = in
	s.first, _ = edges.Part(s.Generator.Edges(), s.rank(), s.ranks())
	seconds := time.Since(start).Seconds()
	if err == nil {
		err = cmp.Or(s.slowest(ctx, &seconds), context.Cause(ctx))
	}
	return seconds, err
}

func (s *Rank) options() graph.Options {
	o := graph.Options{
		Partitions: len(s.Owner), Grid: s.Grid, Duplicates: graph.LeastDuplicate, DropLoops: true,
		TupleDegrees: true, Team: s.Team, Progress: s.Progress,
	}
	if s.SSSP {
		o.Weights = edges.Float32
	}
	return o
}

// Construct is kernel 1. It does not get the number of vertices. It returns the seconds from when
// all ranks were ready until the slowest one was done. Then the validator gets the tuples, which
// are freed, except on a single rank, whose validator reads them. The roots are the same on all
// ranks.
func (s *Rank) Construct(ctx context.Context) (float64, []Root, error) {
	if err := s.group.Barrier(ctx, s.small()); err != nil {
		return 0, nil, err
	}
	owner := s.Owner
	if s.ranks() == 1 {
		owner = nil // read the tuples instead of storing them once more
	}
	start := time.Now()
	in := *s.in
	in.Vertices, in.Free = 0, nil
	g, directory, err := build.Graph(ctx, s.group, s.tag+forBuilding, &in, owner, s.options())
	if err != nil {
		return 0, nil, err
	}
	s.g = g
	if s.SSSP { // the lists that pulls of kernel 3 read first are a part of the graph's structure
		roomy := func(bytes int64) bool { return !mem.Process().Tight(bytes) }
		for _, p := range s.parts() {
			if _, err := p.Lightest(ctx, s.Team, roomy); err != nil {
				return 0, nil, err
			}
		}
	}
	err = s.newTables(ctx)
	seconds := time.Since(start).Seconds()
	directory.Close() // not needed: translation has its own tables
	if err != nil {
		return 0, nil, err
	}
	s.per = max((g.N+s.ranks()-1)/s.ranks(), 1)
	if s.Validate {
		s.Progress("readying the validation", 0, 1)
		s.validator, err = validate.New(ctx, s.group, s.tag+forValidation, s.in.Edges, s.first,
			g.N, s.Team)
		if err != nil {
			return 0, nil, err
		}
	}
	if s.ranks() > 1 || !s.Validate {
		s.forget()
	}
	lo, hi := s.span()
	s.parent = mem.Make[uint32](s.arena, hi-lo)
	if s.SSSP {
		s.dist = mem.Make[float32](s.arena, hi-lo)
	}
	s.clear() // also for the first access to the memory
	roots, err := s.roots(ctx)
	if err == nil {
		err = s.slowest(ctx, &seconds)
	}
	return seconds, roots, err
}

// span returns the range of input vertices whose results this rank has for the validator.
func (s *Rank) span() (lo, hi int) {
	lo = min(s.per*s.rank(), s.g.N)
	return lo, min(lo+s.per, s.g.N)
}

// parts returns the rank's partitions.
func (s *Rank) parts() []*graph.Partition {
	return slices.DeleteFunc(slices.Clone(s.g.Parts),
		func(p *graph.Partition) bool { return p == nil })
}

// input returns the input number of an own vertex.
func (s *Rank) input(p *graph.Partition, local uint32) uint32 {
	return uint32(s.g.Label(p.Global(local)))
}

// roots returns the official roots.
func (s *Rank) roots(ctx context.Context) ([]Root, error) {
	ids := map[uint64]pregel.VertexID{}
	vertices, err := s.Generator.RootsOf(s.Roots, func(batch []uint64) ([]bool, error) {
		place := make(map[uint32]int, len(batch))
		found := make([]uint64, len(batch)) // VertexIDs plus one
		for i, v := range batch {
			if v < uint64(s.g.N) {
				place[uint32(v)] = i
			}
		}
		for _, part := range s.parts() {
			for local := range uint32(part.Owned) {
				if i, asked := place[s.input(part, local)]; asked &&
					part.TupleDegrees[local] > 0 {
					found[i] = uint64(part.Global(local)) + 1
				}
			}
		}
		found, err := collective.Combine(ctx, s.group, s.small(), collective.MaxUint64, found...)
		good := make([]bool, len(batch))
		for i, id := range found {
			if good[i] = id > 0; good[i] {
				ids[batch[i]] = pregel.VertexID(id - 1)
			}
		}
		return good, err
	})
	if err != nil {
		return nil, err
	}
	if len(vertices) == 0 {
		return nil, fmt.Errorf("%s: no vertex has an edge to another: there is nothing to search",
			s.Generator.Name())
	}
	roots := make([]Root, len(vertices))
	for i, v := range vertices {
		roots[i] = Root{v, ids[v]}
	}
	return roots, nil
}

// Judge translates a search's result to input numbers, sends each vertex to the rank of its range,
// and validates it there if requested. The times are those of the slowest rank. If the result
// breaks a rule, all ranks return the same *validate.Violation.
func (s *Rank) Judge(ctx context.Context, root uint64, found Found) (Judged, error) {
	j, err := s.judge(ctx, root, found)
	if err == nil || errors.As(err, new(*validate.Violation)) { // all ranks have it
		err = cmp.Or(s.slowest(ctx, &j.Translate, &j.Validate), err)
	}
	return j, err
}

func (s *Rank) judge(ctx context.Context, root uint64, found Found) (Judged, error) {
	var j Judged
	var err error
	if s.ranks() > 1 {
		s.clear()
	}
	start := time.Now()
	s.translate(found, false)
	if s.ranks() == 1 {
		s.arrange(found)
	}
	j.Translate = time.Since(start).Seconds()
	if s.ranks() > 1 {
		// If every rank knows all numbers, the result is complete. The ranks' agreement on this is
		// not a part of the search.
		var unknown uint64
		unknown, err = collective.CombineOne(ctx, s.group, s.small(), collective.MaxUint64,
			s.tables.unknown.Swap(0))
		if err == nil && unknown > 0 {
			if err = s.ask(ctx, &s.tables.asked); err == nil {
				s.translate(found, true)
			}
			j.Translate = time.Since(start).Seconds()
		}
		if err == nil {
			err = s.deliver(ctx, found)
		}
	}
	if err != nil {
		return j, err
	}
	if j.Nedge, err = s.nedge(ctx); err != nil || s.validator == nil {
		return j, err
	}
	start = time.Now()
	var result validate.Result
	if found.hops == nil {
		result, err = s.validator.BFS(ctx, root, s.parent)
	} else {
		result, err = s.validator.SSSP(ctx, root, s.parent, s.dist)
	}
	j.Validate = time.Since(start).Seconds()
	if err == nil && result.Edges != j.Nedge {
		err = &validate.Violation{Name: "nedge", Text: fmt.Sprintf(
			"%d edges reported, %d in the list", j.Nedge, result.Edges)}
	}
	return j, err
}

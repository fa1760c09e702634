package graph500

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Search searches with a program of a kernel, which all ranks do together, and returns what has
// found it and the seconds that took. name is what records call the search.
type Search func(ctx context.Context, kernel string, program engine.Program, name string) (
	engine.Bound, float64, error)

// Tell is told what is being done, how much of it, and after a step a few words.
type Tell func(stage string, done, total int, note string)

// Root is a vertex to search from, by its input number and its id.
type Root struct {
	Vertex uint64
	ID     pregel.VertexID
}

// Judged is what a search amounts to.
type Judged struct {
	Translate, Validate float64
	Nedge               int64
}

// Coordinate runs the benchmark on a group of ranks and fills in the report: generation, untimed; kernel 1; then
// kernel 2, and if asked for kernel 3, from every root, each search timed and then judged. Every rank calls it, and
// has the same report: times are in seconds, the slowest rank's. Kernel 2 is the program that bfs makes, see
// [Program]. Searches that the report has already, of an attempt before, stay as they are. The report is complete also
// when the error is a *validate.Violation: a search was not valid.
//
//	Generate -> Construct -> { Search -> Judge } for each kernel and root
func (r *Report) Coordinate(ctx context.Context, rank *Rank, bfs engine.New, search Search, tell Tell) (err error) {
	s := searches{rank: rank, bfs: bfs, search: search, tell: tell}
	seconds, err := rank.Generate(ctx)
	if err == nil {
		err = s.slowest(ctx, &seconds)
	}
	if err != nil {
		return err
	}
	r.Generation = seconds
	tell(Constructing, 0, 1, "")
	if seconds, s.roots, err = rank.Construct(ctx); err == nil {
		err = s.slowest(ctx, &seconds)
	}
	if err != nil {
		return err
	}
	r.Construction, r.Roots = seconds, r.Roots[:0:0]
	for _, root := range s.roots {
		r.Roots = append(r.Roots, root.Vertex)
	}
	took := fmt.Sprintf("generated in %.3g s, constructed in %.3g s", r.Generation, r.Construction)
	tell(Constructing, 1, 1, took)
	err = s.all(ctx, "bfs", "BFS", &r.BFS)
	if err == nil && rank.SSSP {
		err = s.all(ctx, "sssp", "SSSP", &r.SSSP)
	}
	if rank.Validate && (err == nil || errors.As(err, new(*validate.Violation))) {
		valid := err == nil
		r.Valid = &valid
	}
	return err
}

// Constructing is the stage of kernel 1.
const Constructing = "constructing"

// searches are those of a run's kernels.
type searches struct {
	rank   *Rank
	bfs    engine.New
	search Search
	tell   Tell
	roots  []Root
}

// slowest puts the most of all ranks in place of this one's seconds.
func (s *searches) slowest(ctx context.Context, seconds ...*float64) error {
	bits := make([]uint64, len(seconds)) // those of larger numbers are larger
	for i, x := range seconds {
		bits[i] = math.Float64bits(*x)
	}
	bits, err := collective.Combine(ctx, s.rank.group, s.rank.small(), collective.MaxUint64, bits...)
	for i, x := range seconds {
		*x = math.Float64frombits(bits[i])
	}
	return err
}

// one searches from a root and judges what was found.
func (s *searches) one(
	ctx context.Context, kernel string, root Root, name string, judged bool,
) (seconds float64, j Judged, err error) {
	program, err := Program(kernel, s.bfs, root.ID)
	if err != nil {
		return 0, j, err
	}
	job, seconds, err := s.search(ctx, kernel, program, name)
	if err != nil || !judged {
		return seconds, j, err
	}
	found, err := FoundBy(job)
	if err != nil {
		return seconds, j, err
	}
	j, err = s.rank.Judge(ctx, root.Vertex, found)
	if err == nil || errors.As(err, new(*validate.Violation)) {
		err = errors.Join(err, s.slowest(ctx, &seconds, &j.Translate, &j.Validate))
	}
	return seconds + j.Translate, j, err
}

// all searches from every root whose search is not in the report. The first of them is searched
// once before, untimed, as a warm-up. Nothing goes from one search to another but the model's
// coefficients.
func (s *searches) all(ctx context.Context, kernel, title string, k *Kernel) error {
	first := len(k.Time)
	for i := first - 1; i < len(s.roots) && first < len(s.roots); i++ {
		root := s.roots[max(i, first)]
		s.tell(title, max(i, first), len(s.roots), "")
		name := fmt.Sprintf("%s root %d", kernel, root.Vertex)
		if i < first {
			name += trace.WarmUp
		}
		seconds, j, err := s.one(ctx, kernel, root, name, i >= first)
		violated := errors.As(err, new(*validate.Violation))
		if i >= first && (err == nil || violated) {
			k.Time, k.Translate = append(k.Time, seconds), append(k.Translate, j.Translate)
			k.Nedge = append(k.Nedge, j.Nedge)
			if s.rank.Validate {
				k.Validate = append(k.Validate, j.Validate)
			}
		}
		if violated {
			return fmt.Errorf("%s from root %d: %w", title, root.Vertex, err)
		}
		if err != nil {
			return err
		}
		if i >= first {
			s.tell(title, i+1, len(s.roots), fmt.Sprintf("%s %d/%d: %.4g ms, %.0f MTEPS",
				title, i+1, len(s.roots), seconds*1e3, float64(j.Nedge)/seconds/1e6))
		}
	}
	return nil
}

package graph500

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Searcher runs searches on the graph of a [Rank], together with the other ranks: in this process,
// or in the workers of a cluster.
type Searcher interface {
	// Search runs a program, and returns the seconds and the job with its result, which is valid
	// until the next call. again means that the program is that of the last search with another
	// root. name is the search's name in records.
	Search(ctx context.Context, program *engine.Program, again bool, name string) (*engine.Job,
		float64, error)
}

// Tell is called with the progress of a stage, and after a search with its result, else nil. Of
// searches, done and total count those of both kernels: so the time left covers kernel 3 too.
type Tell func(stage string, done, total int, search *trace.Search)

// Note describes the result of a search in a few words.
func Note(stage string, done, total int, search *trace.Search) string {
	return fmt.Sprintf("%s %d/%d: %.4g ms, %.0f MTEPS", stage, done, total, search.Seconds*1e3,
		search.TEPS()/1e6)
}

// Root is a vertex where a search starts: its input number and its id.
type Root struct {
	Vertex uint64
	ID     pregel.VertexID
}

// Judged is the result of judging a search.
type Judged struct {
	Translate, Validate float64
	Nedge               int64
}

// Coordinate runs the benchmark and fills in the report: generation, which is not timed; kernel 1;
// then kernel 2 and, if requested, kernel 3, from every root. Each search is timed and then judged.
// It keeps searches that the report already has from an earlier attempt. If a search is not valid,
// the error is a *validate.Violation, and the report is complete. tell is called with the progress,
// and after each search with its result. bfs makes the program of kernel 2; see [Program]. Every
// rank calls Coordinate.
//
//	Generate -> Construct -> { Search -> Judge } for each kernel and root
func (r *Report) Coordinate(
	ctx context.Context, rank *Rank, bfs engine.New, to Searcher, tell Tell,
) (err error) {
	if r.Generation, err = rank.Generate(ctx); err != nil {
		return err
	}
	tell(Constructing, 0, 1, nil)
	var roots []Root
	if r.Construction, roots, err = rank.Construct(ctx); err != nil {
		return err
	}
	r.Roots = r.Roots[:0:0]
	for _, root := range roots {
		r.Roots = append(r.Roots, root.Vertex)
	}
	tell(Constructing, 1, 1, nil)
	s := searches{rank, bfs, to, roots, len(roots), tell}
	if rank.SSSP {
		s.total *= 2
	}
	err = s.all(ctx, "bfs", &r.BFS, 0)
	if err == nil && rank.SSSP {
		err = s.all(ctx, "sssp", &r.SSSP, len(roots))
	}
	if rank.Validate && (err == nil || errors.As(err, new(*validate.Violation))) {
		valid := err == nil
		r.Valid = &valid
	}
	return err
}

// Constructing is the stage of kernel 1.
const Constructing = "constructing"

// searches runs the searches of a run's kernels.
type searches struct {
	rank  *Rank
	bfs   engine.New
	to    Searcher
	roots []Root
	total int // searches of all kernels
	tell  Tell
}

// all runs a search from every root that is not in the report; before is the number of searches of
// earlier kernels. It first runs the first search once without timing, as a warm-up. Only the
// model's coefficients are kept from one search to the next.
func (s *searches) all(ctx context.Context, kernel string, k *Kernel, before int) error {
	first, title := len(k.Time), strings.ToUpper(kernel)
	for i := first - 1; i < len(s.roots) && first < len(s.roots); i++ {
		root := s.roots[max(i, first)]
		s.tell(title, before+max(i, first), s.total, nil)
		name := fmt.Sprintf("%s root %d", kernel, root.Vertex)
		if i < first {
			name += trace.WarmUp
		}
		program, err := Program(kernel, s.bfs, root.ID)
		if err == nil && s.rank.ranks() == 1 && program.Type() == reflect.TypeFor[algorithms.BFS]() {
			program, err = engine.NewProgram(pregel.Erase(bfs{root.ID, s.rank}))
		}
		if err != nil {
			return err
		}
		job, seconds, err := s.to.Search(ctx, program, i >= first, name)
		if err != nil {
			return err
		}
		if i < first {
			continue
		}
		found, err := FoundBy(job)
		if err != nil {
			return err
		}
		j, err := s.rank.Judge(ctx, root.Vertex, found)
		seconds += j.Translate
		if err == nil || errors.As(err, new(*validate.Violation)) {
			k.Time, k.Translate, k.Nedge = append(k.Time, seconds),
				append(k.Translate, j.Translate), append(k.Nedge, j.Nedge)
			found := &trace.Search{
				Job: name, Kernel: kernel, Seconds: seconds, Translate: j.Translate, Edges: j.Nedge,
			}
			if s.rank.Validate {
				k.Validate = append(k.Validate, j.Validate)
				valid := err == nil
				found.Validate, found.Valid = j.Validate, &valid
			}
			s.tell(title, before+i+1, s.total, found)
		}
		if err != nil {
			return fmt.Errorf("%s from root %d: %w", title, root.Vertex, err)
		}
	}
	return nil
}

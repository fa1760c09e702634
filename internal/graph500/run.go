package graph500

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Ranks are the ranks of a run, each with a [Rank], as the coordinator of the run has them: in this
// process, or the workers of a cluster. Times are in seconds, the slowest rank's.
type Ranks interface {
	// Generate makes the tuples, and Construct the graph, which is kernel 1; it returns the
	// official roots, too.
	Generate(ctx context.Context) (float64, error)
	Construct(ctx context.Context) (float64, []Root, error)
	// Search searches from a root. kernel is bfs or sssp, and name what records call the search.
	Search(ctx context.Context, kernel string, root Root, name string) (float64, error)
	// Judge translates and validates what the search before has found, see [Rank.Judge].
	Judge(ctx context.Context, root Root) (Judged, error)
}

// Tell is told what is being done, how much of it, and after a search, else nil, what that came to.
type Tell func(stage string, done, total int, search *trace.Search)

// Note says in a few words what a search came to.
func Note(stage string, done, total int, search *trace.Search) string {
	return fmt.Sprintf("%s %d/%d: %.4g ms, %.0f MTEPS", stage, done, total, search.Seconds*1e3,
		search.TEPS()/1e6)
}

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

// Coordinate coordinates a run and fills in the report: generation, untimed; kernel 1; then kernel
// 2, and if asked for kernel 3, from every root, each search timed and then judged. Searches that
// the report has already, of an attempt before, stay as they are. The report is complete also when
// the error is a *validate.Violation: a search was not valid. tell is told what is being done, how
// much of it, and after each search what that came to.
//
//	Generate -> Construct -> { Search -> Judge } for each kernel and root
func (r *Report) Coordinate(ctx context.Context, ranks Ranks, sssp, validated bool, tell Tell) (err error) {
	if r.Generation, err = ranks.Generate(ctx); err != nil {
		return err
	}
	var roots []Root
	if r.Construction, roots, err = ranks.Construct(ctx); err != nil {
		return err
	}
	r.Roots = r.Roots[:0:0]
	for _, root := range roots {
		r.Roots = append(r.Roots, root.Vertex)
	}
	s := searches{ranks, roots, tell}
	err = s.all(ctx, "bfs", "BFS", &r.BFS, validated)
	if err == nil && sssp {
		err = s.all(ctx, "sssp", "SSSP", &r.SSSP, validated)
	}
	if validated && (err == nil || errors.As(err, new(*validate.Violation))) {
		valid := err == nil
		r.Valid = &valid
	}
	return err
}

// searches are those of a run's kernels.
type searches struct {
	ranks Ranks
	roots []Root
	tell  Tell
}

// all searches from every root whose search is not in the report. The first of them is searched
// once before, untimed, as a warm-up. Nothing goes from one search to another but the model's
// coefficients.
func (s *searches) all(ctx context.Context, kernel, title string, k *Kernel, validated bool) error {
	first := len(k.Time)
	for i := first - 1; i < len(s.roots) && first < len(s.roots); i++ {
		root := s.roots[max(i, first)]
		s.tell(title, max(i, first), len(s.roots), nil)
		name := fmt.Sprintf("%s root %d", kernel, root.Vertex)
		if i < first {
			name += trace.WarmUp
		}
		seconds, err := s.ranks.Search(ctx, kernel, root, name)
		if err != nil {
			return err
		}
		if i < first {
			continue
		}
		j, err := s.ranks.Judge(ctx, root)
		seconds += j.Translate
		if err == nil || errors.As(err, new(*validate.Violation)) {
			k.Time, k.Translate, k.Nedge = append(k.Time, seconds), append(k.Translate, j.Translate), append(k.Nedge, j.Nedge)
			found := &trace.Search{
				Job: name, Kernel: kernel, Seconds: seconds, Translate: j.Translate, Edges: j.Nedge,
			}
			if validated {
				k.Validate = append(k.Validate, j.Validate)
				valid := err == nil
				found.Validate, found.Valid = j.Validate, &valid
			}
			s.tell(title, i+1, len(s.roots), found)
		}
		if err != nil {
			return fmt.Errorf("%s from root %d: %w", title, root.Vertex, err)
		}
	}
	return nil
}

package trace

import "fmt"

// Search is the outcome of a Graph500 search. Its result refers to the input's vertex numbers.
type Search struct {
	Job       string  `json:"job"`     // the name in the records of its supersteps: bfs root 7
	Kernel    string  `json:"kernel"`  // bfs or sssp
	Seconds   float64 `json:"seconds"` // the official time, with translate
	Translate float64 `json:"translate"`
	Validate  float64 `json:"validate,omitempty"` // not included in Seconds
	Edges     int64   `json:"nedge"`              // in the component of the root
	Valid     *bool   `json:"valid,omitempty"`    // nil if it was not validated
}

// TEPS returns the number of traversed edges per second, by the official time.
func (s *Search) TEPS() float64 { return float64(s.Edges) / s.Seconds }

// Check returns an error for an impossible search. NaN and infinite numbers would spoil sums and
// JSON.
func (s *Search) Check() error {
	sane := s.Seconds > 1e-12 &&
		within(maxSeconds, s.Seconds, s.Translate, s.Validate) && s.Edges >= 0
	if !sane || s.Job == "" || len(s.Job) > maxSearch || s.Kernel != "bfs" && s.Kernel != "sssp" {
		return fmt.Errorf("found search %s by %s of %d edges in %g seconds",
			excerpt(s.Job), excerpt(s.Kernel), s.Edges, s.Seconds)
	}
	return nil
}

// maxSearch bounds the name of a search.
const maxSearch = 128

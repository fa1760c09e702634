package history

import (
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
)

// Kernel has the totals of the searches of a Graph500 kernel.
type Kernel struct {
	Name     string `json:"name"` // bfs or sssp
	Searches int    `json:"searches"`
	Valid    int    `json:"valid"`
	Invalid  int    `json:"invalid"`
	// Sums in seconds. Seconds includes Translate.
	Seconds   float64 `json:"seconds"`
	Translate float64 `json:"translate"`
	Validate  float64 `json:"validate"`
	// TEPS is the harmonic mean, Last the value of the last search.
	TEPS float64 `json:"teps"`
	Last float64 `json:"last_teps"`
}

// AddSearch adds a search to its kernel. It returns a new slice.
func AddSearch(all []Kernel, s *trace.Search) []Kernel {
	all = slices.Clone(all)
	i := slices.IndexFunc(all, func(k Kernel) bool { return k.Name == s.Kernel })
	if i < 0 {
		i = len(all)
		all = append(all, Kernel{Name: s.Kernel})
	}
	k := &all[i]
	k.Last = s.TEPS()
	inverse := 1 / k.Last
	if k.Searches > 0 {
		inverse += float64(k.Searches) / k.TEPS
	}
	k.Searches++
	k.TEPS = float64(k.Searches) / inverse
	if s.Valid != nil && *s.Valid {
		k.Valid++
	} else if s.Valid != nil {
		k.Invalid++
	}
	k.Seconds, k.Translate, k.Validate = k.Seconds+s.Seconds, k.Translate+s.Translate,
		k.Validate+s.Validate
	return all
}

package trace

import (
	"math"
	"strings"
	"testing"
)

// TestSearchesAreChecked: data of a search from a worker or a file may be invalid.
func TestSearchesAreChecked(t *testing.T) {
	good := Search{Job: "bfs root 7", Kernel: "bfs", Seconds: 1e-3, Translate: 1e-4, Edges: 9}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for what, edit := range map[string]func(s *Search){
		"no name":     func(s *Search) { s.Job = "" },
		"a long name": func(s *Search) { s.Job = strings.Repeat("x", 1000) },
		"a kernel":    func(s *Search) { s.Kernel = "pagerank" },
		"no time":     func(s *Search) { s.Seconds = 0 },
		"hardly any":  func(s *Search) { s.Seconds = 1e-320 },
		"too much":    func(s *Search) { s.Seconds = 1.7e308 },
		"not a time":  func(s *Search) { s.Seconds = math.NaN() },
		"negative":    func(s *Search) { s.Translate = -1 },
		"infinite":    func(s *Search) { s.Validate = math.Inf(1) },
		"edges":       func(s *Search) { s.Edges = -1 },
	} {
		s := good
		if edit(&s); s.Check() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

package verify

import (
	"errors"
	"testing"
)

// TestStop cancels every certificate.
func TestStop(t *testing.T) {
	g := diamond(t, true)
	why := errors.New("enough")
	g.Stop = func() error { return why }
	for name, check := range map[string]func() error{
		"BFS":    func() error { return BFS(g, 0, []int64{0, 0, 0, 1, 3, never}) },
		"Levels": func() error { return Levels(g, 0, []int64{0, 1, 1, 2, 3, far}) },
		"SSSP":   func() error { return SSSP(g, 0, []float64{0, 1, 2.5, 2, 2, inf}) },
		"Ranks":  func() error { return Ranks(g, 0.85, 1, 0, []float64{1, 0, 0, 0, 0, 0}) },
		"WCC":    func() error { return WCC(g, []uint64{3, 3, 3, 3, 3, 3}) },
	} {
		if err := check(); !errors.Is(err, why) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestProgress: a check reports progress for every tuple, once for each pass.
func TestProgress(t *testing.T) {
	for name, check := range map[string]func(g Graph) error{
		"BFS": func(g Graph) error { return BFS(g, 0, []int64{0, 0, 0, 1, 3, never}) },
		"WCC": func(g Graph) error { return WCC(g, []uint64{3, 3, 3, 3, 3, 3}) },
	} {
		g := diamond(t, true)
		var last, all int64
		g.Progress = func(done, of int64) { last, all = done, of }
		if err := check(g); err != nil || last != all || all%int64(g.Edges.Len()) != 0 || all == 0 {
			t.Errorf("%s: reported %d of %d tuples, error %v", name, last, all, err)
		}
	}
}

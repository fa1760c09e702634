package verify

import (
	"errors"
	"testing"
)

// TestStop ends every certificate.
func TestStop(t *testing.T) {
	g := diamond(t, true)
	why := errors.New("enough")
	g.Stop = func() error { return why }
	for name, check := range map[string]func() error{
		"BFS":    func() error { return BFS(g, 0, []int64{0, 0, 0, 1, 3, never}) },
		"Levels": func() error { return Levels(g, 0, []int64{0, 1, 1, 2, 3, far}) },
		"SSSP":   func() error { return SSSP(g, 0, []float64{0, 1, 2.5, 2, 2, inf}) },
		"PageRank": func() error {
			_, err := PageRank(g, 0.85, []float64{1, 0, 0, 0, 0, 0}, 1)
			return err
		},
		"WCC": func() error { return WCC(g, []uint64{1, 1, 1, 1, 1, 1}) },
	} {
		if err := check(); !errors.Is(err, why) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

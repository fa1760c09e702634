package worker

import (
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

func unseen(string) mesh.Seen { return mesh.Seen{} }

// TestTrafficRefreshesWhatWasMeasured: real traffic updates a measurement within bounds, and never
// below the cost of sending.
func TestTrafficRefreshesWhatWasMeasured(t *testing.T) {
	measured := collective.Pair{Alpha: 1e-8, Beta: 1e-3, Gap: 1e-5}
	w := way{Pair: measured, roundTrip: 2 * time.Millisecond}
	for _, x := range []struct {
		name        string
		seen        mesh.Seen
		alpha, beta float64
		refreshed   bool
	}{
		{"nothing was seen", mesh.Seen{}, 1e-8, 1e-3, false},
		{"slower", mesh.Seen{PerByte: 2e-8}, 2e-8, 1e-3, true},
		{"faster, farther", mesh.Seen{PerByte: 5e-9, RoundTrip: 12 * time.Millisecond}, 5e-9, 6e-3, true},
		{"at the speed of memory, next door", mesh.Seen{PerByte: 1e-10, RoundTrip: time.Microsecond}, 2.5e-9, 1e-5, true},
		{"held up", mesh.Seen{PerByte: 1}, 4e-8, 1e-3, true},
	} {
		got, refreshed := w.now(x.seen)
		if d := got.Beta - x.beta; got.Alpha != x.alpha || d > 1e-9 || d < -1e-9 ||
			got.Gap != measured.Gap || refreshed != x.refreshed {
			t.Errorf("%s: found %+v, %t", x.name, got, refreshed)
		}
	}
}

// TestTableHasTheNewestOfAWorker: a restarted worker was measured under two incarnations. The table
// has the newer one.
func TestTableHasTheNewestOfAWorker(t *testing.T) {
	now := time.Now()
	n := &network{ways: map[string]way{
		"a 1": {Pair: collective.Pair{Alpha: 1e-6}, name: "a", at: now.Add(-time.Hour)},
		"a 2": {Pair: collective.Pair{Alpha: 1e-8, Beta: 3e-3}, name: "a", at: now},
		"b 1": {Pair: collective.Pair{Alpha: 0}, name: "b", at: now},
	}}
	table := n.table(unseen)
	if len(table) != 2 || table[0].Worker != "a" || table[0].BytesPerSecond != 1e8 ||
		table[0].DelaySeconds != 3e-3 || table[1].Worker != "b" || table[1].BytesPerSecond != 1e12 {
		t.Errorf("found %v", table)
	}
}

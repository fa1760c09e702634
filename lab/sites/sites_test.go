package sites

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCollectivesBetweenSites: every way of every collective gives the right result, takes at least
// the delay, and is in the table, the text and the figure.
func TestCollectivesBetweenSites(t *testing.T) {
	const delay = 2 * time.Millisecond
	o := Options{Workers: 3, Delay: delay, Bandwidth: 1e9, Sizes: []int{8, 1 << 12}, Repeat: 1}
	r, err := Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(placements) * len(collectives) * len(ways) * len(o.Sizes); len(r.Collectives.Rows) != want {
		t.Errorf("%d rows, expected %d", len(r.Collectives.Rows), want)
	}
	for _, row := range r.Collectives.Rows {
		if seconds := row[5].(float64); seconds < delay.Seconds() {
			t.Errorf("%v takes %g s", row, seconds)
		}
		if row[3] == "sites" && row[7].(float64) != 1 {
			t.Errorf("%v is not over itself", row)
		}
	}
	var text, picture bytes.Buffer
	if err := r.Text(&text); err != nil || !strings.HasPrefix(text.String(),
		"3 workers at two sites with 2ms of delay and 1e+09 bytes a second each way between them, medians of 1 rounds by turns\n") {
		t.Error(text.String(), err)
	}
	if err := r.Figure(&picture); err != nil ||
		strings.Count(picture.String(), "by turns") != len(collectives) {
		t.Error(picture.String(), err)
	}
}

package history

import (
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// TestList: queries select runs by each of their fields, in each order, and in pages.
func TestList(t *testing.T) {
	s, now := NewNamedStore(), time.Now()
	ended := func(name, state string, seconds float64, ago time.Duration, reason string) {
		t.Helper()
		begin := &trace.Job{
			Job: name, Program: "p" + name[:1], Graph: "Catalog:" + name, Owner: "ann",
			Began: now.Add(-ago - time.Minute),
		}
		e := &trace.End{
			Job: name, State: state, Error: reason, Seconds: seconds,
			Supersteps: int(seconds), Messages: int(10 - seconds), Finished: now.Add(-ago),
		}
		for _, event := range []trace.Event{begin, e} {
			if err := s.Record(event); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended("x-1", trace.Done, 3, 3*time.Hour, "")
	ended("y-2", trace.Failed, 1, 2*time.Hour, "the Disk is full")
	ended("x-10", trace.Failed, 2, time.Hour, "no such file")
	_ = s.Record(&trace.Job{Job: "g-11", Program: trace.Graph500, Began: now})
	_ = s.Record(&trace.Job{Job: "g-11 bfs root 7", Program: "bfs", Began: now})
	wait := func(name, priority string, since time.Duration) {
		s.Queue(&trace.Job{Job: name, Program: "w", Priority: priority, Began: now.Add(-since)},
			"waits")
	}
	wait("w-12", "low", 0)
	wait("w-13", "", 0)
	wait("w-14", "low", 25*time.Minute)
	wait("w-15", "high", 0)
	ended("w-16", trace.Failed, 9, 0, "lost")
	wait("w-16", "low", 0)

	none, of := "", "g-11"
	for i, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "x-1 y-2 x-10 g-11 g-11-bfs-root-7 w-12 w-13 w-14 w-15 w-16"},
		{Query{Of: &none, Sort: "-", Most: 3}, "w-16 w-15 w-14"},
		{Query{Of: &of}, "g-11-bfs-root-7"},
		{Query{Near: "g-11"}, "x-10 g-11 g-11-bfs-root-7"},
		{Query{Near: "x-1"}, "x-1 y-2"},
		{Query{Near: "w-16"}, "w-15 w-16"},
		{Query{Near: "none"}, ""},
		{Query{States: []string{trace.Failed, trace.Done}}, "x-1 y-2 x-10"},
		{Query{Program: "PX "}, "x-1 x-10"},
		{Query{Graph: "catalog:x", Sort: "-job"}, "x-10 x-1"},
		{Query{Text: "disk"}, "y-2"},
		{Query{Text: "ann", Sort: "seconds"}, "y-2 x-10 x-1"},
		{Query{Text: "ann", Sort: "supersteps"}, "y-2 x-10 x-1"},
		{Query{Text: "ann", Sort: "messages"}, "x-1 x-10 y-2"},
		{Query{Text: "ann", Sort: "graph"}, "x-1 x-10 y-2"},
		{Query{Text: "ann", Sort: "-finished"}, "x-10 y-2 x-1"},
		{Query{States: []string{trace.Failed}, Within: 90 * time.Minute}, "x-10"},
		{Query{Of: &none, Sort: "-began", From: 4, Most: 2}, "w-12 g-11"},
		{Query{States: []string{trace.Queued}, Sort: "turn"}, "w-16 w-14 w-15 w-13 w-12"},
		{Query{From: 99}, ""},
	} {
		page, total := s.List(&c.q)
		var ids []string
		for _, j := range page {
			ids = append(ids, j.ID)
		}
		found := strings.Join(ids, " ")
		if found != c.want || total < len(page) {
			t.Errorf("%d: found %q, %d in all, expected %q", i, found, total, c.want)
		}
	}
	if _, total := s.List(&Query{Most: 1}); total != 10 {
		t.Errorf("found %d in all", total)
	}
}

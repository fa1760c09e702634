package experiment

import (
	"context"
	"errors"
	"testing"
)

// TestNoStreamBeatsItsWindow: a window, or the message of a rendezvous, goes at most once each time
// there and back. What is measured includes the last answer, so that it is less.
func TestNoStreamBeatsItsWindow(t *testing.T) {
	r := small(t, "windows", LeastScale)
	table := r.Tables[0]
	if len(table.Rows) != 4*len(links) {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for _, cells := range table.Rows {
		x := table.one(t, cells[0], cells[1])
		least := roundTrip.Seconds()
		if name := x["link"].(string); name == "rendezvous" {
			least *= float64(x.int("messages") + 1)
		} else if total := x.int("message") * x.int("messages"); total > 4<<20 {
			for _, l := range links {
				// what is under way when the first room comes back; some of it may be in the
				// sender's hands
				if l.name == name {
					least *= max(1, float64(total-2*l.window)/float64(l.window))
				}
			}
		}
		if x.float("seconds_low") < least {
			t.Errorf("%v: it must take %g s", x, least)
		}
	}
}

// TestBothEndTogether: one failure ends the other, and is what is told.
func TestBothEndTogether(t *testing.T) {
	wrong := errors.New("wrong")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return wrong }
	for _, err := range []error{both(t.Context(), waits, fails), both(t.Context(), fails, waits)} {
		if !errors.Is(err, wrong) {
			t.Error(err)
		}
	}
}

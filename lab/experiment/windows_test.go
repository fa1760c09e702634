package experiment

import (
	"context"
	"errors"
	"testing"
)

// TestNoStreamBeatsItsWindow: per round trip, at most one window is sent, or one message with
// rendezvous. The measured time includes the last answer, so the rate is lower.
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
				// sent before the first credit returns; some of it may still be with the sender
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

// TestBothEndTogether: a failure of one function ends the other, and is returned.
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

package netbench

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/collective"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRanksOfThisProcessMeasure(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stages := map[string]int{}
	r, err := Local(ctx, 3, Options{
		Sizes: []int{8, 64 << 10}, Repetitions: 2, Raw: "127.0.0.1:0",
		Collectives: []collective.Collective{PointToPoint, Stream, collective.Allreduce},
		Progress:    func(stage string, done, all int) { stages[stage] = all },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2*2 + 2*(len(collective.Algorithms(collective.Allreduce))-1); r.Ranks != 3 ||
		len(r.Points) != want || len(r.Shares) != 4 {
		t.Errorf("%d ranks, %d points of %d, %d shares", r.Ranks, len(r.Points), want,
			len(r.Shares))
	}
	for _, p := range r.Points {
		if p.Seconds <= 0 || p.Bandwidth <= 0 || (p.Predicted > 0) == (p.Algorithm == Raw) {
			t.Errorf("%+v", p)
		}
	}
	if p := r.Model.Pair(0, 2); p.Alpha <= 0 || p.Beta <= 0 {
		t.Errorf("%+v", p)
	}
	if _, ok := stages[Calibrating]; !ok || stages[Measuring] != 6 {
		t.Errorf("stages %v", stages)
	}
}

func TestNoRawConnectionIsSaid(t *testing.T) {
	r, err := Local(t.Context(), 2, Options{
		Sizes: []int{8}, Repetitions: 1, Raw: "203.0.113.1:0",
		Collectives: []collective.Collective{PointToPoint},
	})
	if err != nil || len(r.Points) != 1 || !strings.Contains(r.NoRaw, "203.0.113.1") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWrongMeasuresAreSaid(t *testing.T) {
	_, err := Local(t.Context(), 2, Options{Sizes: []int{3, 2}})
	if err == nil || !strings.Contains(err.Error(), "expected rising sizes") {
		t.Error(err)
	}
}

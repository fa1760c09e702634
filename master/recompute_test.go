package master

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
)

// TestBorder finds the superstep that all workers which were not lost can go on from, by what they hold.
func TestBorder(t *testing.T) {
	placements := []*control.Placement{{Partition: 0, Worker: "a"}, {Partition: 1, Worker: "d"}, {Partition: 2, Worker: "c"}}
	r := &run{epoch: 2, team: placements, job: &job{placements: placements, lostPartitions: []uint32{1}}}
	from := &checkpoint.Manifest{Superstep: 10}
	holds := func(l *control.RunLog) *control.Report {
		return &control.Report{Body: &control.Report_Prepare{Prepare: &control.PrepareReport{Log: l}}}
	}
	ok := &control.RunLog{Epoch: 1, From: 10, Supersteps: []uint32{14, 15}}
	for _, c := range []struct {
		c    *control.RunLog
		want string
	}{
		{ok, "15"},
		{&control.RunLog{Epoch: 1, From: 5, Supersteps: []uint32{13, 14}}, "14"},
		{&control.RunLog{Epoch: 1, From: 10, Supersteps: []uint32{12, 13}}, "no states that are of one superstep"},
		{&control.RunLog{Epoch: 1, From: 10}, "no states that are of one superstep"},
		{&control.RunLog{Epoch: 1, From: 11, Supersteps: []uint32{15}}, "worker c has a log since superstep 11, and the newest checkpoint is before superstep 10"},
		{&control.RunLog{Epoch: 1, From: 11, Missing: "too many bytes", Supersteps: []uint32{15}}, "worker c has no log since superstep 10: too many bytes"},
		{&control.RunLog{Epoch: 1, Missing: "it has a plan of phases"}, "it has a plan of phases"},
		{&control.RunLog{}, "worker c holds nothing of the attempt before"},
		{nil, "worker c holds nothing of the attempt before"},
	} {
		superstep, why := r.border([]*control.Report{holds(ok), holds(nil), holds(c.c)}, from)
		if got := fmt.Sprint(superstep, " ", why); !strings.Contains(got, c.want) {
			t.Errorf("%v: found %s, expected %s", c.c, got, c.want)
		}
	}
}

// TestUnrecomputed: that partitions could not be computed again by themselves is no end of a job, and no loss.
func TestUnrecomputed(t *testing.T) {
	goOn := &control.GoOn{Recompute: &control.Recompute{}}
	failed := &workerError{"prepare", "a", &control.Failure{Message: "another mark"}}
	lost := &workerError{"prepare", "a", &control.Failure{Message: "no connection", Lost: "b"}}
	other := errors.New("cancelled")
	for _, c := range []struct {
		goOn  *control.GoOn
		err   error
		again bool
	}{{goOn, failed, true}, {goOn, lost, false}, {goOn, other, false}, {&control.GoOn{}, failed, false}, {goOn, nil, false}} {
		err := unrecomputed(c.goOn, c.err)
		if goesOn(err) != c.again || (err == nil) != (c.err == nil) || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v: found %v", c.err, err)
		}
	}
}

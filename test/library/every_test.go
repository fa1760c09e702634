package library_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
)

// checkpointsAt returns the names of a directory's checkpoints, the newest last.
func checkpointsAt(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "checkpoint-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range all {
		all[i] = filepath.Base(name)
	}
	slices.Sort(all)
	return all
}

func named(superstep int) string { return fmt.Sprintf("checkpoint-%09d.json", superstep) }

// TestCheckpointEveryIsKept: a run takes every requested checkpoint, even if its supersteps are
// faster than the disk.
func TestCheckpointEveryIsKept(t *testing.T) {
	for _, every := range []int{1, 3} {
		dir := t.TempDir()
		g, err := superstep.Load(t.Context(), "kronecker:scale=6",
			superstep.LoadOptions{Partitions: 2})
		g = open(t, g, err)
		r, err := superstep.Run(t.Context(), g, algorithms.PageRank{Iterations: 20},
			superstep.Options{
				Checkpoints: superstep.CheckpointOptions{Place: dir, Every: every, Keep: true},
			})
		if err != nil {
			t.Fatal(err)
		}
		last := (r.Supersteps - 1) / every * every
		got, want := checkpointsAt(t, dir), []string{named(last - every), named(last)}
		// older ones may remain when the run ends
		if len(got) < 2 || !slices.Equal(got[len(got)-2:], want) {
			t.Errorf("every %d of %d supersteps: found %v, expected %v", every, r.Supersteps, got,
				want)
		}
	}
}

// TestCancelLeavesACheckpoint cancels a run with checkpoints before the first one. It leaves a
// checkpoint of its last superstep.
func TestCancelLeavesACheckpoint(t *testing.T) {
	dir := t.TempDir()
	g, err := superstep.Load(t.Context(), "kronecker:scale=6", superstep.LoadOptions{Partitions: 2})
	g = open(t, g, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reason := errors.New("the test cancels it")
	_, err = superstep.Run(ctx, g, algorithms.PageRank{Iterations: 20}, superstep.Options{
		Checkpoints: superstep.CheckpointOptions{Place: dir, Every: 1000},
		Progress: func(p superstep.Progress) {
			if p.Superstep == 11 {
				cancel(reason)
			}
		},
	})
	if got := checkpointsAt(t, dir); !errors.Is(err, reason) ||
		!slices.Equal(got, []string{named(12)}) {
		t.Errorf("error %v; found %v, expected %s", err, got, named(12))
	}
}

// TestCancelledJobLeavesACheckpoint is TestCancelLeavesACheckpoint on a cluster.
func TestCancelledJobLeavesACheckpoint(t *testing.T) {
	programs, _ := builtin.With(own())
	places := t.TempDir()
	c := testcluster.Start(t, 2, master.Config{Options: master.Options{Checkpoints: places}},
		programs...)
	conn, err := cluster.Connect(t.Context(), c.Address, cluster.Options{Programs: own()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g, err := conn.Load(t.Context(), "path:vertices=9", superstep.LoadOptions{})
	g = open(t, g, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = superstep.Run(ctx, g, endless{}, superstep.Options{
		Checkpoints: superstep.CheckpointOptions{Every: 1 << 30},
		Progress:    func(superstep.Progress) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	all, err := os.ReadDir(places)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got := checkpointsAt(t, filepath.Join(places, all[0].Name())); len(got) != 1 {
		t.Errorf("found the checkpoints %v, expected one", got)
	}
}

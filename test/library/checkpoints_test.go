package library_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
)

// checkpointsIn counts the checkpoints in a directory.
func checkpointsIn(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(d.Name(), ".json") {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}

// TestResume interrupts a run and resumes it with other partitions and threads. The result is that
// of an uninterrupted run. In the end all checkpoints are removed.
func TestResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	load := func(partitions int) *superstep.Graph {
		g, err := superstep.Load(t.Context(), "kronecker:scale=9",
			superstep.LoadOptions{Partitions: partitions})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	p := algorithms.PageRank{Iterations: 20}
	want, err := superstep.Run(t.Context(), load(1), p, superstep.Options{Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := superstep.Options{Deterministic: true, Checkpoints: superstep.CheckpointOptions{Place: dir, Every: 3, Resume: true}}
	o.Progress = func(p superstep.Progress) {
		if p.Superstep == 11 {
			cancel()
		}
	}
	if _, err := superstep.Run(ctx, load(2), p, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run that is interrupted: %v", err)
	}
	if n := checkpointsIn(t, dir); n == 0 {
		t.Fatal("it has left no checkpoint")
	}
	if _, err := superstep.Run(t.Context(), load(1), p,
		superstep.Options{Checkpoints: superstep.CheckpointOptions{Place: dir}}); err == nil ||
		!strings.Contains(err.Error(), "set Resume to go on from that") {
		t.Errorf("without Resume: %v", err)
	}
	if _, err := superstep.Run(t.Context(), load(1), algorithms.WCC{},
		superstep.Options{Deterministic: true, Checkpoints: superstep.CheckpointOptions{Place: dir, Resume: true}}); err == nil {
		t.Error("another program goes on from its checkpoints")
	}
	for want, other := range map[string]func(p *algorithms.PageRank, o *superstep.Options){
		"seed is 7, and was 0":                   func(_ *algorithms.PageRank, o *superstep.Options) { o.Seed = 7 },
		"parameter damping is 0.5, and was 0.85": func(p *algorithms.PageRank, _ *superstep.Options) { p.Damping = 0.5 },
	} {
		p, said := p, ""
		o := superstep.Options{Deterministic: true, Checkpoints: superstep.CheckpointOptions{Place: t.TempDir(), Resume: true}}
		if err := os.CopyFS(o.Checkpoints.Place, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		other(&p, &o)
		if _, err := superstep.Run(t.Context(), load(1), p, o); err == nil ||
			!strings.Contains(err.Error(), " is of another run: "+want+"; to continue all the same, use --fork") {
			t.Errorf("error %v, expected %s", err, want)
		}
		o.Checkpoints.Fork, o.Log = true, func(line string) { said += line }
		if r, err := superstep.Run(t.Context(), load(1), p, o); err != nil || r.Supersteps != 21 ||
			!strings.Contains(said, "of another run: "+want) {
			t.Errorf("forked, %s: %v, the log has %q", want, err, said)
		}
	}
	// a damaged file does not prevent the run
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := -1
	o.Threads = 2
	o.Progress = func(p superstep.Progress) {
		if from < 0 {
			from = p.Superstep
		}
	}
	got, err := superstep.Run(t.Context(), load(3), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if from < 3 || got.Supersteps != want.Supersteps || got.Messages != want.Messages ||
		got.Ended != "iterations" {
		t.Errorf("it went on from superstep %d, %d supersteps, %d messages, expected %d and %d",
			from, got.Supersteps, got.Messages, want.Supersteps, want.Messages)
	}
	for label, rank := range want.All() {
		if x, ok := got.At(label); !ok || x != rank {
			t.Fatalf("vertex %d has %v, expected %v", label, x, rank)
		}
	}
	if n := checkpointsIn(t, dir); n != 0 {
		t.Errorf("%d checkpoints of a run that is done stay", n)
	}
	o.Checkpoints.Keep = true
	if _, err := superstep.Run(t.Context(), load(1), p, o); err != nil {
		t.Fatal(err)
	}
	if n := checkpointsIn(t, dir); n == 0 {
		t.Error("checkpoints that were to stay are gone")
	}
}

func TestCheckpointsAreRefused(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 0, To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, checkpoints := range map[string]superstep.CheckpointOptions{
		"Options.Checkpoints.Place is missing": {Every: 3},
		"found Every -1":                       {Place: file, Every: -1},
		"found Every and Interval":             {Place: file, Every: 1, Interval: 1},
		"checkpoints: ":                        {Place: file},
	} {
		if _, err := superstep.Run(t.Context(), g, algorithms.WCC{},
			superstep.Options{Checkpoints: checkpoints}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}

// TestCheckpointsOfAConnection: a job takes checkpoints according to its options, in the master's
// place.
func TestCheckpointsOfAConnection(t *testing.T) {
	programs, _ := builtin.With(own())
	c := testcluster.Start(t, 2, master.Config{Options: master.Options{Checkpoints: t.TempDir()}},
		programs...)
	conn, err := cluster.Connect(t.Context(), c.Address, cluster.Options{Programs: own()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g, err := conn.Load(t.Context(), "path:vertices=9", superstep.LoadOptions{})
	g = open(t, g, err)
	// the first takes them only if they pay: perhaps none
	for _, o := range []superstep.Options{{}, {Checkpoints: superstep.CheckpointOptions{Every: 7, Strict: true}}} {
		o.MaxSupersteps = 400
		if err := run(t, g, endless{}, o); err != nil {
			t.Fatal(err)
		}
		all, err := c.Client.ListJobs(t.Context(),
			&control.ListJobsRequest{Ended: true})
		if err != nil {
			t.Fatal(err)
		}
		newest := uint32(0)
		for _, j := range all.Jobs {
			newest = max(newest, j.Checkpoint)
		}
		if o.Checkpoints.Every != 0 && newest < 385 {
			t.Errorf("every %d supersteps: the newest is of superstep %d", o.Checkpoints.Every,
				newest)
		}
	}
}

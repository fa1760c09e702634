package store_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// TestSnapshot saves a graph in S3, although the server sometimes fails, and opens it. Both graphs
// are equal.
func TestSnapshot(t *testing.T) {
	f := &faulty{random: rand.New(rand.NewPCG(5, 2)), of: 6}
	serve(t, func(h http.Handler) http.Handler { f.next = h; return f })
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: 10, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := open(t, "s3://bucket/graphs/k10")
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); !errors.Is(err,
		fs.ErrExist) {
		t.Errorf("saved a second time: found %v", err)
	}
	if !snapshot.Is("s3://bucket/graphs/k10/") || snapshot.Is("s3://bucket/graphs/k10") {
		t.Error("a place in S3 ends with a slash")
	}
	place, err := snapshot.Find(t.Context(), "s3://bucket/graphs/k10/")
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	opened, err := place.Open(t.Context(), "k10",
		snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if opened.N != g.N || opened.Arcs != g.Arcs || !slices.Equal(opened.Order, g.Order) {
		t.Errorf("found %d vertices and %d arcs, expected %d and %d", opened.N, opened.Arcs, g.N,
			g.Arcs)
	}
	for i, p := range g.Parts {
		if q := opened.Parts[i]; !slices.Equal(p.In.Adj, q.In.Adj) ||
			!slices.Equal(p.In.Starts, q.In.Starts) || !slices.Equal(p.OutDegrees, q.OutDegrees) {
			t.Errorf("partition %d has other edges", i)
		}
	}
	if _, err := snapshot.Find(t.Context(), "s3://bucket/graphs/"); !errors.Is(err,
		snapshot.ErrNone) {
		t.Errorf("found %v, expected a missing snapshot", err)
	}
	if f.faults == 0 {
		t.Error("the server did not fail")
	}
}

// TestSnapshotsByTheProgram: the program saves, lists, verifies and opens snapshots in S3, in one
// process and on a cluster, and writes results there. The test uses a server that sometimes fails,
// and another server.
func TestSnapshotsByTheProgram(t *testing.T) {
	t.Run("faulty", func(t *testing.T) {
		f := &faulty{random: rand.New(rand.NewPCG(11, 4)), of: 10}
		serve(t, func(h http.Handler) http.Handler { f.next = h; return f })
		snapshots(t)
		if f.faults == 0 {
			t.Error("the server did not fail")
		}
	})
	t.Run("versitygw", func(t *testing.T) {
		versitygw(t)
		snapshots(t)
	})
}

func snapshots(t *testing.T) {
	program, dir := built(t), t.TempDir()
	program.run(t, "generate", "kronecker:scale=10", "-o", dir+"/g.el")
	program.run(t, "run", "wcc", "-g", dir+"/g.el", "--undirected", "-o", dir+"/want")
	want, err := os.ReadFile(dir + "/want")
	if err != nil {
		t.Fatal(err)
	}
	same := func(what, name string) {
		t.Helper()
		data, err := store.Get(t.Context(), open(t, "s3://bucket"), name, 1<<20)
		if err != nil || string(data) != string(want) {
			t.Errorf("%s: the result differs, %v", what, err)
		}
	}
	program.run(t, "graphs", "save", "--graph", dir+"/g.el", "--undirected", "--partitions", "3",
		"-o", "s3://bucket/graphs/web/one")
	if out := program.run(t, "graphs", "verify",
		"s3://bucket/graphs/web/one/"); !strings.Contains(out, "is whole: ") {
		t.Errorf("graphs verify: %s", out)
	}
	program.run(t, "run", "wcc", "-g", "s3://bucket/graphs/web/one/", "-o",
		"s3://bucket/results/one")
	same("a snapshot", "results/one")

	on := []string{"--master", program.up(t)}
	program.run(t,
		append([]string{"graphs", "load", "web", "--graph", "s3://bucket/graphs/web/one/", "--workers", "2"}, on...)...)
	program.run(t,
		append([]string{"run", "wcc", "-g", "catalog:web", "-o", "s3://bucket/results/two"},
			on...)...)
	same("a snapshot on a cluster", "results/two")
	program.run(t, append([]string{"graphs", "save", "web", "-o", "s3://bucket/graphs/two"},
		on...)...)
	program.run(t, "run", "wcc", "-g", "s3://bucket/graphs/two/", "-o", "s3://bucket/results/three")
	same("a snapshot that a cluster has saved", "results/three")

	var listed struct {
		Snapshots []struct {
			Name, Place, Saved   string
			Vertices, Partitions int
			Bytes                int64
		}
	}
	if err := json.Unmarshal([]byte(program.run(t, "graphs", "list", "s3://bucket/graphs",
		"--json")), &listed); err != nil {
		t.Fatal(err)
	}
	if all := listed.Snapshots; len(all) != 2 || all[0].Name != "two" || all[1].Name != "web/one" ||
		all[1].Place != "s3://bucket/graphs/web/one/" ||
		all[1].Partitions != 3 || all[0].Vertices != all[1].Vertices || all[0].Bytes == 0 ||
		all[0].Saved == "" {
		t.Errorf("graphs list has %+v", all)
	}
}

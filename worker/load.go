package worker

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/snapshot"
	files "github.com/superstep-go/superstep/internal/store"
)

// localGraph is this worker's partitions of a graph. Its Refs count the commands and jobs that use
// it.
type localGraph struct {
	*graph.Graph
	*mem.Refs
	directory *build.Directory
	offer     *control.Offer // nil unless the graph is in the catalog
	numbered  bool           // its numbering is known, which vertex sets need
	skipped   []string       // malformed lines that this worker skipped
	notes     []string       // see edges.Input
}

func (g *localGraph) Close() { g.Refs.Close() }

// Tags of the group of workers that load a graph.
const (
	forReading = iota
	forBuilding
	forComparing = forBuilding + build.Tags
)

// loadPartitions loads this worker's partitions of a graph. Each worker reads or generates its part
// of the edges, or opens its partitions of a snapshot.
func (a *attempt) loadPartitions(ctx context.Context, l *control.Load) (*localGraph, error) {
	request, store, err := load.From(l.Source())
	if err != nil {
		return nil, err
	}
	store.Grid, store.Team, request.Team = graph.Grid{Rows: int(l.Rows), Columns: int(l.Columns)},
		a.threads, a.threads
	store.Partitions = len(a.places.layout.Owner)
	store.Progress, request.Progress = a.task.progress, a.task.progress
	catalog, within := a.task.job == "", ""
	if !catalog {
		request.Within, within = "", request.Within
	}
	g, err := a.loadWhole(ctx, l, request, store)
	if err != nil || !catalog && within == "" && !resolve.UsesSets(a.spec) {
		return g, err
	}
	if err = g.directory.Number(ctx, a.group, forBuilding); err != nil {
		g.Close()
		return nil, err
	}
	if within != "" {
		if g, err = a.within(ctx, g, within, store); err != nil {
			return nil, err
		}
	}
	g.numbered = true
	return g, nil
}

// loadWhole loads this worker's partitions of a graph, not of a part within a vertex set.
func (a *attempt) loadWhole(
	ctx context.Context, l *control.Load, request load.Request, store graph.Options,
) (_ *localGraph, err error) {
	group, owner := a.group, a.places.layout.Owner
	var in *edges.RankInput
	var stored *graph.Graph
	var share build.Share
	err = group.InOrder(ctx, forReading, func(ctx context.Context) (err error) {
		if request.Name, err = allowed(ctx, request.Name); err == nil {
			request.Columns.Vertices, err = allowed(ctx, request.Columns.Vertices)
		}
		return err
	})
	if err == nil {
		err = sameFiles(ctx, group, a.options.Name, l, request)
	}
	if err != nil {
		return nil, err
	}
	err = group.InOrder(ctx, forReading, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		rank, ranks := group.Link().Rank(), group.Link().Size()
		if stored, share, err = load.OpenShare(ctx, request, store, rank, ranks,
			owner); err == nil && stored == nil {
			in, err = load.OpenRank(ctx, request, rank, ranks)
		}
		return err
	})
	if err == nil { // a file may have changed meanwhile
		err = sameFiles(ctx, group, a.options.Name, l, request)
	}
	if err != nil {
		if in != nil {
			in.Close()
		}
		if stored != nil {
			stored.Close()
		}
		return nil, err
	}
	if stored != nil {
		d, err := build.Restored(ctx, group, forBuilding, stored, owner, share)
		if err != nil {
			stored.Close()
			return nil, err
		}
		return newLocalGraph(stored, d), nil
	}
	if request.IfAny && !in.Edges.Weighted() {
		store.Weights = edges.Unweighted
	}
	g, d, err := build.Graph(ctx, group, forBuilding, in, owner, store)
	if err != nil {
		return nil, err
	}
	loaded := newLocalGraph(g, d)
	loaded.skipped, loaded.notes = in.Skipped, in.Notes
	return loaded, nil
}

func newLocalGraph(g *graph.Graph, d *build.Directory) *localGraph {
	return &localGraph{Graph: g, directory: d, Refs: mem.NewRefs(func() {
		g.Close()
		d.Close()
	})}
}

// load loads this worker's partitions of a graph, together with the other connected workers.
func (x *executor) load(ctx context.Context, t task, l *control.Load) (*control.LoadReport, error) {
	a, err := x.together(ctx, t, l.Graph)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return a.load(ctx, l)
}

// load loads this worker's partitions of a graph, together with the attempt's other workers.
func (a *attempt) load(ctx context.Context, l *control.Load) (*control.LoadReport, error) {
	began := time.Now()
	var g *localGraph
	err := a.calibrate(ctx, a.group, &a.places, forReading)
	if err == nil {
		g, err = a.loadPartitions(a.options.confine(ctx), l)
	}
	if err != nil {
		if broken := a.session.Err(); lostPeer(a.options.Name, broken) != "" {
			return nil, broken // takes precedence over consequent errors
		}
		return nil, err
	}
	report := &control.LoadReport{
		Vertices: uint64(g.N), Edges: uint64(g.Tuples), Arcs: g.Arcs,
		Bytes: uint64(g.Bytes() + g.directory.Bytes()), Directed: g.Directed,
		Weighted: g.Weights != edges.Unweighted, Seconds: time.Since(began).Seconds(),
		Named: g.directory.Names != nil, Deal: g.Deal.String(),
		Skipped: g.skipped, Notes: g.notes,
	}
	if g.numbered {
		fingerprint, ids := g.Numbering()
		report.Fingerprint, report.Ids = fingerprint, uint64(ids)
	}
	if l.Source().TrustFiles && a.leads() {
		report.Notes = append(report.Notes,
			l.Source().Input+": the files of the workers were not compared (--trust-files)")
	}
	if a.task.job == "" {
		g.offer = &control.Offer{Load: l, Report: report}
	}
	return report, store(ctx, a.executor, a.graphs, l.Graph, g)
}

// confine returns a context that restricts files named by jobs to the worker's data roots.
func (o *Config) confine(ctx context.Context) context.Context { return files.Confine(ctx, o.roots) }

// allowed returns the full names of the files that a job names. It fails if one is outside the data
// roots, before any file is accessed.
func allowed(ctx context.Context, name string) (string, error) {
	if name == "" || generate.IsGenerator(name) {
		return name, nil
	}
	roots := files.RootsOf(ctx)
	parts := graphio.Split(ctx, name)
	for i, part := range parts {
		if err := roots.Check(part); err != nil {
			return "", err
		}
		if part == "" || files.IsS3(part) {
			continue
		}
		full, err := roots.Path(part)
		if err != nil {
			return "", err
		}
		parts[i] = full
	}
	return strings.Join(parts, ","), nil
}

// seenFiles are the digests of a graph's files on a worker.
type seenFiles struct {
	Worker string
	Files  []graphio.Digest
}

// sameFiles fails on all workers of a group, with the same error, if two of them see different
// files under the graph's file names.
func sameFiles(
	ctx context.Context, group *collective.Group, worker string, l *control.Load, r load.Request,
) error {
	if group.Link().Size() == 1 || l.Source().TrustFiles {
		return nil
	}
	return group.Together(ctx, forComparing, func(ctx context.Context) error {
		key := fnv.New64a()
		fmt.Fprintln(key, l.Graph, l.Master, l.Number)
		own := seenFiles{worker, r.Digests(ctx, key.Sum64(), l.Source().CheckFiles)}
		for i := range own.Files {
			d := &own.Files[i]
			d.Path, d.Err = strings.ToValidUTF8(d.Path, "?"), strings.ToValidUTF8(d.Err, "?")
		}
		all, err := collective.Gather(ctx, group, collective.Call{Tag: forComparing + 1}, &own)
		for _, seen := range all {
			if path, differs := all[0].differs(seen); differs != "" {
				return fmt.Errorf("%s: workers %s and %s see different files: %s: "+
					"each must see the same one by this name (--trust-files compares nothing)",
					cmp.Or(path, r.Name), all[0].Worker, seen.Worker, differs)
			}
		}
		return err
	})
}

// differs returns the file that differs on another worker, and the difference.
func (s seenFiles) differs(other seenFiles) (path, differs string) {
	// reading the file will report this
	unread := func(d graphio.Digest) bool { return d.Err != "" }
	if slices.ContainsFunc(s.Files, unread) || slices.ContainsFunc(other.Files, unread) {
		return "", ""
	}
	if len(s.Files) != len(other.Files) {
		return "", fmt.Sprintf("%d and %d of them", len(s.Files), len(other.Files))
	}
	for i, f := range s.Files {
		if differs := f.Differs(other.Files[i]); differs != "" {
			return f.Path, differs
		}
	}
	return "", ""
}

// save stores this worker's partitions of a graph and its part of the directory as files of a
// snapshot. With Commit it commits the files of all workers instead, and with Remove it removes
// this worker's files.
func (x *executor) save(ctx context.Context, t task, s *control.Save) (*control.SaveReport, error) {
	ctx = x.options.confine(ctx)
	place, err := files.RootsOf(ctx).Make(s.Place)
	if err != nil {
		return nil, err
	}
	defer files.Close(place)
	if len(s.Commit) > 0 {
		m, err := snapshot.Decode(s.Commit)
		if err != nil {
			return nil, err
		}
		if err := snapshot.Commit(ctx, place, m); err != nil {
			return nil, err
		}
		return saved(m)
	}
	if !control.ValidName(s.Snapshot) {
		return nil, fmt.Errorf("found the snapshot's id %.40q", s.Snapshot)
	}
	if s.Remove {
		return &control.SaveReport{}, snapshot.Remove(ctx, place, s.Snapshot)
	}
	g, err := x.use(s.Graph)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	rank, ids, labels, first := g.directory.Share()
	index := snapshot.Index{IDs: ids, Labels: labels, First: first}
	index.Names, index.FirstName = g.directory.Names.Share()
	if err := snapshot.Absent(ctx, place); err != nil {
		return nil, err
	}
	threads := x.team()
	defer threads.Close()
	m, err := snapshot.SaveShare(ctx, place, s.Snapshot, g.Graph, rank, index, snapshot.Options{
		Team: threads, Progress: func(done, all int64) { t.progress("saving "+s.Graph, done, all) },
	})
	if err != nil {
		return nil, err
	}
	return saved(m)
}

func saved(m *snapshot.Manifest) (*control.SaveReport, error) {
	data, err := m.Encode()
	return &control.SaveReport{Manifest: data}, err
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/store"
)

// ManifestName is the object that makes the others a snapshot. It is stored last, and only if it
// does not exist.
const ManifestName = "snapshot.json"

// maxManifest is the greatest size of a manifest in bytes.
const maxManifest = 16 << 20

// Manifest describes the content of a snapshot, and its files.
type Manifest struct {
	Format      string `json:"format"`
	Version     int    `json:"version"`
	ID          string `json:"id"`
	Graph       string `json:"graph"` // the source of the graph
	Vertices    int    `json:"vertices"`
	Arcs        uint64 `json:"arcs"` // as stored: an undirected edge counts twice
	Directed    bool   `json:"directed"`
	Weights     string `json:"weights"`      // none, float32 or float64
	LeastWeight string `json:"least_weight"` // or 0 if that is less
	Tuples      int    `json:"tuples"`       // in the input
	Loops       int    `json:"loops"`        // loops among them
	Dropped     int    `json:"dropped"`      // number of dropped duplicates
	Connected   int    `json:"connected"`    // vertices with an edge; they have the least ids
	Partitions  int    `json:"partitions"`
	Grid        string `json:"grid"`
	Duplicates  string `json:"duplicates"` // their treatment: keep, first, min, sum or error
	SelfLoops   string `json:"self_loops"` // keep or drop
	UnitWeights bool   `json:"unit_weights"`
	Deal        string `json:"deal,omitempty"` // of vertices to partitions (kernel.Deal)
	Order       string `json:"order"`          // order of vertices: degree or input
	Labels      string `json:"labels"`         // input ids: consecutive, from the first label on, or listed
	FirstLabel  uint64 `json:"first_label"`
	Bytes       int64  `json:"bytes"` // total size of all files
	Parts       []File `json:"parts"`
	// Index has the files that map input ids to vertices. Each has a range of input ids, in
	// ascending order.
	Index []File `json:"index"`
	// Names has the files of the vertices' names, in ascending order of input ids, if they have
	// names.
	Names []File `json:"names,omitempty"`
}

// files returns all files.
func (m *Manifest) files() []File { return slices.Concat(m.Parts, m.Index, m.Names) }

const manifestFormat = "superstep snapshot"

// dealtVersion is the version of a manifest with a Deal, which earlier versions must not ignore.
const dealtVersion = version + 1

var weightKinds = []string{"none", "float32", "float64"}

// newManifest describes a graph.
func newManifest(id string, g *graph.Graph) *Manifest {
	o := g.Options
	m := &Manifest{
		Format: manifestFormat, Version: version, ID: id, Graph: g.Name, Vertices: g.N,
		Arcs: g.Arcs, Directed: g.Directed,
		Weights: weightKinds[g.Weights], LeastWeight: strconv.FormatFloat(g.LeastWeight, 'g', -1,
			64), Tuples: g.Tuples, Loops: g.Loops,
		Dropped: g.Dropped, Connected: g.Connected, Partitions: len(g.Parts), Grid: o.Grid.String(),
		Duplicates: o.Duplicates.String(),
		SelfLoops:  "keep", UnitWeights: o.UnitWeights, Order: "degree",
		Parts: make([]File, len(g.Parts)),
	}
	if o.DropLoops {
		m.SelfLoops = "drop"
	}
	if o.InputOrder {
		m.Order = "input"
	}
	if m.Deal = g.Deal.String(); m.Deal != "" {
		m.Version = dealtVersion
	}
	return m
}

// Encode returns the stored form of a manifest. It also encodes the manifest of a share.
func (m *Manifest) Encode() ([]byte, error) { return store.Encode(m) }

// ErrNone means that a place has no snapshot.
var ErrNone = errors.New("there is no snapshot: " + ManifestName +
	" is missing; it is written last")

// ReadManifest reads and checks the manifest of a store.
func ReadManifest(ctx context.Context, s store.Store) (*Manifest, error) {
	data, err := store.Get(ctx, s, ManifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrNoBucket) {
		return nil, fmt.Errorf("%s: %w", s, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	return m, store.At(s, ManifestName, err)
}

// parseManifest accepts only the result of Encode for a complete snapshot.
func parseManifest(data []byte) (*Manifest, error) {
	m, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return m, m.check()
}

// Decode decodes the result of Encode. It does not check whether the snapshot is complete.
func Decode(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := store.Decode(data, m); err != nil {
		return nil, err
	}
	if m.Format != manifestFormat || m.Version != version && m.Version != dealtVersion {
		return nil, fmt.Errorf("found %.40q of version %d, expected %q of version %d or %d", m.Format,
			m.Version, manifestFormat, version, dealtVersion)
	}
	return m, nil
}

// check returns an error for a manifest that no graph can have.
func (m *Manifest) check() error {
	g, err := m.graph("")
	if err != nil {
		return err
	}
	switch {
	case m.Vertices < 0 || m.Vertices > graph.MaxVertices || m.Connected < 0 ||
		m.Connected > m.Vertices:
		return fmt.Errorf("found %d vertices, %d of them with edges", m.Vertices, m.Connected)
	case m.Tuples < 0 || m.Loops < 0 || m.Dropped < 0:
		return fmt.Errorf("found %d tuples, %d loops, %d dropped", m.Tuples, m.Loops, m.Dropped)
	case m.Partitions != g.Options.Partitions || len(m.Parts) != m.Partitions:
		return fmt.Errorf("found %d partitions in %d files for a grid of %s", m.Partitions,
			len(m.Parts), m.Grid)
	case len(m.Index) == 0 && m.Vertices > 0 || len(m.Index) > graph.MaxPartitions:
		return fmt.Errorf("found %d files of input ids", len(m.Index))
	}
	if err := m.checkNames(); err != nil {
		return err
	}
	return m.checkIndex()
}

// checkIndex returns an error unless the files of the index form a complete index.
func (m *Manifest) checkIndex() error {
	vertices, consecutive, first := 0, true, uint64(0)
	for i, f := range m.Index {
		if f.Count < 0 || f.Count > m.Vertices-vertices ||
			f.First > math.MaxUint64-uint64(f.Count) || f.Listed && f.First != 0 {
			return fmt.Errorf("%s: found %d vertices after %d of %d, with input ids from %d on",
				f.Name, f.Count, vertices, m.Vertices, f.First)
		}
		if i == 0 {
			first = f.First
		}
		consecutive = consecutive && !f.Listed &&
			(f.Count == 0 || f.First == first+uint64(vertices))
		vertices += f.Count
	}
	if vertices != m.Vertices {
		return fmt.Errorf("found an index of %d vertices, expected %d", vertices, m.Vertices)
	}
	if m.Labels == "consecutive" && (!consecutive || m.FirstLabel != first) {
		return fmt.Errorf("found an index whose input ids do not follow one another from %d on",
			m.FirstLabel)
	}
	return nil
}

// graph returns the graph that the manifest describes, without partitions and vertices.
func (m *Manifest) graph(name string) (*graph.Graph, error) {
	g := &graph.Graph{
		Name: name, N: m.Vertices, Arcs: m.Arcs, Directed: m.Directed, Tuples: m.Tuples,
		Loops: m.Loops, Dropped: m.Dropped, Connected: m.Connected,
	}
	o := &g.Options
	var err, wrong error
	one := func(what, word string, of ...string) int {
		for i, w := range of {
			if w == word {
				return i
			}
		}
		wrong = fmt.Errorf("%s: found %.40q, expected one of %q", what, word, of)
		return 0
	}
	o.Weights = edges.Weights(one("weights", m.Weights, weightKinds...))
	o.DropLoops = one("self_loops", m.SelfLoops, "keep", "drop") == 1
	o.InputOrder = one("order", m.Order, "degree", "input") == 1
	o.UnitWeights, o.Deal = m.UnitWeights, m.Deal
	if one("labels", m.Labels, "consecutive", "listed") == 0 {
		g.Labels = edges.Consecutive(m.FirstLabel)
	}
	if o.Duplicates, err = graph.ParseDuplicates(m.Duplicates); err != nil {
		return nil, fmt.Errorf("duplicates: %w", err)
	}
	if o.Grid, err = graph.ParseGrid(m.Grid); err != nil {
		return nil, fmt.Errorf("grid: %w", err)
	}
	if g.LeastWeight, err = strconv.ParseFloat(m.LeastWeight, 64); err != nil ||
		!(g.LeastWeight <= 0) {
		return nil, fmt.Errorf("least_weight: found %.40q", m.LeastWeight)
	}
	g.Weights = o.Weights
	return g, errors.Join(wrong, o.Place())
}

// Package checkpoint keeps the state of a run as it was before a superstep, so that the run can go
// on from there: in another process, with another number of partitions, on another grid.
// docs/design/checkpoints.md lists what belongs to it.
//
// A checkpoint is a part for each partition and one manifest, which names the parts with their
// sizes and checksums. The manifest is stored last, by Store.PutIfAbsent: a checkpoint whose
// manifest is there is whole, and what has none does not count.
//
//	partitions --Part--> Writer (each process) --Stored--> reports --> Keeper (where the run is driven) --Manifest--> store
//	store --Manifest, Part--> Reader (each process) --> partitions
package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// Part is the state of one partition before a superstep, as named sections whose bytes the engine
// makes and reads.
type Part struct {
	Partition, Of int // it has the vertices whose numbers are Partition, Partition+Of, ...
	Superstep     int
	Vertices      int
	Sections      []Section
	// Print is a sum over the partition's vertices, by which another graph is known from the one
	// that the run was on.
	Print uint64
	// Copied is how long the run stood still for the copy.
	Copied time.Duration
}

// Section is a piece of a partition's state.
type Section struct {
	Name string
	Data []byte
}

// Add adds a section.
func (p *Part) Add(name string, data []byte) { p.Sections = append(p.Sections, Section{name, data}) }

// Section returns the bytes of a section, and whether it is there.
func (p *Part) Section(name string) ([]byte, bool) {
	for _, s := range p.Sections {
		if s.Name == name {
			return s.Data, true
		}
	}
	return nil, false
}

// Bytes is how many bytes the sections have.
func (p *Part) Bytes() (n int64) {
	for _, s := range p.Sections {
		n += int64(len(s.Data))
	}
	return n
}

// Stored says how a part was stored, or why not.
type Stored struct {
	Superstep int    `json:"-"`
	Partition int    `json:"partition"`
	Name      string `json:"name"`
	store.Sum        // as it is stored
	Raw       int64  `json:"raw"` // bytes before compression
	Print     uint64 `json:"print"`
	// Copied and Wrote are the seconds that the run stood still for the part, and that compressing
	// and storing it took beside the run.
	Copied float64 `json:"copied"`
	Wrote  float64 `json:"wrote"`
	// Failed says why the part was not stored.
	Failed string `json:"-"`
}

// Manifest is the object that makes parts a checkpoint.
type Manifest struct {
	Format    int       `json:"format"`
	Superstep int       `json:"superstep"` // that comes next, counted through the run
	Created   time.Time `json:"created"`
	Run       string    `json:"run"` // whose parts they are; it is in their names

	Program Program `json:"program"`
	// Of a run by a plan of phases: Program is then the phase under way, or the one at last.
	Plan  *Plan    `json:"plan,omitempty"`
	Graph Graph    `json:"graph"`
	State State    `json:"state"`
	Parts []Stored `json:"parts"` // by partition
	// Decides is what the values depend on beside the graph and the program's type: parameters and
	// options, in words, by name.
	Decides map[string]string `json:"decides"`
	// Forked says from which other run's checkpoint this run went on, and in what the two differ;
	// "" if from none.
	Forked string `json:"forked,omitempty"`
	// Account is what the run has come to so far, as who shows it reads it: package history.
	Account json.RawMessage `json:"account,omitempty"`
	// Job is what the run was asked to do, as who asked for it reads it.
	Job json.RawMessage `json:"job,omitempty"`
}

// Bytes is how many bytes the parts have as they are stored.
func (m *Manifest) Bytes() (n int64) {
	for _, p := range m.Parts {
		n += p.Sum.Bytes
	}
	return n
}

// Name is the name of the program that was run.
func (m *Manifest) Name() string {
	if m.Plan != nil {
		return m.Plan.Program
	}
	return m.Program.Name
}

// Own is the superstep that comes next as the program counts them, or the phase.
func (m *Manifest) Own() int {
	own := m.Superstep
	if m.Plan != nil {
		for i := range m.Plan.Ran {
			own -= m.Plan.Ran[i].Supersteps
		}
	}
	return own
}

// Where is the superstep that comes next in words, and the phase of a plan.
func (m *Manifest) Where() string {
	text := fmt.Sprintf("superstep %d", m.Superstep)
	switch {
	case m.Plan == nil:
	case m.Program.Name == m.Plan.Program:
		text += fmt.Sprintf(" (after the phases, of which %d ran)", len(m.Plan.Ran))
	default:
		text += fmt.Sprintf(" (superstep %d of phase %d, %s)", m.Own(), len(m.Plan.Ran)+1,
			m.Program.Name)
	}
	return text
}

// Plan is how far a run by a plan of phases is.
type Plan struct {
	Program string `json:"program"` // that has the plan
	Ran     []Ran  `json:"ran"`     // phases that have ended, in order
}

// Ran is how a phase ended: its outcome, the size of the graph if it left another, and the totals
// of its aggregators as processes send them to each other.
type Ran struct {
	Program    string `json:"program"`
	Supersteps int    `json:"supersteps"`
	Messages   int    `json:"messages"`
	Sent       int    `json:"sent"`
	Bytes      int    `json:"bytes"`
	Ended      string `json:"ended"`
	Vertices   uint64 `json:"vertices,omitempty"`
	Arcs       uint64 `json:"arcs,omitempty"`
	IDs        uint64 `json:"ids,omitempty"` // 0 if the phase changes no graph
	Totals     []byte `json:"totals,omitempty"`
	// Of its last supersteps, MaxSeconds of all phases together.
	Seconds []float64 `json:"seconds"`
}

// Add adds a phase that has ended. Manifests that were made of the plan before do not change.
func (p *Plan) Add(r Ran) {
	left := MaxSeconds
	for i := range p.Ran {
		left -= len(p.Ran[i].Seconds)
	}
	r.Seconds = append([]float64(nil), r.Seconds[max(0, len(r.Seconds)-max(left, 0)):]...)
	p.Ran = append(p.Ran, r)
}

// Program is what must be the same in a program that goes on from a checkpoint.
type Program struct {
	Name string `json:"name"`
	// Of values, messages, aggregators, columns: each in words, to compare.
	Types    []string `json:"types"`
	Internal []byte   `json:"internal,omitempty"` // the program's own state, if it encodes itself
}

// Graph is what must be the same of the graph.
type Graph struct {
	Name     string `json:"name"`
	Vertices uint64 `json:"vertices"`
	Arcs     uint64 `json:"arcs"`
	Grid     string `json:"grid"`
	Print    uint64 `json:"print"` // the sum over all parts
}

// State is what the coordinator knows.
type State struct {
	Phase    int `json:"phase"`
	Messages int `json:"messages"`
	Sent     int `json:"sent"`
	Bytes    int `json:"bytes"`
	// Totals, as processes send them to each other.
	Aggregates []byte `json:"aggregates,omitempty"`
	// Of the supersteps before, the last MaxSeconds of them.
	Seconds []float64 `json:"seconds"`
}

// Format is the version of manifests and parts that this version writes and reads.
const Format = 4

// MaxSeconds bounds State.Seconds.
const MaxSeconds = 100_000

// Differs returns in words how what decides values differs from that of the run of a checkpoint, or
// "".
func (m *Manifest) Differs(now map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was := m.Decides[name]; was != now[name] {
			all = append(all, fmt.Sprintf("%s is %.60s, and was %.60s", name, now[name],
				cmp.Or(was, "not there")))
		}
	}
	return strings.Join(all, ", ")
}

// Differs returns in words how a program differs from the one that wrote a checkpoint, or "".
func (p *Program) Differs(now *Program) string {
	if p.Name != now.Name {
		return fmt.Sprintf("it is of program %s, and this is %s", p.Name, now.Name)
	}
	for i := range max(len(p.Types), len(now.Types)) {
		was, is := "nothing", "nothing"
		if i < len(p.Types) {
			was = p.Types[i]
		}
		if i < len(now.Types) {
			is = now.Types[i]
		}
		if was != is {
			return fmt.Sprintf("the program has changed: the checkpoint has %s, where it has %s now", was, is)
		}
	}
	return ""
}

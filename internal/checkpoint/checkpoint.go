// Package checkpoint stores the state of a run before a superstep, so that the run can continue
// from there: in another process, with another number of partitions, on another grid.
// docs/design/checkpoints.md lists the contents of the state. Read checkpoint.go first, then
// keeper.go.
//
// A checkpoint has a part for each partition and one manifest, which names the parts with their
// sizes and checksums. The manifest is stored last, by Store.PutIfAbsent: a checkpoint with a
// manifest is complete, and parts without one do not count.
//
//	partitions --Part--> Writer (each process) --Stored--> Keeper (one process) --Manifest--> store
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

// Part is the state of one partition before a superstep, as named sections. The engine makes and
// reads their bytes. As JSON it is the head of a stored part.
type Part struct {
	Partition int    `json:"partition"`
	Of        int    `json:"of"`
	Deal      string `json:"deal"` // of vertices to partitions (kernel.Deal)
	Superstep int    `json:"superstep"`
	Vertices  int    `json:"vertices"`
	// Print is a fingerprint of the partition's graph: a sum over its vertices.
	Print    uint64    `json:"print"`
	Sections []Section `json:"sections"`
	// Copied is the time for which the run stopped to copy the state.
	Copied time.Duration `json:"-"`
}

// Section is a named piece of a partition's state.
type Section struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"` // of Data
	Data  []byte `json:"-"`
}

// Add adds a section.
func (p *Part) Add(name string, b []byte) {
	p.Sections = append(p.Sections, Section{name, len(b), b})
}

// Section returns the bytes of a section, and whether it exists.
func (p *Part) Section(name string) ([]byte, bool) {
	for _, s := range p.Sections {
		if s.Name == name {
			return s.Data, true
		}
	}
	return nil, false
}

// Bytes returns the total size of the sections.
func (p *Part) Bytes() (n int64) {
	for _, s := range p.Sections {
		n += int64(s.Bytes)
	}
	return n
}

// Stored is the result of storing a part.
type Stored struct {
	Superstep int    `json:"-"`
	Partition int    `json:"partition"`
	Name      string `json:"name"`
	store.Sum        // of the stored bytes
	Raw       int64  `json:"raw"` // bytes before compression
	Print     uint64 `json:"print"`
	// Copied is the time in seconds for which the run stopped for the part. Wrote is the time in
	// seconds of compressing and storing it, while the run continued.
	Copied float64 `json:"copied"`
	Wrote  float64 `json:"wrote"`
	// Failed is the reason why the part was not stored, or "".
	Failed string `json:"-"`
}

// Manifest is the object that makes stored parts a checkpoint.
type Manifest struct {
	Format    int       `json:"format"`
	Superstep int       `json:"superstep"` // the next superstep, counted over the whole run
	Created   time.Time `json:"created"`
	Run       string    `json:"run"` // the run that wrote the parts; it is in their names

	Program Program `json:"program"`
	// In a run with a plan, Program is the current phase, or the planned program at the end.
	Plan  *Plan    `json:"plan,omitempty"`
	Graph Graph    `json:"graph"`
	State State    `json:"state"`
	Parts []Stored `json:"parts"` // by partition
	// Decides describes all that the values depend on besides the graph and the program's type:
	// parameters and options, by name.
	Decides map[string]string `json:"decides"`
	// Forked describes the other run whose checkpoint this run continued, and the differences; ""
	// if there is none.
	Forked string `json:"forked,omitempty"`
	// Account has the totals of the run so far, in the format of package history.
	Account json.RawMessage `json:"account,omitempty"`
	// Job is the specification of the run, in the format of its owner.
	Job json.RawMessage `json:"job,omitempty"`
}

// Bytes returns the total size of the stored parts.
func (m *Manifest) Bytes() (n int64) {
	for _, p := range m.Parts {
		n += p.Sum.Bytes
	}
	return n
}

// Name returns the name of the program that was run.
func (m *Manifest) Name() string {
	if m.Plan != nil {
		return m.Plan.Program
	}
	return m.Program.Name
}

// Own returns the number of the next superstep as the current program or phase counts.
func (m *Manifest) Own() int {
	own := m.Superstep
	if m.Plan != nil {
		for i := range m.Plan.Ran {
			own -= m.Plan.Ran[i].Supersteps
		}
	}
	return own
}

// Where describes the next superstep, and the phase of a plan.
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

// Plan is the progress of a run with a plan.
type Plan struct {
	Program string `json:"program"` // the program that has the plan
	Ran     []Ran  `json:"ran"`     // the ended phases, in order
}

// Ran is the record of an ended phase: its outcome, the size of the graph if the phase changed it,
// and the encoded totals of its aggregators.
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
	// The last supersteps of the phase; MaxSeconds for all phases together.
	Seconds []float64 `json:"seconds"`
}

// Add adds an ended phase. It does not change manifests that were made from the plan before.
func (p *Plan) Add(r Ran) {
	left := MaxSeconds
	for i := range p.Ran {
		left -= len(p.Ran[i].Seconds)
	}
	r.Seconds = append([]float64(nil), r.Seconds[max(0, len(r.Seconds)-max(left, 0)):]...)
	p.Ran = append(p.Ran, r)
}

// Program has the properties of a program that must be the same to continue from a checkpoint.
type Program struct {
	Name string `json:"name"`
	// Descriptions of the types of values, messages, aggregators and columns.
	Types    []string `json:"types"`
	Internal []byte   `json:"internal,omitempty"` // the program's own state, if it encodes itself
}

// Graph has the properties of the graph that must be the same.
type Graph struct {
	Name     string `json:"name"`
	Vertices uint64 `json:"vertices"`
	Arcs     uint64 `json:"arcs"`
	Grid     string `json:"grid"`
	Print    uint64 `json:"print"` // the sum of the prints of all parts
}

// State is the state of the coordinator.
type State struct {
	Phase    int `json:"phase"`
	Messages int `json:"messages"`
	Sent     int `json:"sent"`
	Bytes    int `json:"bytes"`
	// The encoded totals.
	Aggregates []byte `json:"aggregates,omitempty"`
	// The times of the supersteps so far, at most the last MaxSeconds.
	Seconds []float64 `json:"seconds"`
}

// Format is the version of manifests and parts that this code writes and reads.
const Format = 5

// MaxSeconds bounds State.Seconds.
const MaxSeconds = 100_000

// Differs describes how now differs from the checkpoint's Decides, or returns "".
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

// Differs describes how a program differs from the one that wrote a checkpoint, or returns "".
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
			return fmt.Sprintf(
				"the program has changed: the checkpoint has %s, where it has %s now", was, is)
		}
	}
	return ""
}

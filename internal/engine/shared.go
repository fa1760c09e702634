package engine

import (
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Shared is what the phases of a plan share, of the partitions of one process: the property columns and, once a phase has changed it, the
// graph.
//
// Runners use their own partition's part at the same time, each while it changes the graph; all else is done between supersteps.
type Shared struct {
	parts   map[int]*sharedPart
	numbers map[columnName]int             // the handles'
	known   map[columnName]kernel.Property // of all phases
	// generation counts the graphs: a job that was made for another moves to this one before it runs.
	generation int
}

// sharedPart is what belongs to one partition.
type sharedPart struct {
	columns map[columnKey]*sharedColumn
	changed *graph.Changed // the partition as phases have left it; nil if it is as it was loaded
	counts  graphCounts    // of the changed graph
	// recount says that messages may have made vertices that the counts do not have. It is the same in all partitions.
	recount bool
}

// columnName is unique in a program.
type columnName struct {
	name    string
	ofEdges bool
}

type columnKey struct {
	number    int
	direction pregel.Direction // of a column of edges, which phases of one direction share
}

type sharedColumn struct {
	kernel.Property
	storage any
}

// NewShared makes columns that are zero, of the loaded graph.
func NewShared() *Shared {
	return &Shared{parts: map[int]*sharedPart{}, numbers: map[columnName]int{}, known: map[columnName]kernel.Property{}}
}

// Knows has the columns of programs known by their names.
func (s *Shared) Knows(all []kernel.Property) {
	for _, c := range all {
		s.known[columnName{c.Name, c.OfEdges}] = c
	}
}

// part returns what is shared of a partition. A runner calls it when it is made, so that it is there when runners ask at the same time.
func (s *Shared) part(partition int) *sharedPart {
	p := s.parts[partition]
	if p == nil {
		p = &sharedPart{columns: map[columnKey]*sharedColumn{}}
		s.parts[partition] = p
	}
	return p
}

// base returns what is shared of a partition that phases have changed, or nil if the partition is as it was loaded.
func (s *Shared) base(partition int) *sharedPart {
	if s == nil {
		return nil
	}
	if p := s.parts[partition]; p != nil && p.changed != nil {
		return p
	}
	return nil
}

// Close forgets all columns, and frees the graph if it is not the loaded one. The next run begins so. It is idempotent, and s may be nil.
func (s *Shared) Close() {
	if s == nil {
		return
	}
	for _, p := range s.parts {
		if p.changed != nil {
			p.changed.Close()
			s.generation++
		}
		*p = sharedPart{columns: map[columnKey]*sharedColumn{}}
	}
}

// take returns the changed partitions, if there are any, which belong to the caller from now on.
func (s *Shared) take() (parts []*graph.Changed) {
	for i := range len(s.parts) {
		if p := s.parts[i]; p != nil && p.changed != nil {
			parts = append(parts, p.changed)
			p.changed = nil
			s.generation++
		}
	}
	return parts
}

// replace makes a changed partition the one that the next phases run on, and frees the one before.
func (s *Shared) replace(partition int, changed *graph.Changed, counts graphCounts, recount bool) {
	p := s.part(partition)
	if p.changed != nil {
		p.changed.Close()
	}
	p.changed, p.counts, p.recount = changed, counts, recount
	s.generation++
}

// set replaces a column.
func (s *Shared) set(partition int, c kernel.Property, d pregel.Direction, storage any) {
	s.part(partition).columns[keyOf(c, d)] = &sharedColumn{c, storage}
}

// column returns a column of n elements, made at first use.
func (s *Shared) column(partition int, c kernel.Property, d pregel.Direction, n int) any {
	columns, key := s.part(partition).columns, keyOf(c, d)
	if c.OfEdges {
		for other := pregel.Out; other <= pregel.Either; other++ {
			if other != d && columns[keyOf(c, other)] != nil {
				panic(fmt.Sprintf("edge column %s: a phase of direction %v has it, and this one is of direction %v: they do not share it", c.Name, other, d))
			}
		}
	}
	name := columnName{c.Name, c.OfEdges}
	if n, ok := s.numbers[name]; ok && n != c.Number {
		panic(fmt.Sprintf("two columns are named %s: phases share a column by its handle, of which there is one", c.Name))
	}
	s.numbers[name] = c.Number
	if columns[key] == nil {
		columns[key] = &sharedColumn{c, c.New(n)}
	}
	return columns[key].storage
}

func keyOf(c kernel.Property, d pregel.Direction) columnKey {
	if !c.OfEdges {
		d = 0
	}
	return columnKey{c.Number, d}
}

// ofEdges reports whether there is a column of edges.
func (p *sharedPart) ofEdges() bool {
	for _, c := range p.columns {
		if c.OfEdges {
			return true
		}
	}
	return false
}

// clearVertex makes all columns of vertices zero at a vertex.
func (p *sharedPart) clearVertex(local uint32) {
	for _, c := range p.columns {
		if !c.OfEdges {
			reflect.ValueOf(c.storage).Index(int(local)).SetZero()
		}
	}
}

package control

import (
	"encoding/json"
	"fmt"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// MaxPaired is the most partitions of which records tell what each sent to each other. Of more they
// have sums: pairs grow with the square, and an event must fit into a message, and many into
// memory. With 64 a record has at most some 100 KB, or five times that if the job is traced; with
// sums, at 4,096 partitions, 2 MB.
const MaxPaired = 64

// SumPeers replaces what went to each other partition by sums.
func SumPeers(p *record.Partition) {
	for i := range p.Peers {
		p.Sums = record.AddSum(p.Sums, p.Peers[i].Sum())
	}
	p.Peers = nil
}

// recordVersion begins an encoded record. It rises when the fields of a record's types change.
const recordVersion = 1

// EncodeRecord encodes the record of a superstep for messages.
func EncodeRecord(s *record.Superstep) ([]byte, error) {
	data, err := pack.Value(s)
	return append([]byte{recordVersion}, data...), err
}

// DecodeRecord decodes what EncodeRecord has encoded. It refuses other versions, and what no run
// can have recorded.
func DecodeRecord(data []byte) (*record.Superstep, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return nil, fmt.Errorf("a superstep's record: found version %x, expected %x", data[:min(len(data), 1)], recordVersion)
	}
	s := new(record.Superstep)
	err := pack.IntoValue(data[1:], s)
	if err == nil {
		err = trace.Check(s)
	}
	if err != nil {
		return nil, fmt.Errorf("a superstep's record: %w", err)
	}
	s.Ended = s.Ended.UTC()
	return s, nil
}

// NewGraphSize returns what is sent of a graph's size, and Trace the size that was sent; both are
// nil of none.
func NewGraphSize(s *record.GraphSize) *GraphSize {
	if s == nil {
		return nil
	}
	return &GraphSize{Vertices: s.Vertices, Arcs: s.Arcs}
}

func (s *GraphSize) Trace() *record.GraphSize {
	if s == nil {
		return nil
	}
	return &record.GraphSize{Vertices: s.Vertices, Arcs: s.Arcs}
}

// NewSearch is a search of Graph500 as a message has it.
func NewSearch(s *trace.Search) *BenchmarkSearch {
	return &BenchmarkSearch{
		Name: s.Job, Kernel: s.Kernel, Time: s.Seconds, Translate: s.Translate,
		Validate: s.Validate, Nedge: s.Edges, Valid: s.Valid,
	}
}

// Trace is the search as traces have it.
func (s *BenchmarkSearch) Trace() *trace.Search {
	return &trace.Search{
		Job: s.Name, Kernel: s.Kernel, Seconds: s.Time, Translate: s.Translate,
		Validate: s.Validate, Edges: s.Nedge, Valid: s.Valid,
	}
}

// NewPanic is a panic of a user's program as a message has it.
func NewPanic(e *pregel.ProgramError) *Panic {
	return &Panic{
		Program: Text(e.Program, maxPanic), Superstep: int32(e.Superstep), Vertex: e.Vertex,
		Known: e.Known, Method: e.Method, Value: Text(fmt.Sprint(e.Value), maxPanic),
		Stack: Text(e.Stack, maxPanic), Name: Text(e.Name, maxPanic),
	}
}

// maxPanic bounds each text of a panic.
const maxPanic = MaxText

// Err is the panic as it was where the program ran, but for what it panicked with, of which there
// is the text.
func (p *Panic) Err() *pregel.ProgramError {
	return &pregel.ProgramError{
		Program: p.Program, Superstep: int(p.Superstep), Vertex: p.Vertex, Known: p.Known,
		Method: p.Method, Value: p.Value, Stack: p.Stack, Name: p.Name,
	}
}

// FinalAggregates are what the job's aggregators ended with, as reports have them; nil if there are
// none.
func (j *Job) FinalAggregates() trace.Aggregates {
	var all trace.Aggregates
	for _, a := range j.GetAggregators() {
		if !json.Valid([]byte(a.Json)) {
			continue // left out, or of a master with other ideas
		}
		if all == nil {
			all = trace.Aggregates{}
		}
		all[a.Name] = json.RawMessage(a.Json)
	}
	return all
}

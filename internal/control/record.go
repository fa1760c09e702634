package control

import (
	"encoding/json"
	"fmt"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// MaxPaired is the maximum number of partitions for which records have an entry per pair of
// partitions. For more partitions they have sums, because the number of pairs grows with the
// square, and events must fit into messages and memory. With 64 partitions a record has up to about
// 100 KB, or five times that with a trace. With sums for 4,096 partitions it has 2 MB.
const MaxPaired = 64

// SumPeers replaces the entries per peer by sums.
func SumPeers(p *record.Partition) {
	for i := range p.Peers {
		p.Sums = record.AddSum(p.Sums, p.Peers[i].Sum())
	}
	p.Peers = nil
}

// recordVersion is the first byte of an encoded record. It changes with the fields of the record's
// types.
const recordVersion = 2

// EncodeRecord encodes the record of a superstep for messages.
func EncodeRecord(s *record.Superstep) ([]byte, error) {
	data, err := pack.Value(s)
	return append([]byte{recordVersion}, data...), err
}

// DecodeRecord decodes the result of EncodeRecord. It rejects other versions and impossible
// records.
func DecodeRecord(data []byte) (*record.Superstep, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return nil, fmt.Errorf("a superstep's record: found version %x, expected %x",
			data[:min(len(data), 1)], recordVersion)
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

// NewGraphSize converts a graph's size to a message, and Trace converts it back. Both keep nil.
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

// NewSearch converts a search of Graph500 to a message.
func NewSearch(s *trace.Search) *BenchmarkSearch {
	return &BenchmarkSearch{
		Name: s.Job, Kernel: s.Kernel, Time: s.Seconds, Translate: s.Translate,
		Validate: s.Validate, Nedge: s.Edges, Valid: s.Valid,
	}
}

// Trace converts the search for traces.
func (s *BenchmarkSearch) Trace() *trace.Search {
	return &trace.Search{
		Job: s.Name, Kernel: s.Kernel, Seconds: s.Time, Translate: s.Translate,
		Validate: s.Validate, Edges: s.Nedge, Valid: s.Valid,
	}
}

// NewPanic converts a panic of a user's program to a message.
func NewPanic(e *pregel.ProgramError) *Panic {
	return &Panic{
		Program: Text(e.Program, maxPanic), Superstep: int32(e.Superstep), Vertex: e.Vertex,
		Known: e.Known, Method: e.Method, Value: Text(fmt.Sprint(e.Value), maxPanic),
		Stack: Text(e.Stack, maxPanic), Name: Text(e.Name, maxPanic),
	}
}

// maxPanic bounds each text of a panic.
const maxPanic = MaxText

// Err converts the panic back. Its Value is only a text.
func (p *Panic) Err() *pregel.ProgramError {
	return &pregel.ProgramError{
		Program: p.Program, Superstep: int(p.Superstep), Vertex: p.Vertex, Known: p.Known,
		Method: p.Method, Value: p.Value, Stack: p.Stack, Name: p.Name,
	}
}

// FinalAggregates returns the final values of the job's aggregators for reports; nil if there are
// none.
func (j *Job) FinalAggregates() trace.Aggregates {
	var all trace.Aggregates
	for _, a := range j.GetAggregators() {
		if !json.Valid([]byte(a.Json)) {
			continue // omitted, or invalid
		}
		if all == nil {
			all = trace.Aggregates{}
		}
		all[a.Name] = json.RawMessage(a.Json)
	}
	return all
}

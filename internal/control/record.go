package control

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
	timestamppb "google.golang.org/protobuf/types/known/timestamppb"
)

// MaxPaired is the most partitions of which records tell what each sent to each other. Of more they have sums: pairs grow
// with the square, and an event must fit into a message, and many into memory. With 64 a record has at most some 100 KB, or
// five times that if the job is traced; with sums, at 4,096 partitions, 2 MB.
const MaxPaired = 64

// NewPartitionReport returns what is sent of a partition's superstep, one of so many partitions.
func NewPartitionReport(p *record.Partition, partitions int) *PartitionReport {
	r := &PartitionReport{
		Partition: uint32(p.Partition), Worker: p.Worker,
		Computed: uint64(p.Computed), Delivered: uint64(p.Delivered), Receivers: uint64(p.Receivers), Walked: uint64(p.Walked),
		Sent: uint64(p.Sent), Bytes: uint64(p.Bytes),
		Senders: uint64(p.Senders), SenderEdges: uint64(p.SenderEdges), Sends: uint64(p.Sends), Requests: uint64(p.Requests),
		Active: uint64(p.Active), Unfinished: uint64(p.Unfinished), UnfinishedEdges: uint64(p.UnfinishedEdges),
		Times: &Times{
			Expand: p.Times.Expand, Traverse: p.Times.Traverse, Fold: p.Times.Fold, Compute: p.Times.Compute, Wait: p.Times.Wait, Total: p.Times.Total,
		},
		Memory: uint64(p.Memory), GcPause: p.GCPause,
	}
	for _, x := range p.Sums {
		r.Sums = append(r.Sums, &ExchangeSum{
			Exchange: x.Exchange, Encoding: x.Encoding, Columns: uint32(x.Columns), Messages: uint64(x.Messages), Bytes: uint64(x.Bytes),
		})
	}
	for _, x := range p.Peers {
		if partitions > MaxPaired {
			r.sum(x.Exchange, x.Encoding, uint64(x.Messages), uint64(x.Bytes))
			continue
		}
		r.Exchanges = append(r.Exchanges, &Exchange{
			Partition: uint32(x.Partition), Exchange: x.Exchange, Encoding: x.Encoding, Messages: uint64(x.Messages), Bytes: uint64(x.Bytes),
		})
	}
	return r
}

// sum adds to the sums what was sent to another partition.
func (p *PartitionReport) sum(exchange, encoding string, messages, bytes uint64) {
	i := slices.IndexFunc(p.Sums, func(s *ExchangeSum) bool { return s.Exchange == exchange && s.Encoding == encoding })
	if i < 0 {
		i = len(p.Sums)
		p.Sums = append(p.Sums, &ExchangeSum{Exchange: exchange, Encoding: encoding})
	}
	s := p.Sums[i]
	s.Columns++
	s.Messages += messages
	s.Bytes += bytes
}

// Trace is the partition's record. Where a report does not tell of exchanges, what was sent to each partition is taken from its account.
func (p *PartitionReport) Trace() record.Partition {
	t := p.GetTimes()
	r := record.Partition{
		Partition: int(p.Partition), Worker: p.Worker,
		Computed: int(p.Computed), Delivered: int(p.Delivered), Receivers: int(p.Receivers), Walked: int(p.Walked),
		Sent: int(p.Sent), Bytes: int(p.Bytes),
		Senders: int(p.Senders), SenderEdges: int(p.SenderEdges), Sends: int(p.Sends), Requests: int(p.Requests),
		Messages: int(p.SenderEdges + p.Sends),
		Active:   int(p.Active), Unfinished: int(p.Unfinished), UnfinishedEdges: int(p.UnfinishedEdges),
		Times: record.Seconds{
			Expand: t.GetExpand(), Traverse: t.GetTraverse(), Fold: t.GetFold(), Compute: t.GetCompute(), Wait: t.GetWait(), Total: t.GetTotal(),
		},
		Memory: int64(p.Memory), GCPause: p.GcPause,
	}
	for _, x := range p.Sums {
		r.Sums = append(r.Sums, record.Sum{
			Exchange: x.Exchange, Encoding: x.Encoding, Columns: int(x.Columns), Messages: int(x.Messages), Bytes: int(x.Bytes),
		})
	}
	for _, x := range p.Exchanges {
		r.Peers = append(r.Peers, record.Peer{
			Partition: int(x.Partition), Exchange: x.Exchange, Encoding: x.Encoding, Messages: int(x.Messages), Bytes: int(x.Bytes),
		})
	}
	if len(p.Sums)+len(p.Exchanges) == 0 {
		for _, q := range p.Peers {
			r.Peers = append(r.Peers, record.Peer{Partition: int(q.Partition), Messages: int(q.Sent), Bytes: int(q.Bytes)})
		}
	}
	return r
}

// NewSuperstepRecord returns what is sent of a superstep.
func NewSuperstepRecord(s *record.Superstep) *SuperstepRecord {
	r := &SuperstepRecord{
		Superstep: uint32(s.Superstep), Scheme: s.Scheme, Delivery: s.Delivery, Reason: s.Reason, Predicted: s.Predicted, Actual: s.Actual,
		Seconds: s.Seconds, Phase: uint32(s.Phase), Program: s.Program, Graph: NewGraphSize(s.Graph),
	}
	if !s.Ended.IsZero() {
		r.Ended = timestamppb.New(s.Ended)
	}
	for i := range s.Partitions {
		r.Partitions = append(r.Partitions, NewPartitionReport(&s.Partitions[i], len(s.Partitions)))
	}
	return r
}

// Trace is the record that was sent.
func (r *SuperstepRecord) Trace() *record.Superstep {
	s := &record.Superstep{
		Job: r.Search, Superstep: int(r.Superstep), Scheme: r.Scheme, Delivery: r.Delivery, Reason: r.Reason, Predicted: r.Predicted,
		Actual: r.Actual, Seconds: r.Seconds, Phase: int(r.Phase), Program: r.Program,
		Graph: r.Graph.Trace(),
	}
	if r.Ended != nil {
		s.Ended = r.Ended.AsTime()
	}
	for _, p := range r.Partitions {
		s.Partitions = append(s.Partitions, p.Trace())
	}
	return s
}

// NewGraphSize returns what is sent of a graph's size, and Trace the size that was sent; both are nil of none.
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

// NewPanic is a panic of a user's program as a message has it.
func NewPanic(e *pregel.ProgramError) *Panic {
	return &Panic{
		Program: Text(e.Program, maxPanic), Superstep: int32(e.Superstep), Vertex: e.Vertex, Known: e.Known, Method: e.Method,
		Value: Text(fmt.Sprint(e.Value), maxPanic), Stack: Text(e.Stack, maxPanic), Name: Text(e.Name, maxPanic),
	}
}

// maxPanic bounds each text of a panic.
const maxPanic = MaxText

// Err is the panic as it was where the program ran, but for what it panicked with, of which there is the text.
func (p *Panic) Err() *pregel.ProgramError {
	return &pregel.ProgramError{
		Program: p.Program, Superstep: int(p.Superstep), Vertex: p.Vertex, Known: p.Known, Method: p.Method, Value: p.Value, Stack: p.Stack,
		Name: p.Name,
	}
}

// FinalAggregates are what the job's aggregators ended with, as reports have them; nil if there are none.
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

package master

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// maxPaired is the most partitions of which records tell what each sent to each other. Of more they have sums: pairs grow
// with the square, and an event must fit into a message, and many into memory. With 64 a record has at most some 100 KB, or
// three times that if the job is traced; with sums, at 4,096 partitions, 2 MB.
const maxPaired = 64

// told is what the record of a superstep says of a partition: its report but for what only the coordinator reads.
func told(p *control.PartitionReport, worker string, partitions int) *control.PartitionReport {
	short := &control.PartitionReport{
		Partition: p.Partition, Computed: p.Computed, Receivers: p.Receivers, Walked: p.Walked, Sent: p.Sent, Bytes: p.Bytes,
		Senders: p.Senders, SenderEdges: p.SenderEdges, Sends: p.Sends, Active: p.Active,
		Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges, Times: proto.CloneOf(p.Times), Delivered: p.Delivered,
		Memory: p.Memory, GcPause: p.GcPause, Worker: worker,
	}
	if partitions > maxPaired {
		short.Sums = sums(p)
		return short
	}
	for _, q := range p.Peers {
		short.Peers = append(short.Peers, proto.CloneOf(q))
	}
	for _, x := range p.Exchanges {
		short.Exchanges = append(short.Exchanges, proto.CloneOf(x))
	}
	return short
}

// sums adds up what a partition sent, by exchange and encoding if its report tells of them.
func sums(p *control.PartitionReport) []*control.ExchangeSum {
	var all []*control.ExchangeSum
	add := func(exchange, encoding string, messages, bytes uint64) {
		i := slices.IndexFunc(all, func(s *control.ExchangeSum) bool { return s.Exchange == exchange && s.Encoding == encoding })
		if i < 0 {
			i = len(all)
			all = append(all, &control.ExchangeSum{Exchange: exchange, Encoding: encoding})
		}
		s := all[i]
		s.Columns++
		s.Messages += messages
		s.Bytes += bytes
	}
	for _, x := range p.Exchanges {
		add(x.Exchange, x.Encoding, x.Messages, x.Bytes)
	}
	if len(p.Exchanges) == 0 {
		for _, q := range p.Peers {
			add("", "", q.Sent, q.Bytes)
		}
	}
	return all
}

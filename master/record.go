package master

import (
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// told is what the record of a superstep says of a partition: its report but for what only the coordinator reads.
func told(p *control.PartitionReport, worker string, partitions int) *control.PartitionReport {
	short := &control.PartitionReport{
		Partition: p.Partition, Computed: p.Computed, Receivers: p.Receivers, Walked: p.Walked, Sent: p.Sent, Bytes: p.Bytes,
		Senders: p.Senders, SenderEdges: p.SenderEdges, Sends: p.Sends, Active: p.Active,
		Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges, Times: proto.CloneOf(p.Times), Delivered: p.Delivered,
		Memory: p.Memory, GcPause: p.GcPause, Worker: worker,
	}
	if partitions > control.MaxPaired {
		for _, x := range p.Sums {
			short.Sums = append(short.Sums, proto.CloneOf(x))
		}
		for i := 0; i < len(p.Peers) && len(p.Sums) == 0; i++ { // the job is not traced
			short.Sum("", "", p.Peers[i].Sent, p.Peers[i].Bytes)
		}
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

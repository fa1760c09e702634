package master

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// reportOf makes a report of a partition that sends to all others, the largest there can be.
func reportOf(partition, partitions, exchanges int) *control.PartitionReport {
	p := &control.PartitionReport{
		Partition: uint32(partition), Computed: math.MaxUint64, Receivers: math.MaxUint64, Walked: math.MaxUint64, Sent: math.MaxUint64,
		Bytes: math.MaxUint64, Senders: math.MaxUint64, SenderEdges: math.MaxUint64, Sends: math.MaxUint64, Active: math.MaxUint64,
		Unfinished: math.MaxUint64, UnfinishedEdges: math.MaxUint64, Delivered: math.MaxUint64, Memory: math.MaxUint64, GcPause: 1,
		Times:      &control.Times{Expand: 1, Traverse: 1, Fold: 1, Compute: 1, Total: 1, Wait: 1},
		Aggregates: []byte("what only the coordinator reads"),
	}
	names := []string{"expand", "expand back", "fold", "fold back"}
	for q := range partitions {
		p.Peers = append(p.Peers, &control.Peer{Partition: uint32(q), Sent: 1 << 40, Received: 1 << 40, Bytes: 1 << 44, ReceivedBytes: 1 << 44})
		for x := range exchanges {
			encoding := [...]string{"bitmap", "sparse"}[q%2]
			if partitions > control.MaxPaired {
				p.Sum(names[x], encoding, 1<<40, 1<<44)
				continue
			}
			p.Exchanges = append(p.Exchanges, &control.Exchange{Partition: uint32(q), Exchange: names[x], Encoding: encoding, Messages: 1 << 40, Bytes: 1 << 44})
		}
	}
	return p
}

// TestRecordsFitIntoMessages has every partition of a cluster send to every other, in every exchange.
func TestRecordsFitIntoMessages(t *testing.T) {
	for _, c := range []struct{ partitions, exchanges int }{{1, 4}, {control.MaxPaired, 0}, {control.MaxPaired, 4}, {control.MaxPaired + 1, 0}, {control.MaxPaired + 1, 4}, {maxPartitions, 4}} {
		r := &control.SuperstepRecord{}
		full := reportOf(0, c.partitions, c.exchanges)
		short := told(full, strings.Repeat("w", 128), c.partitions)
		for range c.partitions {
			r.Partitions = append(r.Partitions, short)
		}
		if n := proto.Size(&control.JobEvent{Body: &control.JobEvent_Record{Record: r}}); n > control.MaxMessage {
			t.Errorf("%d partitions: %d bytes", c.partitions, n)
		}
		if len(short.Aggregates) > 0 || len(full.Aggregates) == 0 {
			t.Errorf("%d partitions: the aggregates are told", c.partitions)
		}
		if pairs := c.partitions <= control.MaxPaired; pairs != (len(short.Peers) == c.partitions) || pairs != (len(short.Sums) == 0) {
			t.Errorf("%d partitions: %d peers, %d sums", c.partitions, len(short.Peers), len(short.Sums))
		}
	}
}

// TestRecordsTellEverything compares records with reports: all is told but aggregates, and of many partitions the pairs.
func TestRecordsTellEverything(t *testing.T) {
	want := reportOf(3, 10, 2)
	want.Aggregates, want.Worker = nil, "w"
	if got := told(reportOf(3, 10, 2), "w", 10); !proto.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	const many = control.MaxPaired + 2
	want = reportOf(3, many, 2)
	want.Aggregates, want.Worker, want.Peers = nil, "w", nil
	if got := told(reportOf(3, many, 2), "w", many); len(want.Sums) != 4 || !proto.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	all := told(reportOf(3, many, 0), "w", many).Sums
	if len(all) != 1 || !proto.Equal(all[0], &control.ExchangeSum{Columns: many, Messages: many << 40, Bytes: many << 44}) {
		t.Errorf("without exchanges %v", all)
	}
}

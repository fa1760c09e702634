package control

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/record"
)

// partitionOf makes the record of a partition that sends to all others in so many exchanges, the largest there can be.
func partitionOf(partition, partitions, exchanges int) record.Partition {
	p := record.Partition{
		Partition: partition, Worker: strings.Repeat("w", 128), Computed: math.MaxInt, Delivered: math.MaxInt, Receivers: math.MaxInt, Walked: math.MaxInt,
		Sent: math.MaxInt, Bytes: math.MaxInt, Senders: math.MaxInt, SenderEdges: math.MaxInt - 9, Sends: 9, Messages: math.MaxInt, Requests: math.MaxInt, Active: math.MaxInt,
		Unfinished: math.MaxInt, UnfinishedEdges: math.MaxInt, Memory: math.MaxInt64, GCPause: 1,
		Times: record.Seconds{Expand: 1, Traverse: 2, Fold: 3, Compute: 4, Wait: 5, Total: 6},
	}
	names := []string{"expand", "expand back", "fold", "fold back"}
	for q := range partitions {
		for x := range exchanges {
			p.Peers = append(p.Peers, record.Peer{Partition: q, Exchange: names[x], Encoding: [...]string{"bitmap", "sparse"}[q%2], Messages: 1 << 40, Bytes: 1 << 44})
		}
	}
	return p
}

// TestRecordsFitIntoMessages has every partition of a cluster send to every other, in every exchange.
func TestRecordsFitIntoMessages(t *testing.T) {
	const most = graph.MaxPartitions
	for _, c := range []struct{ partitions, exchanges int }{{1, 4}, {MaxPaired, 0}, {MaxPaired, 4}, {MaxPaired + 1, 0}, {MaxPaired + 1, 4}, {most, 4}} {
		s := &record.Superstep{}
		p := partitionOf(0, c.partitions, c.exchanges)
		for range c.partitions {
			s.Partitions = append(s.Partitions, p)
		}
		r := NewSuperstepRecord(s)
		if n := proto.Size(&JobEvent{Body: &JobEvent_Record{Record: r}}); n > MaxMessage {
			t.Errorf("%d partitions: %d bytes", c.partitions, n)
		}
		if pairs := c.partitions <= MaxPaired; c.exchanges > 0 && pairs != (len(r.Partitions[0].Sums) == 0) {
			t.Errorf("%d partitions: %d sums", c.partitions, len(r.Partitions[0].Sums))
		}
	}
}

// TestRecordsTellEverything sends records and compares what arrives: all is told, but of many partitions the pairs.
func TestRecordsTellEverything(t *testing.T) {
	want := &record.Superstep{
		Superstep: 7, Phase: 3, Program: "Sweep", Scheme: "pull", Delivery: "pull", Reason: "why", Predicted: map[string]float64{"pull": 1}, Actual: 2, Seconds: 3, Ended: time.Unix(1, 2).UTC(),
		Graph:      &record.GraphSize{Vertices: 8, Arcs: 9},
		Partitions: []record.Partition{partitionOf(0, 2, 2), partitionOf(1, 2, 2)},
	}
	data, err := proto.Marshal(NewSuperstepRecord(want))
	if err != nil {
		t.Fatal(err)
	}
	var got SuperstepRecord
	if err := proto.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Trace(); !reflect.DeepEqual(s, want) {
		t.Errorf("found %+v, expected %+v", s, want)
	}
	const many = MaxPaired + 2
	p := partitionOf(3, many, 1)
	back := NewPartitionReport(&p, many).Trace()
	if len(back.Peers) != 0 || !reflect.DeepEqual(back.Sums, []record.Sum{
		{Exchange: "expand", Encoding: "bitmap", Columns: many / 2, Messages: many / 2 << 40, Bytes: many / 2 << 44},
		{Exchange: "expand", Encoding: "sparse", Columns: many / 2, Messages: many / 2 << 40, Bytes: many / 2 << 44},
	}) {
		t.Errorf("found %+v", back)
	}
	// Without exchanges the account with the others tells what was sent.
	r := &PartitionReport{Peers: []*Peer{{Partition: 1, Sent: 2, Received: 3, Bytes: 4, ReceivedBytes: 5}}}
	if got := r.Trace().Peers; !reflect.DeepEqual(got, []record.Peer{{Partition: 1, Messages: 2, Bytes: 4}}) {
		t.Errorf("found %+v", got)
	}
}

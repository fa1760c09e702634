package control

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/record"
)

// partitionOf returns the largest possible record of a partition that sends to all others in a
// number of exchanges.
func partitionOf(partition, partitions, exchanges int) record.Partition {
	p := record.Partition{
		Partition: partition, Worker: strings.Repeat("w", 128), Computed: 1 << 46,
		Delivered: 1 << 46, Receivers: 1 << 46, Walked: 1 << 46,
		Sent: 1 << 46, Bytes: 1 << 46, Messages: 1 << 46, Requests: 1 << 46,
		Memory: 1 << 46, GCPause: 1,
		Times: record.Seconds{Expand: 1, Traverse: 2, Fold: 3, Compute: 4, Wait: 5, Total: 6},
	}
	names := []string{"expand", "expand back", "fold", "fold back"}
	for q := range partitions {
		for x := range exchanges {
			p.Peers = append(p.Peers,
				record.Peer{Partition: q, Exchange: names[x], Encoding: [...]string{"bitmap", "sparse"}[q%2], Messages: 1 << 40, Bytes: 1 << 44})
		}
	}
	return p
}

// TestRecordsFitIntoMessages: every partition of a cluster sends to every other in every exchange.
func TestRecordsFitIntoMessages(t *testing.T) {
	const most = graph.MaxPartitions
	for _, c := range []struct{ partitions, exchanges int }{{1, 4}, {MaxPaired, 0}, {MaxPaired, 4}, {MaxPaired + 1, 0}, {MaxPaired + 1, 4}, {most, 4}} {
		s := &record.Superstep{}
		p := partitionOf(0, c.partitions, c.exchanges)
		if c.partitions > MaxPaired {
			SumPeers(&p)
		}
		for range c.partitions {
			s.Partitions = append(s.Partitions, p)
		}
		data, err := EncodeRecord(s)
		if err != nil {
			t.Fatal(err)
		}
		if n := proto.Size(&JobEvent{Body: &JobEvent_Record{Record: data}}); n > MaxMessage {
			t.Errorf("%d partitions: %d bytes", c.partitions, n)
		}
	}
}

// full returns a record with all fields set.
func full() *record.Superstep {
	s := &record.Superstep{
		Job: "BFS 3", Superstep: 7, Phase: 3, Program: "Sweep", Scheme: "pull", Delivery: "pull",
		Reason: "why", Predicted: map[string]float64{"pull": 1}, Actual: 2, Seconds: 3,
		Ended: time.Unix(1, 2).UTC(), Graph: &record.GraphSize{Vertices: 8, Arcs: 9},
		Aggregators: []record.Aggregator{{Name: "change", Value: -.5}},
		Partitions:  []record.Partition{partitionOf(0, 2, 2), partitionOf(1, 2, 2)},
	}
	s.Partitions[1].Sums = []record.Sum{{Exchange: "fold", Encoding: "all", Columns: 1, Messages: 2, Bytes: 3}}
	return s
}

// TestRecordsTellEverything compares sent with received records.
func TestRecordsTellEverything(t *testing.T) {
	for _, want := range []*record.Superstep{full(), {Partitions: make([]record.Partition, 1)}} {
		data, err := EncodeRecord(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeRecord(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("found %+v, %v, expected %+v", got, err, want)
		}
	}
	const many = MaxPaired + 2
	p := partitionOf(3, many, 1)
	SumPeers(&p)
	if len(p.Peers) != 0 || !reflect.DeepEqual(p.Sums, []record.Sum{
		{Exchange: "expand", Encoding: "bitmap", Columns: many / 2, Messages: many / 2 << 40, Bytes: many / 2 << 44},
		{Exchange: "expand", Encoding: "sparse", Columns: many / 2, Messages: many / 2 << 40, Bytes: many / 2 << 44},
	}) {
		t.Errorf("found %+v", p)
	}
}

// TestRecordsOfOthers: a record of another version is refused with the version's number. An
// impossible record is refused with its defect.
func TestRecordsOfOthers(t *testing.T) {
	data, err := EncodeRecord(full())
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(s *record.Superstep)) []byte {
		bad := full()
		change(bad)
		data, err := EncodeRecord(bad)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const noValue = "found a time, a count or a text that no run has"
	for _, c := range []struct {
		want string
		data []byte
	}{
		{"found version , expected 2", nil},
		{"found version 01, expected 2", append([]byte{1}, data[1:]...)},
		{"malformed msgpack", data[:len(data)-3]},
		{noValue, with(func(s *record.Superstep) { s.Partitions[1].Peers[0].Partition = -1 })},
		{noValue, with(func(s *record.Superstep) { s.Actual = math.NaN() })},
		{noValue, with(func(s *record.Superstep) { s.Seconds = math.MaxFloat64 })},
		{noValue, with(func(s *record.Superstep) { s.Partitions[0].GCPause = math.Inf(1) })},
		{"found NaN predicted", with(func(s *record.Superstep) { s.Predicted["pull"] = math.NaN() })},
		{noValue, with(func(s *record.Superstep) { s.Partitions[0].Messages = math.MaxInt })},
		{noValue, with(func(s *record.Superstep) { s.Scheme = "\xff" })},
		{noValue, with(func(s *record.Superstep) { s.Reason = strings.Repeat("x", 4097) })},
		{noValue, with(func(s *record.Superstep) { s.Partitions[0].Worker = "\xff" })},
		{noValue, with(func(s *record.Superstep) { s.Aggregators[0].Value = math.Inf(-1) })},
		{noValue, with(func(s *record.Superstep) { s.Aggregators[0].Value = math.NaN() })},
		{noValue, with(func(s *record.Superstep) { s.Aggregators[0].Name = strings.Repeat("x", 65) })},
		{noValue, with(func(s *record.Superstep) { s.Aggregators = make([]record.Aggregator, 9) })},
	} {
		if _, err := DecodeRecord(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("found %v, expected %q", err, c.want)
		}
	}
}

// FuzzDecodeRecord: no bytes cause a panic, and decoded records can be sent on.
func FuzzDecodeRecord(f *testing.F) {
	data, err := EncodeRecord(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := DecodeRecord(data); err == nil {
			if _, err := EncodeRecord(s); err != nil {
				t.Error(err)
			}
			if _, err := json.Marshal(s); err != nil { // as the page shows it
				t.Error(err)
			}
		}
	})
}

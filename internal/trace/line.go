package trace

import (
	"errors"
	"fmt"
)

// partitionLine is the form of a superstep's line, of one partition.
type partitionLine struct {
	Job       string             `json:"job"`
	Superstep int                `json:"superstep"`
	Phase     int                `json:"phase,omitempty"`
	Program   string             `json:"program,omitempty"`
	Partition int                `json:"partition"`
	Worker    string             `json:"worker,omitempty"`
	Scheme    string             `json:"scheme"`
	Delivery  string             `json:"delivery"`
	Active    int                `json:"active"`
	Senders   int                `json:"senders"`
	Receivers int                `json:"receivers"`
	Edges     int                `json:"edges"`
	Messages  int                `json:"messages"`
	Sent      int                `json:"messages_sent"`
	Requests  int                `json:"requests,omitempty"`
	Graph     *GraphSize         `json:"graph,omitempty"`
	Peers     []Peer             `json:"peers,omitempty"`
	Sums      []Sum              `json:"sums,omitempty"`
	Times     Seconds            `json:"seconds"`
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Actual    float64            `json:"actual,omitempty"`
	Reason    string             `json:"reason"`
	Memory    int64              `json:"memory,omitempty"`
	GCPause   float64            `json:"gc_pause"`
}

func (l *partitionLine) check() error {
	switch {
	case l.Job == "":
		return errors.New("found a superstep without a job")
	case l.Superstep < 0 || l.Superstep > maxSuperstep:
		return fmt.Errorf("found superstep %d, expected 0 or more", l.Superstep)
	case l.Phase < 0:
		return fmt.Errorf("found phase %d, expected 1 or more", l.Phase)
	case l.Partition < 0 || l.Partition > MaxPartition:
		return fmt.Errorf("found partition %d, expected 0 to %d", l.Partition, MaxPartition)
	case min(l.Active, l.Senders, l.Receivers, l.Edges, l.Messages, l.Sent, l.Requests) < 0 || l.Memory < 0:
		return errors.New("found a negative count")
	case min(l.Actual, l.GCPause) < 0:
		return errors.New("found a negative time")
	}
	for _, p := range l.Peers {
		if p.Partition < 0 || p.Partition > MaxPartition || min(p.Messages, p.Bytes) < 0 {
			return fmt.Errorf("found a peer %d with %d messages of %d bytes", p.Partition, p.Messages, p.Bytes)
		}
	}
	for _, x := range l.Sums {
		if min(x.Columns, x.Messages, x.Bytes) < 0 {
			return fmt.Errorf("found a sum of %d columns with %d messages of %d bytes", x.Columns, x.Messages, x.Bytes)
		}
	}
	for scheme, seconds := range l.Predicted {
		if seconds < 0 {
			return fmt.Errorf("found %g predicted seconds of %s", seconds, excerpt([]byte(scheme)))
		}
	}
	t := &l.Times
	if min(t.Expand, t.Traverse, t.Fold, t.Compute, t.Wait, t.Total) < 0 {
		return errors.New("found a negative time")
	}
	return nil
}

// add takes in the line of a partition. Lines of one superstep follow one another, by rising partition.
func (r *Reader) add(l *partitionLine, to Journal) error {
	s := &r.open
	if n := len(s.Partitions); n > 0 && (s.Job != l.Job || s.Superstep != l.Superstep || s.Partitions[n-1].Partition >= l.Partition) {
		if err := r.flush(to); err != nil {
			return err
		}
	}
	if len(s.Partitions) == 0 {
		*s = Superstep{
			Job: l.Job, Superstep: l.Superstep, Phase: l.Phase, Program: l.Program, Scheme: l.Scheme, Delivery: l.Delivery, Reason: l.Reason, Predicted: l.Predicted, Actual: l.Actual,
			Graph:      l.Graph,
			Partitions: s.Partitions,
		}
	}
	s.Seconds = max(s.Seconds, l.Times.Total)
	p := Partition{
		Partition: l.Partition, Worker: l.Worker, Computed: l.Active, Delivered: l.Senders, Receivers: l.Receivers, Walked: l.Edges,
		SenderEdges: l.Messages, Sent: l.Sent, Requests: l.Requests, Times: l.Times, Peers: l.Peers, Sums: l.Sums, Memory: l.Memory, GCPause: l.GCPause,
	}
	for i := range p.Peers {
		p.Bytes += p.Peers[i].Bytes
	}
	for i := range p.Sums {
		p.Bytes += p.Sums[i].Bytes
	}
	s.Partitions = append(s.Partitions, p)
	if len(s.Partitions) == r.partitions[l.Job] {
		return r.flush(to)
	}
	return nil
}

// flush passes on the superstep whose lines have come.
func (r *Reader) flush(to Journal) error {
	if len(r.open.Partitions) == 0 {
		return nil
	}
	err := to.Record(&r.open)
	clear(r.open.Partitions)
	r.open.Partitions = r.open.Partitions[:0]
	return err
}

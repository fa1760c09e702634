package trace

import (
	"errors"
	"fmt"
)

// partitionLine is what one partition did in a superstep. The lines of a superstep's partitions follow one another.
type partitionLine struct {
	Job       string             `json:"job"`                 // the run: the algorithm, on a cluster the job; of graph500 the kernel and its root
	Superstep int                `json:"superstep"`           // from 0
	Phase     int                `json:"phase,omitempty"`     // of a plan, from 1 in the order in which phases ran
	Program   string             `json:"program,omitempty"`   // of that phase
	Partition int                `json:"partition"`           // from 0
	Worker    string             `json:"worker,omitempty"`    // that has the partition, on a cluster
	Scheme    string             `json:"scheme"`              // none, naive, mirrored, pull; in a grid with both sides above 1 none, push, ring, pull
	Delivery  string             `json:"delivery"`            // none, push, pull
	Active    int                `json:"active"`              // vertices that ran
	Senders   int                `json:"senders"`             // vertices whose messages to all neighbours this superstep delivered
	Receivers int                `json:"receivers"`           // vertices that ran with a message
	Edges     int                `json:"edges"`               // walked to deliver these messages
	Messages  int                `json:"messages"`            // sent in this superstep, before combining, for the next one
	Sent      int                `json:"messages_sent"`       // values that went to other partitions
	Requests  int                `json:"requests,omitempty"`  // for changes of the graph, which the next superstep makes
	Graph     *GraphSize         `json:"graph,omitempty"`     // the whole graph after a superstep that changed it
	Peers     []Peer             `json:"peers,omitempty"`     // what went to each other partition
	Sums      []Sum              `json:"sums,omitempty"`      // what went to all others together, on a cluster with more than 64 partitions
	Times     Seconds            `json:"seconds"`             // by phase
	Predicted map[string]float64 `json:"predicted,omitempty"` // seconds of delivery by scheme, for the whole superstep
	Actual    float64            `json:"actual,omitempty"`    // seconds that delivery took: the superstep's without the program's own
	Reason    string             `json:"reason"`              // why this scheme was chosen
	Memory    int64              `json:"memory,omitempty"`    // resident bytes of the process after the superstep
	GCPause   float64            `json:"gc_pause"`            // seconds for which the garbage collector stopped the process
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

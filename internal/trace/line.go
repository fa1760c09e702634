package trace

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/record"
)

// check returns an error for a superstep that no run writes.
func check(s *record.Superstep) error {
	if s.Job == "" {
		return errors.New("found a superstep without a job")
	}
	return Check(s)
}

// Check returns an error for a superstep that no run records. It does not check the job.
func Check(s *record.Superstep) error {
	switch {
	case s.Superstep < 0 || s.Superstep > maxSuperstep:
		return fmt.Errorf("found superstep %d, expected 0 or more", s.Superstep)
	case s.Phase < 0:
		return fmt.Errorf("found phase %d, expected 1 or more", s.Phase)
	case min(s.Actual, s.Seconds) < 0:
		return errors.New("found a negative time")
	case len(s.Partitions) == 0:
		return errors.New("found a superstep without partitions")
	}
	for scheme, seconds := range s.Predicted {
		if seconds < 0 {
			return fmt.Errorf("found %g predicted seconds of %s", seconds, excerpt([]byte(scheme)))
		}
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if p.Partition > MaxPartition || p.Partition < 0 || i > 0 &&
			p.Partition <= s.Partitions[i-1].Partition {
			return fmt.Errorf("found partition %d, expected 0 to %d, in rising order", p.Partition,
				MaxPartition)
		}
		if err := checkPartition(p); err != nil {
			return fmt.Errorf("partition %d: %w", p.Partition, err)
		}
	}
	return nil
}

func checkPartition(p *record.Partition) error {
	if min(p.Computed, p.Delivered, p.Receivers, p.Walked, p.Messages, p.Sent, p.Bytes,
		p.Requests) < 0 || p.Memory < 0 {
		return errors.New("found a negative count")
	}
	t := &p.Times
	if min(p.GCPause, t.Expand, t.Traverse, t.Fold, t.Compute, t.Wait, t.Total) < 0 {
		return errors.New("found a negative time")
	}
	for _, q := range p.Peers {
		if q.Partition < 0 || q.Partition > MaxPartition || min(q.Messages, q.Bytes) < 0 {
			return fmt.Errorf("found a peer %d with %d messages of %d bytes", q.Partition,
				q.Messages, q.Bytes)
		}
	}
	for _, x := range p.Sums {
		if min(x.Columns, x.Messages, x.Bytes) < 0 {
			return fmt.Errorf("found a sum of %d columns with %d messages of %d bytes", x.Columns,
				x.Messages, x.Bytes)
		}
	}
	return nil
}

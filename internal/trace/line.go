package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/superstep-go/superstep/record"
)

// check returns an error for a superstep that no run writes.
func check(s *record.Superstep) error {
	if s.Job == "" {
		return errors.New("found a superstep without a job")
	}
	return Check(s)
}

// Bounds of a record: of each text in bytes, of each time in seconds, and of each count.
const (
	maxText    = 4 << 10
	maxSeconds = 1e9
	maxCount   = 1 << 46 // sums over all partitions do not overflow
)

// errValue is the error for a record with a value out of these bounds.
var errValue = errors.New("found a time, a count or a text that no run has")

// Check returns an error for a superstep that no run records. It does not check the job.
func Check(s *record.Superstep) error {
	switch {
	case s.Superstep < 0 || s.Superstep > maxSuperstep:
		return fmt.Errorf("found superstep %d, expected 0 or more", s.Superstep)
	case s.Phase < 0:
		return fmt.Errorf("found phase %d, expected 1 or more", s.Phase)
	case len(s.Partitions) == 0:
		return errors.New("found a superstep without partitions")
	case !within(maxSeconds, s.Actual, s.Seconds) ||
		!texts(s.Job, s.Program, s.Scheme, s.Delivery, s.Reason) ||
		len(s.Aggregators) > record.MaxAggregators || slices.ContainsFunc(s.Aggregators, wrong):
		return errValue
	}
	for scheme, seconds := range s.Predicted {
		if !within(maxSeconds, seconds) || !texts(scheme) {
			return fmt.Errorf("found %g predicted seconds of %s", seconds, excerpt(scheme))
		}
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if !within(MaxPartition, p.Partition) || i > 0 &&
			p.Partition <= s.Partitions[i-1].Partition {
			return fmt.Errorf("found partition %d, expected 0 to %d, in rising order", p.Partition,
				MaxPartition)
		}
		if !possible(p) {
			return fmt.Errorf("partition %d: %w", p.Partition, errValue)
		}
	}
	return nil
}

// wrong reports whether no run may have recorded an aggregator.
func wrong(a record.Aggregator) bool {
	return len(a.Name) > record.MaxAggregatorName || !texts(a.Name) ||
		!within(math.MaxFloat64, math.Abs(a.Value))
}

// within reports whether all numbers are from 0 to most.
func within[T int | int64 | float64](most T, all ...T) bool {
	return !slices.ContainsFunc(all, func(x T) bool { return !(x >= 0 && x <= most) })
}

// texts reports whether all texts are short UTF-8.
func texts(all ...string) bool {
	return !slices.ContainsFunc(all,
		func(s string) bool { return len(s) > maxText || !utf8.ValidString(s) })
}

// possible reports whether a run may have recorded a partition.
func possible(p *record.Partition) bool {
	t := &p.Times
	return within(maxCount, p.Computed, p.Delivered, p.Receivers, p.Walked, p.Messages, p.Sent,
		p.Bytes, p.Requests) && within(maxCount, p.Memory) && texts(p.Worker) &&
		within(maxSeconds, p.GCPause, t.Expand, t.Traverse, t.Fold, t.Compute, t.Wait, t.Total) &&
		!slices.ContainsFunc(p.Peers, func(q record.Peer) bool {
			return !within(MaxPartition, q.Partition) || !within(maxCount, q.Messages, q.Bytes) ||
				!texts(q.Exchange, q.Encoding)
		}) && !slices.ContainsFunc(p.Sums, func(x record.Sum) bool {
		return !within(maxCount, x.Columns, x.Messages, x.Bytes) || !texts(x.Exchange, x.Encoding)
	})
}

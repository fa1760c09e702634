package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

const (
	maxKept      = 1000     // supersteps of a run that Keep encodes
	maxKeptBytes = 64 << 20 // of a record before it is compressed
)

// kept is a run as it outlives its process: without the details of its partitions.
type kept struct {
	Job        Job
	Account    json.RawMessage
	Steps      []*trace.Step
	Totals     []record.Partition
	Matrix     Matrix
	Partitions int
	Encoded    []record.Sum
	Report     string
}

// Keep encodes the run of a name and those of its searches, for Restore. The bytes have a checksum.
// They are nil if there is no such run, or it has not ended.
func (s *Store) Keep(name string) []byte {
	s.mu.Lock()
	of := s.last[name]
	if of == nil || !of.ended() {
		s.mu.Unlock()
		return nil
	}
	var all []kept
	for _, j := range s.jobs {
		if j == of || j.of == of {
			k := kept{
				j.Job, j.Summary.Account(j.Began), nil, slices.Clone(j.totals), j.matrix.copied(),
				j.matrix.partitions, slices.Clone(j.encoded), j.report,
			}
			k.Steps, k.Job.Every = thinned(j.steps)
			all = append(all, k)
		}
	}
	s.mu.Unlock()
	data, err := json.Marshal(all)
	if err != nil || len(data) > maxKeptBytes {
		return nil // a figure that is no number; the list still has the run
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil
	}
	return w.EncodeAll(data, nil)
}

// thinned returns the slowest of each so many supersteps in a row, so that there are at most
// maxKept.
func thinned(steps []*trace.Step) (some []*trace.Step, every int) {
	every = max(1, (len(steps)+maxKept-1)/maxKept)
	for part := range slices.Chunk(steps, every) {
		some = append(some, slices.MaxFunc(part, func(a, b *trace.Step) int { return cmp.Compare(a.Times.Total, b.Times.Total) }))
	}
	return some, every
}

// Restore adds what Keep has encoded to a run that has ended and has nothing but its end. It does
// nothing if that run is not listed, or there is no room.
func (s *Store) Restore(data []byte) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxKeptBytes), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer r.Close()
	if data, err = r.DecodeAll(data, nil); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	var all []kept
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(data) > s.most {
		return nil
	}
	var of *job
	for i := range all {
		k := &all[i]
		name := k.Job.Job.Job
		j := s.last[name]
		switch {
		case i > 0: // a search
			j = &job{of: of}
			s.jobs = slices.Insert(s.jobs, slices.Index(s.jobs, of)+i, j)
			s.last[name], s.searches = j, s.searches+1
		case j == nil || !j.ended() || j.Every > 0:
			return nil
		default:
			of = j
		}
		j.restore(k)
		s.bytes += j.bytes() - j.counted
		j.counted = j.bytes()
		s.ring.put("job", j.ID, j.Job)
	}
	return nil
}

// restore takes in what Keep has encoded.
func (j *job) restore(k *kept) {
	j.Job = k.Job
	j.Summary, _ = Before(k.Account)
	j.steps, j.totals, j.encoded, j.report = k.Steps, k.Totals, k.Encoded, k.Report
	j.matrix = matrix{k.Matrix, k.Partitions}
}

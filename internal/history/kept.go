package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// maxKept is how many supersteps of a run Keep encodes.
const maxKept = 1000

// Keep encodes the run of a name and those of its searches, without the details of partitions, for
// Restore. The bytes have a checksum. They are nil if there is no such run, or it has not ended.
func (s *Store) Keep(name string) []byte {
	s.mu.Lock()
	of := s.last[name]
	var all []lasting
	for _, j := range s.jobs {
		if of != nil && of.ended() && (j == of || j.of == of) {
			all = append(all, j.lasting)
		}
	}
	s.mu.Unlock()
	for i := range all {
		k := &all[i]
		k.Job = k.worded()
		if n := len(k.Steps); n > maxKept {
			k.Steps = k.Steps[n-maxKept:]
			k.Said = append(k.Said, fmt.Sprintf("supersteps: the newest %d of %d are kept", maxKept, n))
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if len(all) == 0 || json.NewEncoder(w).Encode(all) != nil || w.Close() != nil {
		return nil // there is none, or it has a figure that is no number
	}
	return packed.Bytes()
}

// Restore lists the runs that Keep has encoded before all others, unless they are listed, or there
// is no room.
func (s *Store) Restore(data []byte) error {
	var all []lasting
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, int64(s.most)))
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil || len(all) == 0 {
		return fmt.Errorf("it is damaged, or too large: %w", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[all[0].Job.Job.Job] != nil || s.bytes+len(data) > s.most {
		return nil
	}
	jobs := make([]*job, len(all))
	for i, k := range all {
		j := &job{lasting: k}
		if i > 0 {
			j.of = jobs[0]
			s.searches++
		}
		j.counted = j.bytes()
		s.bytes += j.counted
		jobs[i], s.last[j.Job.Job.Job] = j, j
		s.ring.put("job", j.ID, j.Job)
	}
	s.jobs = slices.Insert(s.jobs, 0, jobs...)
	return nil
}

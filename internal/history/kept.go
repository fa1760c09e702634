package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// Bounds of what Keep encodes: supersteps per run, supersteps of a job and its searches together,
// searches of a job, and bytes in total. The newest are kept.
const (
	maxKeptSteps    = 1000
	maxAllKept      = 10 * maxKeptSteps
	maxKeptSearches = 256
	MaxKept         = 16 << 20
)

// Keep encodes an ended job and its searches, without details of partitions, for Restore. The bytes
// include their length and a checksum.
func (s *Store) Keep(name string) ([]byte, error) {
	s.mu.Lock()
	of := s.last[name]
	if of == nil || !of.ended() {
		s.mu.Unlock()
		return nil, fmt.Errorf("%w, or it has not ended", &NoJob{name})
	}
	all := []lasting{of.lasting}
	for _, j := range s.jobs {
		if j.of == of {
			all = append(all, j.lasting)
		}
	}
	s.mu.Unlock()
	all = slices.Delete(all, 1, max(1, len(all)-maxKeptSearches))
	most := min(maxKeptSteps, maxAllKept/len(all))
	for i := range all {
		k := &all[i]
		k.Job = k.worded()
		if n := len(k.Steps); n > most {
			k.Steps = k.Steps[n-most:]
			k.Said = append(k.Said,
				fmt.Sprintf("supersteps: the newest %d of %d are kept", most, n))
		}
	}
	data, err := json.Marshal(all) // fails if a figure is NaN or infinite
	if err == nil && len(data) > MaxKept {
		err = fmt.Errorf("found %d bytes, expected at most %d", len(data), MaxKept)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(data)
	_ = w.Close() // a Buffer cannot fail
	return packed.Bytes(), err
}

// Restore adds the result of Keep to an ended job in the list, and lists its searches. It reports
// whether there is room for more.
func (s *Store) Restore(name string, data []byte) (more bool, err error) {
	var all []lasting
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, MaxKept+1))
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err == nil && (len(all) == 0 || all[0].Job.Job.Job != name ||
		slices.ContainsFunc(all, func(k lasting) bool { return slices.Contains(k.Steps, nil) })) {
		err = errors.New("it belongs to another job, or has no supersteps")
	}
	if err != nil {
		return true, fmt.Errorf("the record is damaged: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.jobs, func(j *job) bool { return j.Job.Job.Job == name && j.ended() })
	if at < 0 {
		return true, nil // it was discarded
	}
	of, listed := s.jobs[at], s.jobs[at].Job
	if all[0].State != listed.State {
		return true, fmt.Errorf("the record is of a job that is %.20s", all[0].State)
	}
	of.lasting = all[0]
	of.ID, of.Error = listed.ID, listed.Error
	of.Submitted, of.Finished = listed.Submitted, listed.Finished
	searches := make([]*job, len(all)-1)
	for i, k := range all[1:] {
		k.Of = of.ID
		searches[i] = &job{lasting: k, of: of}
		s.last[k.Job.Job.Job] = searches[i]
	}
	s.searches += len(searches)
	s.jobs = slices.Insert(s.jobs, at+1, searches...)
	for _, j := range s.jobs[at : at+len(all)] {
		s.measure(j)
		s.ring.put("job", j.ID, j.Job)
	}
	return s.bytes < s.most && s.searches < maxSearches, nil
}

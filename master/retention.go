package master

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// Default bounds of the age and total size of stored results.
const (
	keepResults     = 7 * 24 * time.Hour
	keepResultBytes = 10e9
)

// maxResults bounds the number of stored results.
const maxResults = maxEnded

// withResults returns the jobs with a stored result, in the order in which they ended. total is the
// size of these results, owned the size by owner. The caller holds the lock.
func (s *server) withResults() (all []*job, total int64, owned map[string]int64) {
	owned = map[string]int64{}
	for _, j := range s.cluster.order {
		if j.stored != nil {
			all = append(all, j)
			total += j.storedBytes()
			owned[j.owner] += j.storedBytes()
		}
	}
	slices.SortStableFunc(all, func(a, b *job) int { return cmp.Compare(a.ended, b.ended) })
	return all, total, owned
}

// storedBytes returns the size of the job's stored result.
func (j *job) storedBytes() (n int64) {
	for _, part := range j.stored {
		n += int64(part.Bytes)
	}
	return n
}

// expireResults removes results that are too old. While all results are too large or too many, or
// those of an owner exceed its quota, it removes the oldest. It keeps results that a client is
// reading, all results during a backup, and the newest one unless that is too old. The caller holds
// the lock.
func (s *server) expireResults() {
	o, now := s.options, s.options.Now()
	all, total, owned := s.withResults()
	number := len(all)
	for i, j := range all {
		size, ended, why := j.storedBytes(), s.start.Add(j.ended), ""
		quota := s.cluster.quotas.of(j.owner).ResultBytes
		switch {
		case s.backingUp || s.reading[j.id] > 0:
		case now.Sub(ended) > o.KeepResults:
			why = fmt.Sprintf("results are kept for %v", o.KeepResults)
		case i == len(all)-1:
		case quota > 0 && owned[j.owner] > quota:
			why = fmt.Sprintf("results of %d bytes are kept of %s, by quota", quota, j.owner)
		case total > o.KeepResultBytes:
			why = fmt.Sprintf("results of %d bytes are kept", o.KeepResultBytes)
		case number > maxResults:
			why = fmt.Sprintf("%d results are kept", maxResults)
		}
		if why == "" {
			continue
		}
		s.log.Info("result removed", "job", j.id, "bytes", size, "ended", ended, "reason", why)
		number, total, owned[j.owner] = number-1, total-size, owned[j.owner]-size
		j.stored = nil
		s.cluster.changed = append(s.cluster.changed, change{job: j.id})
		s.results.remove(j.id)
	}
}

// hasResult reports whether a job's result is stored, or may still be written.
func (s *server) hasResult(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.cluster.jobs[id]
	return j != nil && (j.stored != nil || !j.state.Ended())
}

// read prevents the removal of a job's result until done is called.
func (s *server) read(id string) (done func()) {
	count := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reading[id] += n; s.reading[id] == 0 {
			delete(s.reading, id)
		}
	}
	count(1)
	return func() { count(-1) }
}

// removed is the error for a result that is no longer stored.
func (s *server) removed(j *control.Job) error {
	return absent("the result of job %s is gone, or could not be stored: the master keeps "+
		"results for %v, and at most %d bytes of them, or less of one owner (--keep-results, "+
		"--keep-result-bytes, --quota)", j.Id, s.options.KeepResults, s.options.KeepResultBytes)
}

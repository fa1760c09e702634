package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/store"
)

// Records of jobs that have ended lie beside the state, for the page of the next master:
//
//	DATA/state/runs/NNNN or PLACE/master/runs/NNNN: what history.Store.Keep returned
//
// NNNN is the job's number modulo maxRuns: a record takes the place of that of a much older job.
const maxRuns = 2 * maxEnded

func runName(number uint64) string { return fmt.Sprintf("runs/%04d", number%maxRuns) }

// keepRun writes the record of an ended job in the background. It skips a forgotten job, because a
// newer job may have a record of the same name.
func (s *server) keepRun(j *job) {
	if s.state == nil || s.options.History == nil || s.cluster.jobs[j.id] != j {
		return
	}
	name := runName(j.number)
	s.results.atDisk.Go(func() {
		data, err := s.options.History.Keep(j.id)
		if err == nil && s.held() { // otherwise another master leads
			to := patient(s.state.Store)
			err = to.Put(context.Background(), name, bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			s.log.Warn("the next master will not show the supersteps of a job", "job", j.id,
				"error", err)
		}
	})
}

// restoreRuns loads the supersteps of earlier jobs for the page, newest first, while there is room.
// It stops after three consecutive failures of the store.
func (s *server) restoreRuns() {
	from, failures := patient(s.state.Store), 0
	for _, j := range slices.Backward(s.past) {
		if j.number+maxRuns <= s.past[len(s.past)-1].number {
			return // records of later jobs have taken the place
		}
		more := true
		data, err := store.Get(s.ctx, from, runName(j.number), 2*history.MaxKept)
		switch failures++; {
		case err == nil:
			failures = 0
			more, err = s.options.History.Restore(j.id, data)
		case errors.Is(err, fs.ErrNotExist):
			failures, err = 0, nil
		}
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("the page does not show the supersteps of a job", "job", j.id, "record",
				runName(j.number), "error", err)
		}
		if s.ctx.Err() != nil || !more || failures == 3 {
			return
		}
	}
}

package master

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/store"
)

// Records of jobs that have ended lie beside the state, for the page of the next master:
//
//	DATA/state/runs/JOB or PLACE/master/runs/JOB: what Master.Keep returned
const (
	runsPrefix   = "runs/"
	maxRunRecord = 16 << 20
)

// keepRun writes the record of a job that has ended, or removes that of one that is forgotten. It
// does not wait for the disk.
func (s *server) keepRun(id string) {
	if s.state == nil || s.options.Keep == nil {
		return
	}
	s.results.then(runsPrefix+id, func() {
		s.mu.Lock()
		known := s.cluster.jobs[id] != nil
		s.mu.Unlock()
		var err error
		to, ctx := patient(s.state.Store), context.Background()
		switch data := s.options.Keep(id); {
		case !s.held(): // another master leads
		case !known:
			err = to.Delete(ctx, runsPrefix+id)
		case data != nil:
			err = to.Put(ctx, runsPrefix+id, bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			s.log.Warn("the page of the next master may not show a job", "job", id, "error", err)
		}
	})
}

// restoreRuns has the page show the jobs that ended before, read newest first, and removes records
// that nobody wants.
func (s *server) restoreRuns() {
	from := patient(s.state.Store)
	s.mu.Lock()
	order := slices.Clone(s.cluster.order)
	s.mu.Unlock()
	for _, id := range slices.Backward(order) {
		data, err := store.Get(s.ctx, from, runsPrefix+id, maxRunRecord)
		if err == nil {
			err = s.options.ShowAgain(data)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the page does not show a job of before", "job", id, "error", err)
		}
	}
	for o, err := range from.List(s.ctx, runsPrefix) {
		id := strings.TrimPrefix(o.Name, runsPrefix)
		if err == nil && !slices.Contains(order, id) { // else they stay
			s.keepRun(id)
		}
	}
}

package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// Limits of work on results for the page.
const (
	maxSurveys = 32 // kept in memory
	// surveyWait is how long a request waits for a survey, so that the first answer has the survey
	// of a small result.
	surveyWait = 300 * time.Millisecond
	findTime   = 20 * time.Second // to find a vertex
	maxFinds   = 4                // at a time
)

// surveys summarizes results, one at a time, and keeps the summaries: the result of a finished job
// does not change.
type surveys struct {
	closing <-chan struct{}
	turn    chan struct{} // one token, for the survey that reads
	finds   chan struct{} // a token for each search for a vertex

	mu   sync.Mutex
	kept []*survey // oldest first
}

// survey is the summary of a job's result. result or err is set when done is closed.
type survey struct {
	job    string
	read   atomic.Int64 // bytes; the survey reads the result twice
	done   chan struct{}
	ended  bool // the reading has ended; under the lock of surveys
	result *resultlines.Survey
	err    error
}

func newSurveys(closing <-chan struct{}) *surveys {
	return &surveys{closing: closing, turn: make(chan struct{}, 1), finds: make(chan struct{}, maxFinds)}
}

// resultReader reads a result from its beginning.
type resultReader = func(ctx context.Context, each func(data []byte) error) error

// errRead stops the reading of a result early.
var errRead = errors.New("no more of the result is wanted")

var (
	errClosing = &refusal{http.StatusServiceUnavailable, "the server ends"}
	errBusy    = refuse(http.StatusServiceUnavailable,
		"%d results are being read already: try again", maxSurveys)
	errFindsBusy = refuse(http.StatusServiceUnavailable,
		"%d vertices are being looked for already: try again", maxFinds)
	errFindsLong = refuse(http.StatusServiceUnavailable,
		"it takes longer than %v to find: download the result", findTime)
	errNoVertex   = &refusal{http.StatusBadRequest, "expected ?vertex=, an id or a name"}
	errLongVertex = refuse(http.StatusBadRequest, "expected a vertex of at most %d bytes", maxBody)
)

// of returns the survey of a job's result, and begins it if there is none. ctx has the caller's
// identity. The survey goes on when ctx ends.
func (s *surveys) of(
	ctx context.Context, job string, form resultlines.Form, read resultReader,
) (*survey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.kept {
		if v.job == job {
			return v, nil
		}
	}
	if len(s.kept) == maxSurveys {
		i := slices.IndexFunc(s.kept, func(v *survey) bool { return v.ended })
		if i < 0 {
			return nil, errBusy
		}
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	v := &survey{job: job, done: make(chan struct{})}
	s.kept = append(s.kept, v)
	go s.run(context.WithoutCancel(ctx), v, form, read)
	return v, nil
}

// run reads the result. If it fails, it forgets the survey, so that another call can try again.
func (s *surveys) run(ctx context.Context, v *survey, form resultlines.Form, read resultReader) {
	defer close(v.done)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		v.result, v.err = resultlines.NewSurvey(form, func(each func(data []byte) error) error {
			return read(ctx, func(data []byte) error {
				select {
				case <-s.closing:
					return errClosing
				default:
				}
				v.read.Add(int64(len(data)))
				return each(data)
			})
		})
	case <-s.closing:
		v.err = errClosing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.ended = true; v.err != nil {
		s.kept = slices.DeleteFunc(s.kept, func(o *survey) bool { return o == v })
	}
}

// reading is the answer while a survey reads.
type reading struct {
	Read int64 `json:"read"` // bytes
}

// begun returns the format of a job's result and its reader, if the caller may read it.
func (s *Site) begun(r *http.Request) (resultlines.Form, resultReader, error) {
	id := r.PathValue("job")
	read := func(ctx context.Context, each func(data []byte) error) error {
		return s.source.Result(ctx, id, each)
	}
	err := read(r.Context(), func([]byte) error { return errRead })
	if err != nil && !errors.Is(err, errRead) {
		return resultlines.Form{}, nil, err
	}
	form, err := s.source.form(id)
	return form, read, err
}

// values answers with the survey of a job's result, or with its progress.
func (s *Site) values(w http.ResponseWriter, r *http.Request) {
	form, read, err := s.begun(r)
	if failed(w, err) {
		return
	}
	v, err := s.surveys.of(r.Context(), r.PathValue("job"), form, read)
	if failed(w, err) {
		return
	}
	patience := time.NewTimer(surveyWait)
	defer patience.Stop()
	select {
	case <-v.done:
		if v.err != nil {
			fail(w, v.err)
			return
		}
		reply(w, http.StatusOK, v.result)
	case <-patience.C:
		reply(w, http.StatusAccepted, reading{v.read.Load()})
	case <-r.Context().Done():
	}
}

// value answers with the value of a vertex, which it searches for in the result.
func (s *Site) value(r *http.Request) (any, error) {
	vertex := r.URL.Query().Get("vertex")
	switch {
	case vertex == "":
		return nil, errNoVertex
	case len(vertex) > maxBody:
		return nil, errLongVertex
	}
	form, read, err := s.begun(r)
	if err != nil {
		return nil, err
	}
	select {
	case s.surveys.finds <- struct{}{}:
		defer func() { <-s.surveys.finds }()
	default:
		return nil, errFindsBusy
	}
	end := time.Now().Add(findTime)
	row, found, err := resultlines.Find(form, vertex, func(each func(data []byte) error) error {
		return read(r.Context(), func(data []byte) error {
			if err := r.Context().Err(); err != nil {
				return err
			}
			if time.Now().After(end) {
				return errFindsLong
			}
			return each(data)
		})
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, refuse(http.StatusNotFound, "the result has no vertex %.80q", vertex)
	}
	return struct {
		Fields []string `json:"fields"`
		resultlines.Row
	}{form.Names(), row}, nil
}

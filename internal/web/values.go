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

// Bounds on what is done with results for the page.
const (
	maxSurveys = 32 // that are kept
	// surveyWait is how long an answer waits for a survey, to have it at once where the result is
	// small.
	surveyWait = 300 * time.Millisecond
	findTime   = 20 * time.Second // to find a vertex
	maxFinds   = 4                // at a time
)

// surveys sums up results, one at a time, and keeps what came of it. What a job that is done has
// computed does not change.
type surveys struct {
	closing <-chan struct{}
	turn    chan struct{} // a token for the one that reads
	finds   chan struct{} // a token for each that looks for a vertex

	mu   sync.Mutex
	kept []*survey // oldest first
}

// survey is one of a job's result. Once done is closed result or err is there.
type survey struct {
	job    string
	read   atomic.Int64 // bytes, twice what the result has in the end
	done   chan struct{}
	ended  bool // it is there, or about to be; under the lock of surveys
	result *resultlines.Survey
	err    error
}

func newSurveys(closing <-chan struct{}) *surveys {
	return &surveys{closing: closing, turn: make(chan struct{}, 1), finds: make(chan struct{}, maxFinds)}
}

// resultReader reads a result from its beginning.
type resultReader = func(ctx context.Context, each func(data []byte) error) error

// errRead ends the reading of a result of which no more is wanted.
var errRead = errors.New("no more of the result is wanted")

var (
	errClosing    = &refusal{http.StatusServiceUnavailable, "the server ends"}
	errBusy       = refuse(http.StatusServiceUnavailable, "%d results are being read already: try again", maxSurveys)
	errFindsBusy  = refuse(http.StatusServiceUnavailable, "%d vertices are being looked for already: try again", maxFinds)
	errFindsLong  = refuse(http.StatusServiceUnavailable, "it takes longer than %v to find: download the result", findTime)
	errNoVertex   = &refusal{http.StatusBadRequest, "expected ?vertex=, an id or a name"}
	errLongVertex = refuse(http.StatusBadRequest, "expected a vertex of at most %d bytes", maxBody)
)

// of returns the survey of a job's result, and begins it if it is not there. ctx says who asks; its
// end does not end the survey.
func (s *surveys) of(ctx context.Context, job string, form resultlines.Form, read resultReader) (*survey, error) {
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

// run reads the result. One that cannot be read is forgotten, to be tried again.
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

// reading is how far a survey is that is under way.
type reading struct {
	Read int64 `json:"read"` // bytes
}

// begun returns how a job's result reads, if the caller may read it and it is there: by its first
// bytes.
func (s *Site) begun(r *http.Request) (resultlines.Form, resultReader, error) {
	id := r.PathValue("job")
	read := func(ctx context.Context, each func(data []byte) error) error {
		return s.source.Result(ctx, id, each)
	}
	named := false
	err := read(r.Context(), func(data []byte) error {
		named = resultlines.HasNames(data)
		return errRead
	})
	if err != nil && !errors.Is(err, errRead) {
		return resultlines.Form{}, nil, err
	}
	form, err := s.source.form(id, named)
	return form, read, err
}

// values answers with the survey of a job's result, or how far it is.
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
		reply(w, r, http.StatusOK, v.result)
	case <-patience.C:
		reply(w, r, http.StatusAccepted, reading{v.read.Load()})
	case <-r.Context().Done():
	}
}

// value answers with the value of a vertex, which it looks for.
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

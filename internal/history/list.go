package history

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// Query selects runs. The zero Query selects all, oldest first.
type Query struct {
	States []string // if not empty, the states
	// Program and Graph are parts of names. Text is a part of the run's name, program, graph, owner
	// or error. Case does not matter.
	Program, Graph, Text string
	// Of, if not nil, is the id of the job whose searches are selected. If it is empty, searches
	// are left out.
	Of *string
	// Near, if not empty, is the id of a run that is selected, with the runs listed before and
	// after it.
	Near string
	// Within, if not 0, selects runs that ended since this time ago.
	Within time.Duration
	// Sort is a key of Orders, with - in front for the reverse order.
	Sort string
	// From is the index of the first run to return, and Most, if not 0, their greatest number.
	From, Most int
}

// Orders compare runs. Those without an order keep the order of the list.
var Orders = map[string]func(a, b *Job) int{
	"":           nil,
	"began":      func(a, b *Job) int { return cmp.Compare(start(a), start(b)) },
	"finished":   func(a, b *Job) int { return a.Finished.Compare(b.Finished) },
	"job":        func(a, b *Job) int { return number(a) - number(b) },
	"graph":      func(a, b *Job) int { return strings.Compare(a.Graph, b.Graph) },
	"supersteps": func(a, b *Job) int { return a.Supersteps - b.Supersteps },
	"seconds":    func(a, b *Job) int { return cmp.Compare(a.Seconds, b.Seconds) },
	"messages":   func(a, b *Job) int { return a.Messages - b.Messages },
	"turn": func(a, b *Job) int {
		return cmp.Or(min(len(b.Lost), 1)-min(len(a.Lost), 1), priority(b)-priority(a),
			number(a)-number(b))
	},
}

// start returns the nanoseconds of the time at which a run began, or was submitted. A run that has
// no such time is the last.
func start(j *Job) int64 {
	switch {
	case !j.Began.IsZero():
		return j.Began.UnixNano()
	case j.State != trace.Queued && !j.Submitted.IsZero():
		return j.Submitted.UnixNano()
	}
	return math.MaxInt64
}

// number returns the number at the end of a run's id. Later runs have greater numbers.
func number(j *Job) int {
	n, _ := strconv.Atoi(j.ID[len(strings.TrimRight(j.ID, "0123456789")):])
	return n
}

// priority returns a waiting job's priority. It rises like that of the master's queue: by one every
// ten minutes.
func priority(j *Job) int {
	asked := map[string]int{"low": -1, "high": 1}[j.Priority]
	return min(asked+int(time.Since(j.Submitted)/(10*time.Minute)), 1)
}

// selects reports whether the query selects a run. It ignores Near.
func (q *Query) selects(j *Job, now time.Time) bool {
	within := func(text, part string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimSpace(part)))
	}
	text := strings.Join([]string{j.Job.Job, j.Program, j.Graph, j.Owner, j.Error}, "\n")
	return (len(q.States) == 0 || slices.Contains(q.States, j.State)) &&
		(q.Of == nil || *q.Of == j.Of) && (q.Within == 0 || now.Sub(j.Finished) < q.Within) &&
		within(j.Program, q.Program) && within(j.Graph, q.Graph) && within(text, q.Text)
}

// List returns the selected runs, and their number without From and Most.
func (s *Store) List(q *Query) (page []Job, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, now := []*job{}, time.Now()
	for _, j := range s.jobs {
		if q.selects(&j.Job, now) {
			all = append(all, j)
		}
	}
	by, reverse := strings.CutPrefix(q.Sort, "-")
	if compare := Orders[by]; compare != nil {
		slices.SortStableFunc(all, func(a, b *job) int { return compare(&a.Job, &b.Job) })
	}
	if reverse {
		slices.Reverse(all)
	}
	if q.Near != "" {
		at := slices.IndexFunc(all, func(j *job) bool { return j.ID == q.Near })
		all = all[max(at-1, 0):min(max(at+2, 0), len(all))]
		if at < 0 {
			all = nil
		}
	}
	total = len(all)
	all = all[min(q.From, total):]
	if q.Most > 0 {
		all = all[:min(q.Most, len(all))]
	}
	page = make([]Job, 0, len(all))
	for _, j := range all {
		page = append(page, s.shown(j))
	}
	return page, total
}

package history

import (
	"strconv"
	"strings"
)

// maxEvents is how many events are kept for readers that reconnect. A reader that is farther behind
// has to read everything again.
const maxEvents = 4096

// Event is an update for readers. Kind is job, gone, step, stage or log. Data is a Job, nil, a
// *trace.Step, a trace.Stage or a trace.Log, which must not be changed.
type Event struct {
	Number uint64
	Kind   string
	Job    string // id of the job, or ""
	Data   any
}

// ring holds the newest events. Event n is at n mod maxEvents.
type ring struct {
	events  []Event
	next    uint64
	changed chan struct{} // closed when there are more events
	watched bool          // a reader waits for changed
}

func (r *ring) put(kind, job string, data any) {
	e := Event{r.next, kind, job, data}
	if len(r.events) < maxEvents {
		r.events = append(r.events, e)
	} else {
		r.events[r.next%maxEvents] = e
	}
	r.next++
	if r.watched {
		close(r.changed)
		r.changed, r.watched = make(chan struct{}), false
	}
}

// Cursor is a position in a Store's events, as text. The empty Cursor is the end.
type Cursor string

// Events returns the events after a cursor, the next cursor, and a channel that is closed when
// there are more. lost means that events in between were discarded, or that the cursor is from
// another process. The reader then has to read everything again.
func (s *Store) Events(after Cursor) (all []Event, next Cursor, more <-chan struct{}, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	r.watched = true
	from, known := s.number64(after)
	switch {
	case after == "":
		from = r.next
	case !known || from > r.next || r.next-from > uint64(len(r.events)):
		from, lost = r.next, true
	}
	for ; from < r.next; from++ {
		e := r.events[from%maxEvents]
		if j, ok := e.Data.(Job); ok {
			e.Data = j.worded()
		}
		all = append(all, e)
	}
	return all, s.cursor(r.next), r.changed, lost
}

// Cursor returns the position after an event.
func (s *Store) Cursor(e Event) Cursor { return s.cursor(e.Number + 1) }

func (s *Store) cursor(n uint64) Cursor { return Cursor(s.epoch + "-" + strconv.FormatUint(n, 10)) }

// number64 returns the number of the event after a cursor.
func (s *Store) number64(c Cursor) (uint64, bool) {
	epoch, text, ok := strings.Cut(string(c), "-")
	if !ok || epoch != s.epoch {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

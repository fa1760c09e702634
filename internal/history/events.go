package history

import (
	"strconv"
	"strings"
)

// maxEvents is how many events are kept for readers that come back: a reader farther behind reads
// everything anew.
const maxEvents = 4096

// Event is something new. Kind is job, gone, step, stage or log; Data is a Job, nothing, a
// *trace.Step, a trace.Stage or a trace.Log, and must not be changed.
type Event struct {
	Number uint64
	Kind   string
	Job    string // whose it is, or none's
	Data   any
}

// ring holds the newest events. Event n is at n mod maxEvents.
type ring struct {
	events  []Event
	next    uint64
	changed chan struct{} // closed when there is more
	watched bool          // somebody waits for changed
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

// Cursor is a place in a Store's events, as text. The empty one is the end.
type Cursor string

// Events returns what came after a cursor, the cursor after it, and a channel that is closed when
// there is more. Lost says that events between are not kept any more, or were another process's:
// the reader must read all anew.
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

// Cursor returns the place after an event.
func (s *Store) Cursor(e Event) Cursor { return s.cursor(e.Number + 1) }

func (s *Store) cursor(n uint64) Cursor { return Cursor(s.epoch + "-" + strconv.FormatUint(n, 10)) }

// number64 returns the number of the event that a cursor stands before.
func (s *Store) number64(c Cursor) (uint64, bool) {
	epoch, text, ok := strings.Cut(string(c), "-")
	if !ok || epoch != s.epoch {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
)

const (
	// eventsEvery is the least time between two batches of events to a reader.
	eventsEvery = 100 * time.Millisecond
	// heartbeat is the time between comments in a quiet stream. They keep it open, and detect
	// readers that are gone.
	heartbeat = 15 * time.Second
	// eventsTimeout limits the time to send a batch.
	eventsTimeout = 10 * time.Second
)

// events streams new events (server-sent events). A reader that reconnects sends the id of its last
// event in Last-Event-ID. A reader that was away for too long gets the event reset, and must read
// everything again.
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	done, err := s.streams.begin(r)
	if failed(w, err) {
		return
	}
	defer done()
	after := history.Cursor(r.Header.Get("Last-Event-ID"))
	if len(after) > 64 || strings.ContainsAny(string(after), "\r\n\x00") {
		after = "-" // matches no process
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := &stream{w: w, control: http.NewResponseController(w), job: r.URL.Query().Get("job")}
	out.text.WriteString("retry: 1000\n")
	if after == "" {
		_, after, _, _ = s.store.Events("")
		out.put(after, "hello", nil)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		changed := out.pass(s.store, &after)
		if out.flush() != nil {
			return
		}
		select {
		case <-changed:
			select {
			case <-time.After(eventsEvery):
			case <-r.Context().Done():
			case <-s.options.Closing:
			}
		case <-beat.C:
			out.text.WriteString(":\n\n")
		case <-r.Context().Done(): // ended by the reader, or by a server that ends all requests
			out.rest(s.store, after)
			return
		case <-s.options.Closing:
			out.rest(s.store, after)
			return
		}
	}
}

// streams counts the readers of events, by caller and host.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// begin counts a reader until done is called. It returns an error if there are too many readers, or
// too many of this caller.
func (s *streams) begin(r *http.Request) (done func(), err error) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	who := control.CallerOf(r.Context()).Owner() + " " + host
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxStreams:
		return nil,
			refuse(http.StatusServiceUnavailable, "%d others read events already", maxStreams)
	case s.of[who] >= maxOwnStreams:
		return nil, refuse(http.StatusTooManyRequests,
			"the same caller reads events %d times already", maxOwnStreams)
	}
	s.all++
	s.of[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[who]--; s.of[who] == 0 {
			delete(s.of, who)
		}
	}, nil
}

// change is the data of an event.
type change struct {
	Job  string `json:"job,omitempty"`
	Data any    `json:"data,omitempty"`
}

// stream writes events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	job     string
	text    bytes.Buffer
}

// pass buffers the events after a cursor, and moves the cursor. It returns a channel that is closed
// when there are more.
func (s *stream) pass(from *history.Store, after *history.Cursor) (changed <-chan struct{}) {
	events, next, changed, lost := from.Events(*after)
	if lost {
		s.put(next, "reset", nil)
	}
	for _, e := range events {
		if e.Kind != "step" || s.job == "" || e.Job == s.job {
			s.put(from.Cursor(e), e.Kind, change{e.Job, e.Data})
		}
	}
	*after = next
	return changed
}

func (s *stream) put(id history.Cursor, kind string, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		return
	}
	fmt.Fprintf(&s.text, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, body)
}

func (s *stream) flush() error {
	if s.text.Len() == 0 {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(eventsTimeout))
	_, err := s.w.Write(s.text.Bytes())
	s.text.Reset()
	if err != nil {
		return err
	}
	return s.control.Flush()
}

// rest sends the remaining events, and the last one, bye.
func (s *stream) rest(from *history.Store, after history.Cursor) {
	s.pass(from, &after)
	s.put(after, "bye", nil)
	_ = s.flush()
}

package trace

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/superstep-go/superstep/record"
)

// Kinds of lines.
const (
	kindJob    = "job"
	kindRecord = "superstep"
	kindEnd    = "end"
	kindStage  = "stage"
	kindSearch = "search"
	kindLog    = "log"
)

// head is what every line begins with.
type head struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"`
}

// Writer is a Journal that writes JSON lines, and may be used by several goroutines at once.
type Writer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{enc: json.NewEncoder(w)}
}

// Record writes a line. Of stages it writes those that have ended; how far others are is of the
// moment.
func (w *Writer) Record(e Event) error {
	var line any
	switch e := e.(type) {
	case *record.Superstep:
		line = struct {
			head
			*record.Superstep
		}{head{Version, kindRecord}, e}
	case *Job:
		line = struct {
			head
			*Job
		}{head{Version, kindJob}, e}
	case *End:
		line = struct {
			head
			*End
		}{head{Version, kindEnd}, e}
	case *Stage:
		if e.Seconds == 0 {
			return nil
		}
		line = struct {
			head
			*Stage
		}{head{Version, kindStage}, e}
	case *Search:
		line = struct {
			head
			*Search
		}{head{Version, kindSearch}, e}
	case *Log:
		line = struct {
			head
			*Log
		}{head{Version, kindLog}, e}
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(line)
}

// Tee is a Journal that passes everything on to several.
type Tee []Journal

// Record passes an event on, without garbage: it is called in the middle of a run.
func (t Tee) Record(e Event) error {
	var failed error
	for _, to := range t {
		if err := to.Record(e); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

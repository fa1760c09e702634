package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
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
	mu sync.Mutex
	to io.Writer
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Record writes a line. Of stages it writes those that have ended; how far others are is of the
// moment.
func (w *Writer) Record(e Event) error {
	kind, _ := headOf(e)
	if s, ok := e.(*Stage); kind == "" || ok && s.Seconds == 0 {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = fmt.Fprintf(w.to, "{\"v\":%d,\"kind\":%q,%s\n", Version, kind, text[1:])
	return err
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

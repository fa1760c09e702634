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

// head has the fields at the beginning of every line.
type head struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"`
}

// Writer is a Journal that writes JSON lines. Several goroutines may use it at once.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Record writes a line. It omits stages that have not ended.
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

// Tee is a Journal that forwards events to several journals.
type Tee []Journal

// Record forwards an event. It does not allocate, because the engine calls it during a run.
func (t Tee) Record(e Event) error {
	var failed error
	for _, to := range t {
		if err := to.Record(e); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

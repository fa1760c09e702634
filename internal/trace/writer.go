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
	kindLog    = "log"
)

// head is what every line begins with.
type head struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"`
}

// Writer is a Journal that writes JSON lines.
type Writer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{enc: json.NewEncoder(w)}
}

func (w *Writer) write(line any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(line)
}

func (w *Writer) Record(s *record.Superstep) error {
	return w.write(struct {
		head
		*record.Superstep
	}{head{Version, kindRecord}, s})
}

func (w *Writer) Begin(j *Job) error {
	return w.write(struct {
		head
		*Job
	}{head{Version, kindJob}, j})
}

func (w *Writer) End(e *End) error {
	return w.write(struct {
		head
		*End
	}{head{Version, kindEnd}, e})
}

// Stage writes a stage that has ended; how far others are is of the moment.
func (w *Writer) Stage(s *Stage) error {
	if s.Seconds == 0 {
		return nil
	}
	return w.write(struct {
		head
		*Stage
	}{head{Version, kindStage}, s})
}

func (w *Writer) Log(l *Log) error {
	return w.write(struct {
		head
		*Log
	}{head{Version, kindLog}, l})
}

// Both is a Journal that writes, and passes supersteps on.
type Both struct {
	*Writer
	To Sink
}

// Record passes a superstep on, and writes it.
func (b Both) Record(s *record.Superstep) error {
	return errors.Join(b.To.Record(s), b.Writer.Record(s))
}

// Tee is a Journal that passes everything on to several.
type Tee []Journal

func (t Tee) each(f func(Journal) error) error {
	var errs []error
	for _, j := range t {
		errs = append(errs, f(j))
	}
	return errors.Join(errs...)
}

// Record passes a superstep on, without garbage: it is called in the middle of a run.
func (t Tee) Record(s *record.Superstep) error {
	for _, j := range t {
		if err := j.Record(s); err != nil {
			return err
		}
	}
	return nil
}

func (t Tee) Begin(j *Job) error { return t.each(func(to Journal) error { return to.Begin(j) }) }

// Describe tells those that want to know.
func (t Tee) Describe(j *Job) error {
	return t.each(func(to Journal) error {
		if d, ok := to.(Describer); ok {
			return d.Describe(j)
		}
		return nil
	})
}

func (t Tee) End(e *End) error     { return t.each(func(to Journal) error { return to.End(e) }) }
func (t Tee) Stage(s *Stage) error { return t.each(func(to Journal) error { return to.Stage(s) }) }
func (t Tee) Log(l *Log) error     { return t.each(func(to Journal) error { return to.Log(l) }) }

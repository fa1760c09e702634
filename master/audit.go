package master

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/store"
)

// audit writes down who has changed what, a line of JSON each, with its number and its checksum: a
// line that is changed or missing is found. The nil value writes nothing.
type audit struct {
	now   func() time.Time
	log   *slog.Logger // of the master
	mu    sync.Mutex
	file  *os.File
	lines uint64 // the number of the last line
}

// entry is a line of the audit log.
type entry struct {
	Line    uint64    `json:"line"`
	Time    time.Time `json:"time"`
	Who     string    `json:"who,omitempty"` // the certificate's name; token, browser or anyone
	Roles   string    `json:"roles,omitempty"`
	From    string    `json:"from,omitempty"`
	What    string    `json:"what"`
	Job     string    `json:"job,omitempty"`
	Graph   string    `json:"graph,omitempty"`
	Source  string    `json:"source,omitempty"` // that a graph is loaded from
	Place   string    `json:"place,omitempty"`  // that it is saved to
	Program string    `json:"program,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	More    int64     `json:"more,omitempty"` // refusals since the last line about one
	Outcome string    `json:"outcome"`        // done, or why not
}

// openAudit opens the log to append to it, and warns of damage that is in it; without a name there
// is none.
func openAudit(path string, now func() time.Time, log *slog.Logger) (*audit, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	a := &audit{now: now, log: log, file: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		a.verify()
	}
	return a, nil
}

// verify reads the log, tells of the first line that is damaged or follows one that is missing, and
// notes the number of the last.
func (a *audit) verify() {
	in, told := bufio.NewReader(a.file), false
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			return
		}
		var e entry
		damage := store.Unseal(bytes.TrimSuffix(line, []byte("\n")))
		if damage == nil && (json.Unmarshal(line, &e) != nil || n > 1 && e.Line != a.lines+1) {
			damage = fmt.Errorf("found line %d after %d: %w", e.Line, a.lines, store.ErrDamaged)
		}
		if damage != nil && !told {
			told = true
			a.log.Error("the audit log is damaged, or lines are missing", "error",
				fmt.Errorf("%s:%d: %w", a.file.Name(), n, damage))
		}
		a.lines = max(e.Line, a.lines+1)
		if err != nil { // it has no end
			_, _ = a.file.WriteString("\n") // so that the next line is whole
			return
		}
	}
}

// add writes a line about what the caller of a request did, which failed if err is an error.
func (a *audit) add(ctx context.Context, e entry, err *error) {
	if a == nil {
		return
	}
	caller := control.CallerOf(ctx)
	e.Who, e.Roles, e.From = caller.Name, caller.Roles.String(), caller.From
	if e.Outcome = "done"; err != nil && *err != nil {
		e.Outcome = escape.Text((*err).Error(), maxReason)
	}
	a.write(e)
}

func (a *audit) write(e entry) {
	if a == nil {
		return
	}
	e.Time = a.now().UTC()
	// As the caller has them.
	for _, text := range []*string{&e.Job, &e.Graph, &e.Source, &e.Place, &e.Program, &e.Worker} {
		*text = escape.Text(*text, maxReason)
	}
	a.mu.Lock()
	e.Line = a.lines + 1
	line, err := json.Marshal(e)
	if err == nil {
		a.lines++
		_, err = a.file.Write(append(store.Seal(line), '\n'))
	}
	a.mu.Unlock()
	if err != nil {
		a.log.Error("the audit log cannot be written", "error", err)
	}
}

func (a *audit) close() {
	if a != nil {
		_ = a.file.Close() // each line was written
	}
}

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

// audit is the log of changes and their authors. Each line is JSON with a line number and a
// checksum, so a changed or missing line is detected. A nil audit writes nothing.
type audit struct {
	now   func() time.Time
	log   *slog.Logger // the master's log
	mu    sync.Mutex
	file  *os.File
	lines uint64 // number of the last line
}

// entry is a line of the audit log.
type entry struct {
	Line    uint64    `json:"line"`
	Time    time.Time `json:"time"`
	Who     string    `json:"who,omitempty"` // the certificate's name, or token, browser or anyone
	Roles   string    `json:"roles,omitempty"`
	From    string    `json:"from,omitempty"`
	What    string    `json:"what"`
	Job     string    `json:"job,omitempty"`
	Graph   string    `json:"graph,omitempty"`
	Source  string    `json:"source,omitempty"` // what the graph was loaded from
	Place   string    `json:"place,omitempty"`  // where the graph was saved
	Program string    `json:"program,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	More    int64     `json:"more,omitempty"` // refusals not logged since the last line of one
	Outcome string    `json:"outcome"`        // done, or the error
}

// openAudit opens the log for appending and warns if it is damaged. It returns nil if path is
// empty.
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

// verify reads the log, reports the first line that is damaged or follows a missing line, and sets
// the number of the last line.
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
		if err != nil { // the last line has no newline
			_, _ = a.file.WriteString("\n") // the next line starts on its own
			return
		}
	}
}

// add logs what the caller of a request did, and its outcome.
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
	// Clients choose these texts.
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
		_ = a.file.Close() // each line is already written
	}
}

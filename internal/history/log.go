package history

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/trace"
)

// LogHandler is a slog.Handler that adds a process's log to a Store.
type LogHandler struct {
	store *Store
	attrs []slog.Attr
}

var _ slog.Handler = (*LogHandler)(nil)

// NewLogHandler makes a LogHandler.
func NewLogHandler(s *Store) *LogHandler { return &LogHandler{store: s} }

// Enabled reports whether the level is info or above.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle stores a line: the message and the attributes, except those that name a job or worker.
func (h *LogHandler) Handle(_ context.Context, r slog.Record) error {
	line := &trace.Log{Time: r.Time, Level: strings.ToLower(r.Level.String())}
	var text strings.Builder
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch a.Key {
		case "job":
			line.Job = value
		case "worker":
			line.Worker = value
		default:
			if value != "" {
				fmt.Fprintf(&text, ", %s %s", a.Key, value)
			}
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	line.Text = text.String()
	return h.store.Record(line)
}

// WithAttrs adds attributes to every line.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &LogHandler{h.store, slices.Concat(h.attrs, attrs)}
}

// WithGroup changes nothing: the master's log has no groups.
func (h *LogHandler) WithGroup(string) slog.Handler { return h }

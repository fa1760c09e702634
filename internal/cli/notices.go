package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// notices are where people are told things beside results and reports: plainly, or with --log-format json as JSON lines.
type notices struct {
	w    io.Writer
	json *slog.Logger // nil for plain lines
}

func (a *app) notices() *notices { return (&notices{json: a.jsonLogger(a.err)}).to(a.err) }

// jsonLogger is nil unless logs are JSON.
func (a *app) jsonLogger(w io.Writer) *slog.Logger {
	if a.logFormat == nil || a.logFormat.value != "json" {
		return nil
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

// to is the same to another writer.
func (l *notices) to(w io.Writer) *notices {
	to := &notices{w: w}
	if l.json != nil {
		to.json = slog.New(slog.NewJSONHandler(w, nil))
	}
	return to
}

// crash says what went wrong where.
func (l *notices) crash(what, stack string) {
	if l.json != nil {
		l.say(slog.LevelError, what, "stack", stack)
		return
	}
	fmt.Fprintf(l.w, "superstep: %s\n\n%s", what, stack)
}

// say writes a line. Programs' own lines stand as they are; others say who speaks.
func (l *notices) say(level slog.Level, line string, args ...any) {
	switch {
	case l.json != nil:
		l.json.Log(context.Background(), level, line, args...)
	case level >= slog.LevelError:
		fmt.Fprintf(l.w, "superstep: %s\n", line)
	case level >= slog.LevelWarn:
		fmt.Fprintf(l.w, "superstep: warning: %s\n", visibleLog(line))
	default:
		fmt.Fprintln(l.w, visibleLog(line))
	}
}

package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
)

// notices writes messages to users, apart from results and reports: as text or, with --log-format
// json, as JSON lines.
type notices struct {
	w    io.Writer
	json bool
}

func (a *app) notices() *notices { return &notices{a.err, a.all.LogFormat == "json"} }

// remark prints a supplement to a report, unless --quiet is given.
func (a *app) remark(line string) {
	if !a.all.Quiet {
		a.notices().say(slog.LevelInfo, line)
	}
}

// jsonHandler writes logs as JSON, with the same escapes as in text.
func jsonHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(w,
		&slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch v := a.Value.Any().(type) {
			case string:
				a.Value = slog.StringValue(escape.Lines(v))
			case error:
				a.Value = slog.StringValue(escape.Lines(v.Error()))
			}
			return a
		}})
}

// crash prints an error with its stack.
func (l *notices) crash(what, stack string) {
	if l.json {
		l.say(slog.LevelError, what, "stack", stack)
		return
	}
	fmt.Fprintf(l.w, "superstep: %s\n\n%s", escape.Lines(what), escape.Lines(stack))
}

// say prints a line. Info lines, such as a program's own, get no prefix.
func (l *notices) say(level slog.Level, line string, args ...any) {
	switch {
	case l.json:
		slog.New(jsonHandler(l.w, nil)).Log(context.Background(), level, line, args...)
	case level >= slog.LevelError:
		fmt.Fprintf(l.w, "superstep: %s\n", line)
	case level >= slog.LevelWarn:
		fmt.Fprintf(l.w, "superstep: warning: %s\n", escape.Text(line, control.MaxText))
	default:
		fmt.Fprintln(l.w, escape.Lines(line))
	}
}

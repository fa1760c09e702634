package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far long work is, in the last line of a terminal. Elsewhere it writes lines
// now and then if asked, or shows nothing.
//
// Its methods may be called by several goroutines. Invariant: nothing of bars is called with mu
// held. The display takes mu to draw, and its methods wait for it.
type progress struct {
	app  *app
	now  func() time.Time
	tell trace.Journal // receives stages and log lines, or nil; set before work begins

	screen sync.Mutex    // held while the display vanishes, and while writing above it
	bars   *mpb.Progress // nil if nothing is shown
	bar    *mpb.Bar

	mu    sync.Mutex
	shown step
	every time.Duration // between lines about shown, where there is no display; 0 for none
	wrote time.Time     // the last one
}

// step is a part of the work.
type step struct {
	name        string
	note        string // a short status
	done, total int64  // total is 0 if unknown
	from        int64  // what was done when it began
	begun       time.Time
	left        history.TimeLeft

	// Of the last superstep, if there was one. most is the maximum number of supersteps, or 0 if
	// unknown.
	superstep, most, active, senders int
	scheme                           string
}

// progress makes the display of this invocation, which shows nothing unless standard error is a
// terminal.
func (a *app) progress() *progress {
	p := &progress{app: a, now: time.Now}
	f, ok := a.err.(*os.File)
	if !ok || a.all.Quiet || !terminal(f) {
		return p
	}
	out, refresh := io.Writer(f), mpb.WithRefreshRate(150*time.Millisecond)
	if columns, rows, err := cwriter.GetSize(int(f.Fd())); err != nil || columns == 0 || rows == 0 {
		// It does not know its size, for example on a serial line. Avoid the query, because nothing
		// would fit.
		out = struct{ io.Writer }{f}
	}
	p.bars = mpb.New(mpb.WithOutput(out), refresh, mpb.WithAutoRefresh())
	p.bar = p.bars.MustAdd(0, mpb.BarFillerFunc(p.draw), mpb.BarRemoveOnComplete(),
		mpb.BarFillerTrim())
	return p
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" &&
		f.Name() != os.DevNull
}

// stage sets the progress of a step: done of total. A new name begins a new step.
func (p *progress) stage(name string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.shown.name {
		p.ended()
		p.shown = step{name: name, begun: p.now(), from: done}
	}
	p.shown.done, p.shown.total = max(done, p.shown.done), total
	if p.tell != nil && name != "" {
		_ = p.tell.Record(&trace.Stage{Stage: name, Done: p.shown.done, Total: total})
	}
	p.write()
}

// write writes a line on how far the work is, if it is time for one. The lock is held.
func (p *progress) write() {
	if now := p.now(); p.every > 0 && now.Sub(p.wrote) >= p.every {
		p.wrote = now
		p.app.notices().say(slog.LevelInfo, p.shown.line(now, escape.Most))
	}
}

// ended records the end of the current step. The caller holds the lock. The error of a trace that
// cannot be written is reported elsewhere.
func (p *progress) ended() {
	if s := &p.shown; p.tell != nil && s.name != "" {
		took := max(p.now().Sub(s.begun), time.Nanosecond)
		_ = p.tell.Record(
			&trace.Stage{Stage: s.name, Done: s.done, Total: s.total, Seconds: took.Seconds()})
	}
}

// shows is a Journal that displays the progress of a run.
type shows struct {
	*progress
	run  string
	most int
	sum  trace.Step
}

// Record displays a superstep, unless it belongs to a run within the displayed one. It formats text
// only for the lines that write writes; the display formats its own.
func (s *shows) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		s.run, s.most = e.Job, e.MaxSupersteps
	case *record.Superstep:
		if s.sum.Sum(e); e.Job == s.run && s.sum.Active > 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.shown.done, s.shown.total, s.shown.most = int64(e.Superstep)+1, int64(s.most), s.most
			s.shown.superstep, s.shown.active, s.shown.senders, s.shown.scheme = e.Superstep,
				s.sum.Active, s.sum.Senders, e.Scheme
			s.shown.left.Add(e.Superstep, e.Seconds, s.now())
			s.write()
		}
	}
	return nil
}

// note sets the short status of the step.
func (p *progress) note(text string) {
	p.mu.Lock()
	p.shown.note = text
	p.mu.Unlock()
}

// log writes a line of the program above the display; warn writes a warning.
func (p *progress) log(line string)  { p.say(slog.LevelInfo, line) }
func (p *progress) warn(line string) { p.say(slog.LevelWarn, line) }

// found writes the notes about a graph.
func (p *progress) found(notes []string) {
	for _, line := range notes {
		p.log(line)
	}
}

func (p *progress) say(level slog.Level, line string) {
	p.screen.Lock()
	logs := p.app.notices()
	if p.bars != nil {
		logs.w = p.bars
	}
	logs.say(level, line)
	p.screen.Unlock()
	if p.tell != nil {
		_ = p.tell.Record(
			&trace.Log{Time: p.now(), Level: strings.ToLower(level.String()), Text: line})
	}
}

func (p *progress) draw(w io.Writer, s decor.Statistics) error {
	p.mu.Lock()
	shown := p.shown
	p.mu.Unlock()
	_, err := io.WriteString(w, shown.line(p.now(), s.AvailableWidth))
	return err
}

// done ends the last step and removes the display. It is idempotent.
func (p *progress) done() {
	p.mu.Lock()
	p.ended()
	p.shown = step{}
	p.mu.Unlock()
	p.screen.Lock()
	defer p.screen.Unlock()
	if p.bars != nil {
		p.bar.Abort(true)
		p.bars.Wait()
		p.bars = nil
	}
}

// A rate is shown after rateAfter, and an estimate of the time left after leftAfter.
const (
	rateAfter = 300 * time.Millisecond
	leftAfter = time.Second
	mostLeft  = 1e9 // seconds: a longer estimate is not shown
	barWidth  = 30
)

// line draws a step in at most width columns.
func (s step) line(now time.Time, width int) string {
	if s.name == "" {
		return ""
	}
	elapsed, parts := now.Sub(s.begun), []string{s.name}
	stepped, share := s.left.Done() > 0, 0.0
	switch {
	case stepped && s.most > 0:
		parts = append(parts, s.bound(now, elapsed >= leftAfter))
	case s.total > 0:
		share = min(float64(s.done)/float64(s.total), 1)
		full := int(share * barWidth)
		parts = append(parts, "["+strings.Repeat("=", full)+strings.Repeat(" ", barWidth-full)+"]",
			fmt.Sprintf("%3.0f%%", share*100))
	default:
		parts = append(parts, elapsed.Truncate(100*time.Millisecond).String())
	}
	speed := float64(s.done-s.from) / elapsed.Seconds()
	if speed > 0 && elapsed >= rateAfter {
		parts = append(parts, rate(speed))
	}
	if share > 0 && speed > 0 && s.done < s.total && elapsed >= leftAfter {
		if left := float64(s.total-s.done) / speed; left < mostLeft {
			text := time.Duration(left * float64(time.Second)).Round(time.Second).String()
			parts = append(parts, text+" left")
		}
	}
	if stepped {
		text := fmt.Sprintf("%s, %s active, %s senders", s.scheme, graphio.Thousands(s.active),
			graphio.Thousands(s.senders))
		if s.most == 0 {
			text = fmt.Sprintf("superstep %d, %s", s.superstep, text)
		}
		parts = append(parts, text)
	}
	if s.note != "" {
		parts = append(parts, s.note)
	}
	return runewidth.Truncate(escape.Text(strings.Join(parts, "  "), escape.Most), max(width-1, 0),
		"…")
}

// bound describes the progress of a run with a limit of supersteps and, if requested, the time
// left. There is no bar, because the run may end before the limit.
func (s step) bound(now time.Time, wantLeft bool) string {
	text := fmt.Sprintf("%d of at most %d supersteps", s.left.Done(), s.most)
	if left := s.left.Seconds(s.most, now); left > 0 && left < mostLeft && wantLeft {
		text += ", at most about " +
			max(time.Duration(left*float64(time.Second)).Round(time.Second), time.Second).String() +
			" left"
	}
	return text
}

// rate formats a number per second: 12.3 M/s.
func rate(perSecond float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G"} {
		if perSecond < 999.95 {
			break
		}
		perSecond /= 1000
		unit = u
	}
	return fmt.Sprintf("%.1f %s/s", perSecond, unit)
}

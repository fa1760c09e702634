package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far long work is, on a terminal; elsewhere it shows nothing.
type progress struct {
	mu     sync.Mutex
	bars   *mpb.Progress
	bar    *mpb.Bar
	name   string
	status string
	begun  time.Time
}

// progress makes the display of this invocation.
func (a *app) progress() *progress {
	p := &progress{}
	if f, ok := a.err.(*os.File); ok && !a.quiet && terminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// stage shows that done of total is done of something. A new name begins a new bar in the old one's place.
func (p *progress) stage(name string, done, total int64) {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.name {
		p.end()
		p.name, p.begun = name, time.Now()
		p.bar = p.bars.AddBar(max(total, 1), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name + p.text() }, decor.WC{C: decor.DSyncSpaceR})),
			mpb.AppendDecorators(
				decor.Percentage(decor.WC{W: 5}), decor.Any(rate, decor.WC{W: 12}),
				decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), ""),
			))
	}
	if done < total {
		p.bar.SetCurrent(done)
	}
}

// note adds a few words to the bar that is shown.
func (p *progress) note(status string) {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status == "" {
		return ""
	}
	return ": " + p.status
}

func rate(s decor.Statistics) string { return "" }

// end removes the bar that is shown. The caller holds mu.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar, p.name, p.status = nil, "", ""
	}
}

// done removes the display.
func (p *progress) done() {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.bars.Wait()
	p.bars = nil
}

// buffered is a file with a buffer.
type buffered struct {
	*bufio.Writer
	file io.Closer
}

func newBuffered(f *os.File) *buffered { return &buffered{bufio.NewWriterSize(f, 64<<10), f} }

// Close writes what is left and closes the file.
func (b *buffered) Close() error {
	err := b.Flush()
	if e := b.file.Close(); err == nil {
		err = e
	}
	return err
}

// counted writes a number with commas.
func counted[T int | int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d B", n)
	}
}

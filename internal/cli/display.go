package cli

import (
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
)

// display is progress that can make room for a question. Its methods may be called by several goroutines.
type display struct {
	app *app
	mu  sync.Mutex
	*progress
	shown  step // while there is no display
	hidden bool
}

func (a *app) display() *display { return &display{app: a, progress: a.progress()} }

func (d *display) stage(name string, done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name != d.shown.name {
		d.shown = step{name: name, begun: d.now()}
	}
	d.shown.done, d.shown.total = done, total
	d.progress.stage(name, done, total)
}

func (d *display) superstep(at bsp.Progress, limit int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.reach(at, limit)
	d.progress.superstep(at, limit)
}

func (d *display) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.note = text
	d.progress.note(text)
}

func (d *display) log(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress.log(line)
}

// warn says above the display what a user should know.
func (d *display) warn(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress.warn(line)
}

// hide takes the display away until show.
func (d *display) hide() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress.done()
	d.hidden = true
}

func (d *display) show() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hidden {
		return
	}
	d.hidden = false
	d.progress = d.app.progress()
	d.progress.set(d.shown)
}

// done removes the display. It is idempotent.
func (d *display) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress.done()
}

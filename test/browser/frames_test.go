package browser

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/superstep-go/superstep/internal/control"
)

// frameTime is the time of a frame at 60 Hz, in milliseconds.
const frameTime = 16

// measure records the time of every frame in the page's thread: callbacks, style, layout and paint.
// A message sent in a frame's callback is handled right after the frame.
const measure = `(() => {
	window.frames_ = [];
	const channel = new MessageChannel();
	let began = 0;
	channel.port1.onmessage = () => window.frames_.push(performance.now() - began);
	const frame = () => { began = performance.now(); channel.port2.postMessage(0); requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
})()`

// TestFramesOfALongRun shows 5,000 supersteps of 256 partitions while more arrive, the pointer
// moves, keys choose supersteps and the page scrolls. The mean processor time of a frame in the
// page's thread must be less than frameTime. The elapsed time depends on the machine's other work,
// and is only logged.
func TestFramesOfALongRun(t *testing.T) {
	const supersteps, partitions = 5000, 256
	l := recorded(t, supersteps, partitions)
	b := open(t, serve(t, l, control.Token{}), 1280, 1000)
	b.until(t, "all supersteps", `document.querySelector("[role=slider]")?.ariaValueMax === "4999"`)
	b.until(t, "the charts",
		"document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelectorAll('canvas.canvas').length >= 3")
	b.do(t, chromedp.Sleep(2*time.Second), chromedp.Evaluate(measure, nil),
		performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	scene := func(name string, act func()) {
		t.Helper()
		b.do(t, chromedp.Evaluate(`window.frames_.length = 0`, nil))
		before, all := b.worked(t), spentBelow(os.Getpid())
		act()
		var frames []float64
		b.do(t, chromedp.Sleep(300*time.Millisecond), chromedp.Evaluate(`window.frames_`, &frames))
		if len(frames) < 5 {
			t.Fatalf("%s: %d frames", name, len(frames))
		}
		spent := b.worked(t)
		all = (spentBelow(os.Getpid()) - all) / float64(len(frames))
		each := func(what string) float64 { return (spent[what] - before[what]) * 1e3 / float64(len(frames)) }
		worked := each("TaskDuration")
		slices.Sort(frames)
		at := func(share float64) float64 { return frames[int(share*float64(len(frames)-1))] }
		long := 0
		for _, f := range frames {
			if f > frameTime {
				long++
			}
		}
		t.Logf("%-18s %4d frames: %.1f ms of the processor each, scripts %.1f, style %.1f, layout %.1f, all processes %.1f; by the clock median %.1f ms, 95 %% %.1f ms, longest %.1f ms, %d over %d ms",
			name, len(frames), worked, each("ScriptDuration"), each("RecalcStyleDuration"),
			each("LayoutDuration"), all, at(.5), at(.95), at(1), long, frameTime)
		if worked > frameTime {
			t.Errorf("%s: a frame takes %.1f ms of the processor, on the mean", name, worked)
		}
	}
	scene("at rest", func() { b.do(t, chromedp.Sleep(time.Second)) })
	scene("supersteps arrive", func() {
		for n := range 20 {
			steps(l, "long", supersteps+n*5, supersteps+n*5+5, partitions)
			b.do(t, chromedp.Sleep(100*time.Millisecond))
		}
	})
	b.until(t, "the newest", `document.querySelector("[role=slider]").ariaValueMax === "5099"`)
	over := func(selector string) {
		t.Helper()
		b.do(t, chromedp.Evaluate(`(async () => { const e = document.querySelector(`+quote(selector)+`), r = e.getBoundingClientRect();
			for (let i = 0; i < 60; i++) {
				e.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: r.left + 70 + i * (r.width - 90) / 60, clientY: r.top + 20 + i }));
				await new Promise(requestAnimationFrame);
			} })()`, nil, wait))
	}
	scene("the pointer moves", func() { over(".band"); over(".plot .u-over") })
	b.do(t, chromedp.Evaluate(`document.querySelector("[aria-label=Lanes]").scrollIntoView()`, nil),
		chromedp.Sleep(settle))
	scene("over lanes, pairs", func() { over("[aria-label=Lanes] canvas"); over(".matrix canvas") })
	b.do(t, chromedp.Evaluate(`scrollTo(0, 0)`, nil), chromedp.Sleep(settle))
	scene("keys choose", func() {
		b.do(t, chromedp.Focus("[role=slider]"))
		for range 15 {
			b.do(t, chromedp.KeyEvent(kb.PageDown), chromedp.Sleep(50*time.Millisecond),
				chromedp.KeyEvent(kb.ArrowRight), chromedp.Sleep(50*time.Millisecond))
		}
	})
	scene("zoom", func() {
		for range 5 {
			b.do(t, chromedp.KeyEvent("+"), chromedp.Sleep(150*time.Millisecond))
		}
		b.do(t, chromedp.KeyEvent(kb.Escape))
	})
	scene("scrolling", func() {
		b.do(t,
			chromedp.Evaluate(`(async () => { for (let i = 0; i < 60; i++) { scrollBy(0, 40); await new Promise(requestAnimationFrame); } })()`, nil, wait))
	})
	b.clean(t)
}

// worked returns the processor time of the page's thread in seconds: TaskDuration in total, and by
// kind of work.
func (b *tab) worked(t *testing.T) map[string]float64 {
	t.Helper()
	seconds := map[string]float64{}
	b.do(t, chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			seconds[m.Name] = m.Value
		}
		return err
	}))
	return seconds
}

// spentBelow returns the processor time in milliseconds of all descendants of a process, if the
// system reports it.
func spentBelow(top int) float64 {
	const tick = 10 // milliseconds, of Linux
	parents, spent := map[int]int{}, map[int]float64{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		// After the name, which may contain anything: the state, the parent, ... Fields 12 and 13
		// are the times.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parents[pid], _ = strconv.Atoi(fields[1])
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		spent[pid] = float64(user+system) * tick
	}
	all := 0.0
	for pid := range parents {
		for p := parents[pid]; p > 0; p = parents[p] {
			if p == top {
				all += spent[pid]
				break
			}
		}
	}
	return all
}

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience limits the time of a test. The machine may have only two shared cores.
const patience = 3 * time.Minute

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CHROMIUM_REQUIRED") != "" {
		t.Fatal("there is no Chromium")
	}
	t.Skip("SKIPPED: there is no Chromium here: apt-get install chromium, or .ci/run browser")
	return ""
}

// tab is a page in a separate browser. It records the errors in it.
type tab struct {
	ctx context.Context
	url string

	mu       sync.Mutex
	faults   []string                     // script errors, policy violations, failed loads
	requests map[network.RequestID]string // addresses
}

// open starts a browser with an empty profile, and opens an address in a window of this size.
func open(t *testing.T, url string, width, height int) *tab {
	t.Helper()
	profile, err := os.MkdirTemp("", "chromium")
	must(t, err)
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options, chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(profile),
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(width, height),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("font-render-hinting", "none"), chromedp.WSURLReadTimeout(time.Minute))
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	// errors of events that the driver does not know yet
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}),
		chromedp.WithBrowserOption(chromedp.WithDialTimeout(time.Minute)))
	timed, stop := context.WithTimeout(ctx, patience)
	t.Cleanup(func() {
		stop()
		cancel()
		cancelAllocator()
		chromedp.FromContext(ctx).Allocator.Wait()
		for range 20 { // processes of the browser may live a moment longer and write files
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	b := &tab{ctx: timed, url: url, requests: map[network.RequestID]string{}}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(t, network.Enable(), runtime.Enable(),
		chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(url))
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			for _, a := range e.Args {
				b.faults = append(b.faults, string(a.Value))
			}
		}
	case *network.EventRequestWillBeSent:
		b.requests[e.RequestID] = e.Request.URL
	case *network.EventLoadingFailed:
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" {
			b.faults = append(b.faults, fmt.Sprintf("load of %s failed: %s %s",
				b.requests[e.RequestID], e.ErrorText, e.BlockedReason))
		}
	}
}

// do runs actions that must succeed.
func (b *tab) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		t.Fatalf("%v\nfaults: %s", err, strings.Join(b.faults, "\n"))
	}
}

// until waits until an expression is true.
func (b *tab) until(t *testing.T, what, expression string) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		var ok bool
		b.do(t, chromedp.Evaluate("(async () => !!(await ("+expression+")))()", &ok, wait))
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s; the page reads:\n%s", what, b.text(t, "body"))
		}
		b.do(t, chromedp.Sleep(50*time.Millisecond))
	}
}

// text returns the text of the elements that match a selector.
func (b *tab) text(t *testing.T, selector string) string {
	t.Helper()
	var text string
	b.do(t, chromedp.Evaluate("[...document.querySelectorAll("+quote(selector)+
		")].map(e => e.innerText).join('\\n')", &text))
	return text
}

// clean checks that there were no errors, and no requests except to the page's own server. Errors
// that contain one of the expected words are allowed.
func (b *tab) clean(t *testing.T, expected ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		if !slices.ContainsFunc(expected,
			func(word string) bool { return strings.Contains(fault, word) }) {
			t.Errorf("a fault in the page: %s", fault)
		}
	}
	own := b.url[:strings.Index(b.url[len("http://"):], "/")+len("http://")+1]
	for _, r := range b.requests {
		if !strings.HasPrefix(r, own) && !strings.HasPrefix(r, "data:") {
			t.Errorf("a request to %s", r)
		}
	}
	if len(b.requests) == 0 {
		t.Error("no request was seen")
	}
}

// wait makes an evaluation wait for its promise.
func wait(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

module github.com/superstep-go/superstep/test/browser

go 1.26.0

require (
	github.com/chromedp/chromedp v0.22.1
	github.com/superstep-go/superstep v0.0.0
)

replace github.com/superstep-go/superstep => ../..

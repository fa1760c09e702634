// Package browser tests the page of superstep in a real Chromium. It is a separate module, so that
// users of superstep do not need the browser's driver. Start with page_test.go.
package browser

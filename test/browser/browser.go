// Package browser tests the page of superstep in a real Chromium, from a run to the picture. It is
// a module of its own, so that who uses superstep does not need what drives a browser.
package browser

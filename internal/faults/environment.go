//go:build faults

package faults

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// A binary built with the tag faults kills its own process when it reaches a point for the N-th
// time, if the environment has SUPERSTEP_FAULT=POINT:N.
func init() {
	point, text, ok := strings.Cut(os.Getenv("SUPERSTEP_FAULT"), ":")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "$SUPERSTEP_FAULT: %v\n", err)
		os.Exit(2)
	}
	var times atomic.Int64
	Set(func(at, _ string) error {
		if at == point && times.Add(1) == n {
			fmt.Fprintf(os.Stderr, "the fault at %s\n", point)
			end()
		}
		return nil
	})
}

// end kills the process as kill -9 does.
func end() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

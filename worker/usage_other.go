//go:build !unix

package worker

import "time"

// processorTime returns the processor time of the process, or 0 if unknown.
func processorTime() time.Duration { return 0 }

// Package netns puts processes into separate network namespaces on one machine. A switch connects
// them by cables with a limited rate and a delay. Nothing is visible outside, and everything is
// removed when the process that made it ends, even if it is killed. Start with netns.go.
//
//	process 0          process 1                 process that made them
//	10.98.0.1          10.98.0.2                 10.98.0.254
//	   | veth, tbf        | TAP == Wire == TAP      |
//	===+==================+=========================+=== bridge
package netns

import "time"

// Wire has the properties of a wire in each direction.
type Wire struct {
	Delay time.Duration
	// Loss is the fraction of frames that are lost, in [0, 1).
	Loss float64
	// Rate is the rate in bytes per second; 0 means no limit. Queue is the number of bytes that may
	// wait, by default 1 MB. Further frames are dropped.
	Rate  int
	Queue int
	Seed  uint64 // of the lost frames
}

// Cable connects a process to the switch.
type Cable struct {
	// Rate is the rate in bytes per second in each direction; 0 means no limit.
	Rate float64
	// Delay is the delay of frames. Linux's netem may be missing, so a cable with a delay is a
	// Wire. Without a delay it is a pair of virtual interfaces whose rate the kernel limits (tbf).
	Delay time.Duration
}

// End has a process's address and sending rate.
type End struct {
	Address string
	Rate    float64 // the rate that the kernel shall enforce; 0 means none
}

// Plugged is the message that Up waits for.
var Plugged = []byte{'\n'}

// Traffic has the bytes that a process's cable carried, including Ethernet headers, as counted by
// the kernel.
type Traffic struct {
	Sent, Received int64
}

// Package netns puts processes into network namespaces of their own on one machine, joined by a
// switch, on cables of a bounded rate, and with a delay. Nothing of it has a name outside: it is
// all gone when the process that made it is, however that ends.
//
//	process 0          process 1                 process that made them
//	10.98.0.1          10.98.0.2                 10.98.0.254
//	   | veth, tbf        | TAP == Wire == TAP      |
//	===+==================+=========================+=== bridge
package netns

import "time"

// Wire says how a wire is worse than a cable, each way.
type Wire struct {
	Delay time.Duration
	// Loss is the share of frames that vanish, in [0, 1).
	Loss float64
	// Rate is bytes a second, 0 for as many as it can, and Queue how many bytes may wait for their
	// turn: one more frame and it is dropped. By default 1 MB.
	Rate  int
	Queue int
	Seed  uint64 // of what is lost
}

// Cable is what lies between a process and the switch.
type Cable struct {
	// Rate is bytes a second, each way, 0 for as many as it can.
	Rate float64
	// Delay is how long frames take. Linux's netem may be missing: with a delay the cable is a
	// Wire, without one it is a pair of virtual interfaces, whose rate the kernel bounds (tbf).
	Delay time.Duration
}

// End is what a process in a namespace is told: who it is, and what rate it may send with.
type End struct {
	Address string
	Rate    float64 // that the kernel is to bound, 0: none
}

// Plugged is what Up waits for.
var Plugged = []byte{'\n'}

// Traffic is what went through a process's cable: frames, Ethernet's headers included, as the
// kernel counts them.
type Traffic struct {
	Sent, Received int64
}

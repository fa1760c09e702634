// Package control is what a cluster's master, its workers and its clients say to each other: the
// messages and services of control.proto, who may speak (a token), how (HTTP/2, with limits and
// deadlines), and how the master says no. Master and worker meet here and nowhere else.
package control

//go:generate go run -C ../../tools ./protogen internal/control control.proto

import "time"

// Protocol is the version of what is said here. A worker with another one is refused.
const Protocol = 15

// Limits of what is taken from a connection.
const (
	// MaxMessage is how large a message may be, in bytes; a job's spec is held to MaxSpec.
	MaxMessage = 4 << 20
	// MaxSpec is how large the description of a job or a graph may be.
	MaxSpec = 128 << 10
	// ChunkSize is how much of a result goes into one message.
	ChunkSize = 256 << 10
)

// NetbenchProgram is what a job that measures the network names as its program.
const NetbenchProgram = "netbench"

// Lease is the time after which a worker that was not heard of is lost, and HeartbeatsPerLease how
// often it tells that it lives: with these a death is seen within 3 s, and a pause of 1 s is none.
const (
	Lease              = 2500 * time.Millisecond
	HeartbeatsPerLease = 5
)

// Hold is how long workers keep graphs for a master that is not there, and the master waits for
// graphs of workers that are not.
const Hold = time.Minute

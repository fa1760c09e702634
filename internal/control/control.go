// Package control is the protocol between a cluster's master, workers and clients: the messages and
// services of control.proto, authentication (tokens and TLS), the transport (HTTP/2 with limits and
// deadlines), and refusals. The packages master and worker share no other package for their
// communication. Read control.proto first, then lane.go.
package control

//go:generate go run -C ../../tools ./protogen internal/control control.proto

import "time"

// Protocol is the version of the protocol. The master refuses workers with another version.
const Protocol = 20

// Limits of received data.
const (
	// MaxMessage is the maximum size of a message in bytes. MaxSpec is smaller.
	MaxMessage = 4 << 20
	// MaxSpec is the maximum size of the description of a job or graph.
	MaxSpec = 128 << 10
	// ChunkSize is the size of a chunk of a result in one message.
	ChunkSize = 256 << 10
)

// NetbenchProgram is the program name of a job that measures the network.
const NetbenchProgram = "netbench"

// Lease is the time after which a silent worker is lost. HeartbeatsPerLease is the number of
// heartbeats in that time. With these values a death is detected within 3 s, and a pause of 1 s is
// tolerated.
const (
	Lease              = 2500 * time.Millisecond
	HeartbeatsPerLease = 5
)

// Hold is how long workers keep graphs for a missing master, and how long the master waits for
// missing workers that hold graphs.
const Hold = time.Minute

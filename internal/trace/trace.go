// Package trace has the superstep record: what one partition did in one superstep, why, and how long it took. It is
// what --trace writes, one JSON object a line.
package trace

import (
	"encoding/json"
	"io"
	"sync"
)

// Record is one partition's superstep. Seconds are wall time; predictions are for the superstep as a whole. The last
// superstep of a run may be one in which no vertex ran: it has records, and is not counted.
type Record struct {
	Job       string `json:"job"`
	Superstep int    `json:"superstep"`
	Partition int    `json:"partition"`
	// Scheme is the grid's way to deliver: none, naive, mirrored or pull; Delivery is push or pull, or none.
	Scheme   string `json:"scheme"`
	Delivery string `json:"delivery"`

	Active    int `json:"active"`        // vertices computed
	Senders   int `json:"senders"`       // whose messages to all neighbours were delivered
	Receivers int `json:"receivers"`     // vertices that got a message
	Edges     int `json:"edges"`         // walked
	Messages  int `json:"messages"`      // sent in this superstep, before combining: sender x out-edge, and Send calls
	Sent      int `json:"messages_sent"` // values that left for other partitions in this superstep

	Peers []Peer  `json:"peers,omitempty"`
	Times Seconds `json:"seconds"`
	// Predicted is the model's guess of delivery, by scheme; it is the same in the records of all partitions.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Reason    string             `json:"reason"`
}

// Seconds is the time of each phase.
type Seconds struct {
	Expand   float64 `json:"expand"`
	Traverse float64 `json:"traverse"` // with compute, where the two are one loop
	Fold     float64 `json:"fold"`
	Compute  float64 `json:"compute"`
	Wait     float64 `json:"wait"`
}

// Peer is what was sent to one other partition.
type Peer struct {
	Partition int    `json:"partition"`
	Exchange  string `json:"exchange"`
	Encoding  string `json:"encoding"`
	Messages  int    `json:"messages"`
	Bytes     int    `json:"bytes"`
}

// Bytes returns what the partition sent to others.
func (r *Record) Bytes() int {
	n := 0
	for _, p := range r.Peers {
		n += p.Bytes
	}
	return n
}

// Sink takes records. Record may be called by one goroutine at a time; r is only valid during the call.
type Sink interface{ Record(r *Record) error }

// Writer is a Sink that writes JSON lines.
type Writer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{enc: json.NewEncoder(w)} }

// Record writes r as one line.
func (w *Writer) Record(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(r)
}

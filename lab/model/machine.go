package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rates are times of a thread's operations, in seconds.
type Rates struct {
	Push  float64 `json:"push"`  // push along an edge
	Probe float64 `json:"probe"` // look at an edge in a pull
	Row   float64 `json:"row"`   // open a vertex's list
	Word  float64 `json:"word"`  // skip 64 vertices
	Value float64 `json:"value"` // pack and unpack a value
}

// Network is the network between processes. A message of n bytes takes T = Alpha n + Beta
// (Matsumoto15).
type Network struct {
	Name  string  `json:"name"`
	Alpha float64 `json:"alpha"` // seconds per byte of one process, when all send
	Beta  float64 `json:"beta"`  // seconds per message
}

// networks are those of the published runs, and common ones, with the peak injection bandwidth of a
// node and the latency between two nodes.
var networks = []Network{
	{"tofu-d", 1 / 40.8e9, 0.5e-6},     // Fugaku: six interfaces of 6.8 GB/s
	{"infiniband-qdr", 1 / 8e9, 2e-6},  // TSUBAME 2.0: two rails of 4 GB/s
	{"ethernet-10g", 1 / 1.25e9, 2e-5}, // kernel TCP
	{"ethernet-100g", 1 / 12.5e9, 1e-5},
	{"loopback", 1 / 3e9, 2e-5}, // kernel TCP on one machine
}

// NetworkNames returns the names of known networks.
func NetworkNames() []string {
	var names []string
	for _, n := range networks {
		names = append(names, n.Name)
	}
	return names
}

// ParseNetwork parses a network's name, or bandwidth=B/s,latency=s.
func ParseNetwork(text string) (Network, error) {
	for _, n := range networks {
		if n.Name == text {
			return n, nil
		}
	}
	n := Network{Name: text}
	for field := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(field, "=")
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil || !(x > 0) || math.IsInf(x, 0):
		case key == "bandwidth":
			n.Alpha = 1 / x
			continue
		case key == "latency":
			n.Beta = x
			continue
		}
		return n, fmt.Errorf("found %q, expected %s, or bandwidth=BYTES/S,latency=S", text,
			strings.Join(NetworkNames(), ", "))
	}
	if n.Alpha == 0 || n.Beta == 0 {
		return n, fmt.Errorf("found %q, expected both bandwidth=BYTES/S and latency=S", text)
	}
	return n, nil
}

// Machine is a grid of processes with this number of threads each.
type Machine struct {
	Grid    Grid    `json:"grid"`
	Threads int     `json:"threads"`
	Rates   Rates   `json:"rates"`
	Network Network `json:"network"`
	Waiting Waiting `json:"waiting"`
	// PerNode is the number of processes that share a node's memory and network, 1 if 0.
	PerNode int `json:"processes_per_node,omitempty"`
	// Rendezvous means that a message of the ring takes a round trip before it is sent.
	Rendezvous bool `json:"rendezvous,omitempty"`
}

// Times has a level's time by phase in seconds, for a process with an average share.
type Times struct {
	Expand   float64 `json:"expand"`
	Traverse float64 `json:"traverse"`
	Ring     float64 `json:"ring"` // the time that exceeds that of the search in other ranges
	Fold     float64 `json:"fold"`
	Agree    float64 `json:"agree"`
	Wait     float64 `json:"wait"` // for the slowest process
}

// Total returns the sum.
func (t Times) Total() float64 {
	return t.Expand + t.Traverse + t.Ring + t.Fold + t.Agree + t.Wait
}

func (t *Times) add(u Times) {
	t.Expand += u.Expand
	t.Traverse += u.Traverse
	t.Ring += u.Ring
	t.Fold += u.Fold
	t.Agree += u.Agree
	t.Wait += u.Wait
}

// Prediction is a predicted search on a machine.
type Prediction struct {
	Search  *Search `json:"search"`
	Machine Machine `json:"machine"`
	Levels  []Step  `json:"levels"`
	Times   Times   `json:"times"`
	Volume  Traffic `json:"volume"`
	Seconds float64 `json:"seconds"`
	// TEPS counts all tuples of the input. Graph500 counts only those in the component, without
	// loops, which are nearly all.
	TEPS float64 `json:"teps"`
}

// Step is a level with the machine's scheme.
type Step struct {
	Level
	Scheme  Scheme  `json:"scheme"`
	Traffic Traffic `json:"traffic"`
	Times   Times   `json:"times"`
}

// Predict predicts a search on a machine. Every level uses the fastest allowed scheme.
func Predict(s *Search, m Machine, allowed ...Scheme) *Prediction {
	if len(allowed) == 0 {
		allowed = []Scheme{Push, Pull}
	}
	p, skews := &Prediction{Search: s, Machine: m}, map[Scheme]float64{}
	for _, scheme := range allowed {
		skews[scheme] = s.Skew(m.Grid.as(scheme))
	}
	for _, l := range s.Levels {
		best := Step{}
		for i, scheme := range allowed {
			traffic := l.Traffic(s.Scale, m.Grid, scheme)
			times := m.times(s, &l, scheme, traffic, skews[scheme])
			if i == 0 || times.Total() < best.Times.Total() {
				best = Step{l, scheme, traffic, times}
			}
		}
		p.Levels = append(p.Levels, best)
		p.Times.add(best.Times)
		p.Volume.Expand.add(best.Traffic.Expand)
		p.Volume.Ring.add(best.Traffic.Ring)
		p.Volume.Fold.add(best.Traffic.Fold)
	}
	p.Seconds = p.Times.Total()
	p.TEPS = float64(s.EdgeFactor) * math.Exp2(float64(s.Scale)) / p.Seconds
	return p
}

// times predicts a level. skew is that of the search on the grid.
func (m *Machine) times(s *Search, l *Level, scheme Scheme, traffic Traffic, skew float64) Times {
	p := m.Grid.Partitions()
	g := m.Grid.as(scheme)
	r, c := float64(g.Rows), float64(g.Columns)
	workers := p * m.Waiting.threads(m.Threads, m.PerNode)
	words := math.Exp2(float64(s.Scale)) / 64
	var t Times
	t.Expand = m.carry(traffic.Expand) +
		(traffic.Expand.Values*m.Rates.Value+l.Likely*words*(r-1)/64*m.Rates.Word)/workers
	t.Fold = m.carry(traffic.Fold) + traffic.Fold.Values*m.Rates.Value/workers
	switch scheme {
	case Push, Pairs, CSC:
		// A sending vertex has a row in every block of its column into which it has an edge.
		t.Traverse = (l.Edges*m.Rates.Push +
			(l.Vertices+traffic.Expand.Values)*m.Rates.Row) / workers
	default:
		t.Traverse = (l.Looks*m.Rates.Probe + l.Open*m.Rates.Row +
			words*c*m.Rates.Word) * l.Likely / workers
		// Sub-steps overlap with the search of other ranges: the longer time counts.
		ring := m.carry(traffic.Ring)
		if m.Rendezvous {
			ring += 2 * traffic.Ring.Messages * m.Network.Beta / p
		}
		t.Ring = max(0, ring-t.Traverse)
	}
	// Between two supersteps there are two trees of messages, one up and one down.
	t.Agree = l.Likely * 2 * math.Ceil(math.Log2(p)) * m.Network.Beta
	t.Wait = m.Waiting.Skew * skew * (t.Traverse + traffic.Fold.Values*m.Rates.Value/workers)
	return t
}

// carry returns the time of a process's share of a volume, with its messages one after the other.
// The processes of a node share its bandwidth.
func (m *Machine) carry(v Volume) float64 {
	return (v.Bytes*m.Network.Alpha*float64(max(m.PerNode, 1)) + v.Messages*m.Network.Beta) /
		m.Grid.Partitions()
}

package model

import "math"

// Bytes of what travels.
const (
	headerBytes = 24 // of a frame, as transport.Frame.Size counts
	idBytes     = 8  // a parent, in a fold
	runBytes    = 4  // that a sparse column takes for every 65,536 positions, besides 2 for each
	subSteps    = 4  // in which a vertex range goes round a processor row (Nakao20, 3.5.3)
	tokenBytes  = 16 // before each of them
)

// Scheme is how a level of a search is delivered.
type Scheme uint8

// The schemes: with one row, push is `simple`; with one column, pull is `replicated` (Ueno11).
const (
	Push Scheme = iota // expand, push through the block, fold
	Pull               // expand, sub-steps along the row, fold (Nakao20, 3.5)
	schemes
)

func (s Scheme) String() string { return [...]string{"push", "pull"}[s] }

// Grid is R x C partitions, one each process.
type Grid struct{ Rows, Columns int }

// Partitions is how many there are.
func (g Grid) Partitions() float64 { return float64(g.Rows) * float64(g.Columns) }

// as is the grid that a scheme sees: in a flat one each partition has both its blocks, and pushes in that of the 1 x P grid,
// to fold alone, and pulls in that of the P x 1 grid, to expand alone.
func (g Grid) as(scheme Scheme) Grid {
	switch n := g.Rows * g.Columns; {
	case g.Rows > 1 && g.Columns > 1:
		return g
	case scheme == Push:
		return Grid{1, n}
	default:
		return Grid{n, 1}
	}
}

// Volume is what an exchange sends, of all partitions together.
type Volume struct {
	Messages, Values, Bytes float64
}

func (v *Volume) add(w Volume) {
	v.Messages += w.Messages
	v.Values += w.Values
	v.Bytes += w.Bytes
}

// Traffic is what a level sends by phase.
type Traffic struct{ Expand, Ring, Fold Volume }

// Total adds the phases up.
func (t Traffic) Total() Volume {
	v := t.Expand
	v.add(t.Ring)
	v.add(t.Fold)
	return v
}

// Traffic predicts what a level of a search sends on a grid. The combiner is Sender: presence is the message in expand, and
// a parent's id the value in fold.
func (l *Level) Traffic(scale int, g Grid, scheme Scheme) Traffic {
	var t Traffic
	g = g.as(scheme)
	r, c := float64(g.Rows), float64(g.Columns)
	listed, sent := 0.0, 0.0
	for _, k := range l.classes {
		each := (r - 1) * spread(k.edges, r)
		listed += k.vertices * each
		sent += k.frontier * each
	}
	t.Expand = columns(g.Partitions()*(r-1), listed, sent, 0)
	ghosts, found := 0.0, 0.0
	open := make([]float64, g.Columns)
	for _, k := range l.classes {
		ghosts += k.vertices * (c - 1) * spread(k.edges, c)
		if scheme == Push {
			found += k.vertices * (c - 1) * -math.Expm1(-k.all/c)
			continue
		}
		for hop := range open {
			open[hop] += k.open * math.Exp(-k.hits*float64(hop+1)/c)
		}
		found += k.open * (math.Exp(-k.hits/c) - math.Exp(-k.hits))
	}
	t.Fold = columns(g.Partitions()*(c-1), ghosts, found, idBytes)
	if scheme == Pull {
		// A range is passed on C-1 times, after its owner and each block but the last looked for its open vertices.
		for _, vertices := range open[:g.Columns-1] {
			hop := columns(g.Partitions()*subSteps, math.Exp2(float64(scale)), vertices, 0)
			hop.Bytes += hop.Messages * tokenBytes
			hop.Values = 0
			t.Ring.add(hop)
		}
	}
	return t
}

// spread is the probability that a vertex with so many edges, one at least and a Poisson number on average, has one in a
// given block of a line of so many (gamma of Ueno13, 3.1).
func spread(edges, line float64) float64 {
	if edges <= 0 {
		return 0
	}
	// edges is the mean of those that have one: that of all is lower.
	mean := edges
	for range 30 {
		mean = edges * -math.Expm1(-mean)
	}
	if mean < 1e-9 {
		return 1 / line
	}
	return math.Expm1(-mean/line) / math.Expm1(-mean)
}

// columns is so many columns over lists of so many vertices in all, of which so many are present.
func columns(messages, listed, present, size float64) Volume {
	if messages == 0 {
		return Volume{}
	}
	v := Volume{Messages: messages, Values: present, Bytes: messages*headerBytes + present*size}
	n, count := listed/messages, present/messages
	switch {
	case count >= n:
	case 16*count >= n:
		v.Bytes += messages * 8 * math.Ceil(n/64)
	default:
		v.Bytes += messages * (2*count + runBytes*min(count, math.Ceil(n/65536)))
	}
	return v
}

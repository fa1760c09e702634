package model

import "math"

// Sizes in bytes.
const (
	headerBytes = 24 // of a frame, as counted by transport.Frame.Size
	idBytes     = 8  // a parent in a fold
	runBytes    = 4  // of each group of 65,536 positions of a sparse column, besides 2 per position
	subSteps    = 4  // sub-steps of a range round a processor row (Nakao20, 3.5.3)
	tokenBytes  = 16 // before each of them
)

// Scheme is how a level of a search is delivered.
type Scheme uint8

// The first two are of this engine. With one row, push sends as `simple` does, but combined; with one
// column, pull sends as `replicated` does. The others send as the papers' codes do: whole frontiers
// as bits, and a pair of vertex and parent for each edge.
const (
	Push    Scheme      = iota // expand, push through the block, fold
	Pull                       // expand, sub-steps along the row, fold (Nakao20, 3.5)
	schemes                    // number of the engine's
	Pairs   = schemes          // expand bits, fold pairs (Ueno11, 4.1); with one row: simple
	CSR     = Pairs + 1        // all bits to all, look from each open vertex (replicated-csr)
	CSC     = CSR + 1          // all bits to all, walk the frontier's edges (replicated-csc)
)

// String returns push or pull, or the name of a paper's code.
func (s Scheme) String() string {
	return [...]string{"push", "pull", "pairs", "replicated-csr", "replicated-csc"}[s]
}

// MarshalText is String, for JSON.
func (s Scheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Grid is R x C partitions, with one per process.
type Grid struct {
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
}

// Partitions returns the number of partitions.
func (g Grid) Partitions() float64 { return float64(g.Rows) * float64(g.Columns) }

// as returns the grid that a scheme uses. In a flat grid each partition has two blocks. It pushes
// in the block of the 1 x P grid, which only folds, and pulls in the block of the P x 1 grid, which
// only expands.
func (g Grid) as(scheme Scheme) Grid {
	switch n := g.Rows * g.Columns; {
	case scheme == CSR || scheme == CSC:
		return Grid{n, 1}
	case g.Rows > 1 && g.Columns > 1 || scheme == Pairs:
		return g
	case scheme == Push:
		return Grid{1, n}
	default:
		return Grid{n, 1}
	}
}

// Volume is what an exchange of all partitions sends.
type Volume struct {
	Messages float64 `json:"messages"`
	Values   float64 `json:"values"`
	Bytes    float64 `json:"bytes"`
}

func (v *Volume) add(w Volume) {
	v.Messages += w.Messages
	v.Values += w.Values
	v.Bytes += w.Bytes
}

// Traffic is what a level sends, by phase.
type Traffic struct {
	Expand Volume `json:"expand"`
	Ring   Volume `json:"ring"`
	Fold   Volume `json:"fold"`
}

// Total returns the sum of the phases.
func (t Traffic) Total() Volume {
	v := t.Expand
	v.add(t.Ring)
	v.add(t.Fold)
	return v
}

// Traffic predicts what a level of a search sends on a grid. The combiner is Sender: in an expand,
// presence is the message; in a fold, the value is a parent's id.
func (l *Level) Traffic(scale int, g Grid, scheme Scheme) Traffic {
	var t Traffic
	g = g.as(scheme)
	r, c := float64(g.Rows), float64(g.Columns)
	if scheme >= Pairs {
		return l.paper(scale, g)
	}
	listed, sent := 0.0, 0.0
	for _, k := range l.classes {
		each := (r - 1) * spread(k.edges, r)
		listed += (k.vertices - k.isolated) * each
		sent += k.frontier * each
	}
	t.Expand = l.columns(g.Partitions()*(r-1), listed, sent, 0)
	ghosts, found := 0.0, 0.0
	open := make([]float64, g.Columns)
	for _, k := range l.classes {
		ghosts += (k.vertices - k.isolated) * (c - 1) * spread(k.edges, c)
		if scheme == Push {
			found += k.vertices * (c - 1) * -math.Expm1(-k.all/c)
			continue
		}
		for hop := range open {
			open[hop] += max(0, k.unreached*math.Exp(-k.hits*float64(hop+1)/c)-k.isolated)
		}
		found += k.unreached * (math.Exp(-k.hits/c) - math.Exp(-k.hits))
	}
	t.Fold = l.columns(g.Partitions()*(c-1), ghosts, found, idBytes)
	if scheme == Pull {
		// A range is passed on C-1 times: its owner and each block except the last search for its
		// open vertices and pass it on. Ranges are whole words. If an owner has fewer words than
		// ranges, some are empty.
		words := math.Ceil(math.Exp2(float64(scale)) / g.Partitions() / 64)
		ranges := min(words, subSteps)
		for _, vertices := range open[:g.Columns-1] {
			hop := l.columns(g.Partitions()*ranges, g.Partitions()*words*64, vertices, 0)
			empty := g.Partitions() * (subSteps - ranges) * l.Likely
			hop.Messages += empty
			hop.Bytes += empty*headerBytes + hop.Messages*tokenBytes
			hop.Values = 0
			t.Ring.add(hop)
		}
	}
	return t
}

// pairBytes is a vertex and its parent.
const pairBytes = 16

// paper predicts what a level sends in Ueno11's codes: to each process of the column all bits of a
// process's frontier, and along the row a pair for each edge of the frontier that leaves the
// process. csr and csc only have a column.
func (l *Level) paper(scale int, g Grid) Traffic {
	p, r, c := g.Partitions(), float64(g.Rows), float64(g.Columns)
	pairs := l.Edges * (c - 1) / c
	return Traffic{
		Expand: Volume{l.Likely * p * (r - 1), 0, l.Likely * (r - 1) * math.Exp2(float64(scale)) / 8},
		Fold:   Volume{l.Likely * p * (c - 1), pairs, pairs * pairBytes},
	}
}

// spread returns the probability that a vertex has an edge in a given block of a line of blocks
// (gamma of Ueno13, 3.1). Its number of edges is Poisson distributed, but at least one, with the
// given mean.
func spread(edges, line float64) float64 {
	if edges <= 0 {
		return 0
	}
	// edges is the mean of vertices with edges. The mean of all vertices is lower.
	mean := edges
	for range 30 {
		mean = edges * -math.Expm1(-mean)
	}
	if mean < 1e-9 {
		return 1 / line
	}
	return math.Expm1(-mean/line) / math.Expm1(-mean)
}

// columns returns the volume of columns: listed is the total length of their lists, present the
// expected number of present vertices, size the size of a value.
func (l *Level) columns(messages, listed, present, size float64) Volume {
	if messages == 0 {
		return Volume{}
	}
	// The number of present vertices per list, if the level exists.
	n, mean := listed/messages, present/messages/l.Likely
	return Volume{
		Messages: messages * l.Likely, Values: present,
		Bytes: messages*l.Likely*(headerBytes+presence(n, mean)) + present*size,
	}
}

// fewVertices is the maximum mean for which the lengths of lists, and the numbers of present
// vertices, are treated as random. For larger ones the mean is sufficient.
const fewVertices = 48

// presence returns the expected size of a column's presence, for a list of mean length n with this
// mean number of present vertices. Small numbers are Poisson distributed.
func presence(n, mean float64) float64 {
	if mean >= n {
		return 0
	}
	if n >= fewVertices {
		return present(n, n, mean)
	}
	sum := 0.0
	poisson(n, func(length int, p float64) {
		if length > 0 {
			sum += p * present(n, float64(length), mean*float64(length)/n)
		}
	})
	return sum
}

// present is presence for a list of a given length, where n is the mean length.
func present(n, length, mean float64) float64 {
	words := math.Ceil(length / 64)
	if n >= fewVertices {
		words = length/64 + 0.5 // lengths vary by more than a word
		if math.Mod(length, 64) == 0 {
			words = length / 64 // a range of the ring
		}
	}
	encoded := func(count float64) float64 {
		switch {
		case count >= length:
			return 0
		case 16*count >= length:
			return 8 * words
		default:
			runs := math.Ceil(length / 65536)
			return 2*count + runBytes*runs*-math.Expm1(-count/runs)
		}
	}
	if mean >= fewVertices {
		return encoded(mean)
	}
	sum := 0.0
	poisson(mean, func(count int, p float64) {
		b := encoded(float64(count))
		if count > 0 && 16*float64(count) < length {
			b = 2*float64(count) + runBytes*min(float64(count), math.Ceil(length/65536))
		}
		sum += p * b
	})
	return sum
}

// poisson calls f with every likely number of a Poisson distribution, and its probability.
func poisson(mean float64, f func(k int, p float64)) {
	p := math.Exp(-mean)
	for k := 0; float64(k) <= mean+6*math.Sqrt(mean)+6; k++ {
		f(k, p)
		p *= mean / float64(k+1)
	}
}

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

// String returns push or pull.
func (s Scheme) String() string { return [...]string{"push", "pull"}[s] }

// MarshalText is String, for JSON.
func (s Scheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Grid is R x C partitions, one each process.
type Grid struct {
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
}

// Partitions is how many there are.
func (g Grid) Partitions() float64 { return float64(g.Rows) * float64(g.Columns) }

// as is the grid that a scheme sees: in a flat one each partition has both its blocks, and pushes
// in that of the 1 x P grid, to fold alone, and pulls in that of the P x 1 grid, to expand alone.
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
	Messages float64 `json:"messages"`
	Values   float64 `json:"values"`
	Bytes    float64 `json:"bytes"`
}

func (v *Volume) add(w Volume) {
	v.Messages += w.Messages
	v.Values += w.Values
	v.Bytes += w.Bytes
}

// Traffic is what a level sends by phase.
type Traffic struct {
	Expand Volume `json:"expand"`
	Ring   Volume `json:"ring"`
	Fold   Volume `json:"fold"`
}

// Total adds the phases up.
func (t Traffic) Total() Volume {
	v := t.Expand
	v.add(t.Ring)
	v.add(t.Fold)
	return v
}

// Traffic predicts what a level of a search sends on a grid. The combiner is Sender: presence is
// the message in expand, and a parent's id the value in fold.
func (l *Level) Traffic(scale int, g Grid, scheme Scheme) Traffic {
	var t Traffic
	g = g.as(scheme)
	r, c := float64(g.Rows), float64(g.Columns)
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
		// A range is passed on C-1 times, after its owner and each block but the last looked for
		// its open vertices. Ranges are whole words: where an owner has fewer, some are empty.
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

// spread is the probability that a vertex with so many edges, one at least and a Poisson number on
// average, has one in a given block of a line of so many (gamma of Ueno13, 3.1).
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

// columns is so many columns over lists of so many vertices in all, of which so many are expected
// to be present.
func (l *Level) columns(messages, listed, present, size float64) Volume {
	if messages == 0 {
		return Volume{}
	}
	// If the level exists, so many of a list are present.
	n, mean := listed/messages, present/messages/l.Likely
	return Volume{
		Messages: messages * l.Likely, Values: present,
		Bytes: messages*l.Likely*(headerBytes+presence(n, mean)) + present*size,
	}
}

// fewVertices is up to where the lengths of lists, and how many of them are present, are taken to
// vary from column to column: of more the mean says enough.
const fewVertices = 48

// presence is the expected bytes by which a column says who is present: of a list of n on average
// so many. Lists of few, and few of a list, are Poisson.
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

// present is presence for a list of a given length, the mean of which is n.
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

// poisson calls f with every number that a Poisson variable of some mean may well have, and its
// probability.
func poisson(mean float64, f func(k int, p float64)) {
	p := math.Exp(-mean)
	for k := 0; float64(k) <= mean+6*math.Sqrt(mean)+6; k++ {
		f(k, p)
		p *= mean / float64(k+1)
	}
}

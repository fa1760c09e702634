package collective

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Pair is what a message from one rank to another costs: T = Alpha*n + Beta seconds for n bytes
// (Matsumoto15, equation 1). The sender is busy for Alpha*n + Gap seconds; Matsumoto15's broadcast
// takes Gap = Beta, but where Beta is mostly delay on the way, as between sites, a sender can have
// many messages under way (Alexandrov et al. 1995, LogGP).
type Pair struct {
	Alpha float64 `json:"alpha"` // seconds per byte
	Beta  float64 `json:"beta"`  // seconds
	Gap   float64 `json:"gap"`   // seconds
}

// Time returns how long a message of n bytes takes.
func (p Pair) Time(n float64) float64 { return p.Alpha*n + p.Beta }

// Unmeasured stands for pairs nobody has measured: loopback or a fast local network.
var Unmeasured = Pair{Alpha: 1e-9, Beta: 30e-6, Gap: 10e-6}

// Model is what messages cost between all ranks.
type Model struct {
	Ranks int    `json:"ranks"`
	Pairs []Pair `json:"pairs"` // from*Ranks + to
	// Sites is the site of each rank; nil when all are at one.
	Sites []int `json:"sites,omitempty"`
	// Trunk is the seconds per byte of what all pairs from one site to another share; 0 when they
	// share nothing.
	Trunk float64 `json:"trunk,omitempty"`
	// Gamma is the seconds per byte to combine two elements.
	Gamma float64 `json:"gamma,omitempty"`
}

// Uniform returns the model of n ranks at one site, each pair alike.
func Uniform(n int, p Pair) *Model {
	m := &Model{Ranks: n, Pairs: make([]Pair, n*n)}
	for i := range m.Pairs {
		m.Pairs[i] = p
	}
	return m
}

// Pair returns the cost from one rank to another.
func (m *Model) Pair(from, to int) Pair { return m.Pairs[from*m.Ranks+to] }

func (m *Model) site(rank int) int { return shape{sites: m.Sites}.site(rank) }

func (m *Model) validate() error {
	if m.Ranks < 1 || len(m.Pairs) != m.Ranks*m.Ranks {
		return fmt.Errorf("model of %d ranks with %d pairs", m.Ranks, len(m.Pairs))
	}
	if m.Sites != nil && len(m.Sites) != m.Ranks {
		return fmt.Errorf("model of %d ranks with the sites of %d", m.Ranks, len(m.Sites))
	}
	for _, p := range m.Pairs {
		for _, x := range []float64{p.Alpha, p.Beta, p.Gap, m.Trunk, m.Gamma} {
			if !(x >= 0) || math.IsInf(x, 0) {
				return errors.New("model with a coefficient that is no time")
			}
		}
	}
	return nil
}

// mean returns the mean cost of pairs of different ranks.
func (m *Model) mean() Pair {
	var sum Pair
	for from := range m.Ranks {
		for to := range m.Ranks {
			if from != to {
				p := m.Pair(from, to)
				sum.Alpha += p.Alpha
				sum.Beta += p.Beta
				sum.Gap += p.Gap
			}
		}
	}
	n := float64(max(m.Ranks*(m.Ranks-1), 1))
	return Pair{sum.Alpha / n, sum.Beta / n, sum.Gap / n}
}

const (
	// bytes: below, a message's own cost outweighs its bytes on any link (Matsumoto15, figure 4)
	leastSegment = 4 << 10
	mostSegments = 64
)

// segments returns into how many parts an algorithm cuts n bytes. A chain of P ranks with k
// segments takes about (P-1)(Beta + Alpha*n/k) + (k-1)(Gap + Alpha*n/k), least for k*k =
// (P-2)*Alpha*n/Gap; the power of two below is taken.
func (m *Model) segments(c Collective, a Algorithm, n int) int {
	if c != Broadcast || a != Chain || m.Ranks <= 2 || n < 2*leastSegment {
		return 1
	}
	p := m.mean()
	k := math.Sqrt(float64(m.Ranks-2) * p.Alpha * float64(n) / max(p.Gap, 1e-9))
	k = min(k, float64(n/leastSegment), mostSegments)
	return powerBelow(max(int(k), 1))
}

// log2 returns the exponent of the power of two that is at most n, and -1 for 0.
func log2(n int) int { return bits.Len(uint(max(n, 0))) - 1 }

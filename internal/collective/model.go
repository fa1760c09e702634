package collective

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Pair is the cost of a message from one rank to another: T = Alpha*n + Beta seconds for n bytes
// (Matsumoto15, equation 1). If Times are known, T goes by classes of sizes (section 4.1). The
// sender is busy for Alpha*n + Gap seconds. Matsumoto15's broadcast assumes Gap = Beta. But if Beta
// is mostly the delay of the network, as between sites, a sender can have many messages in flight
// (Alexandrov et al. 1995, LogGP).
type Pair struct {
	Alpha float64 `json:"alpha"` // seconds per byte
	Beta  float64 `json:"beta"`  // seconds
	Gap   float64 `json:"gap"`   // seconds
	// Times are the seconds of messages of the sizes in Classes; 0 if they were not measured.
	Times [len(Classes)]float32 `json:"times"`
}

// Classes are the least sizes of classes, in bytes. In each class T is linear. TCP changes its
// behaviour with the size: a message of more than ten packets may wait for confirmations.
var Classes = [...]int{
	0, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20,
}

// Time returns the time of a message of n bytes.
func (p Pair) Time(n float64) float64 {
	latency, body := p.Parts(n)
	return latency + body
}

// Parts returns the time until a message of n bytes begins to arrive, and the time of its bytes,
// for which sender and receiver are busy.
func (p Pair) Parts(n float64) (latency, body float64) {
	time, alpha := p.Alpha*n+p.Beta, p.Alpha
	for i := 1; i < len(Classes) && p.Times[i] > 0 && (i == 1 || n > float64(Classes[i-1])); i++ {
		from, start := float64(Classes[i-1]), float64(p.Times[i-1])
		to, end := float64(Classes[i]), float64(p.Times[i])
		alpha = (end - start) / (to - from)
		time = start + alpha*(n-from)
		if n > to { // if no larger message was measured; the difference may be noise
			alpha = min(max(alpha, p.Alpha/2), 2*p.Alpha)
			time = end + alpha*(n-to)
		}
	}
	time = max(time, 0)
	// Waiting for confirmations makes a class steep, but keeps nobody busy.
	body = min(max(alpha*n, 0), max(time-p.Beta, 0), 2*p.Alpha*n)
	return time - body, body
}

// Unmeasured is the assumed cost of an unmeasured pair: loopback or a fast local network.
var Unmeasured = Pair{Alpha: 1e-9, Beta: 30e-6, Gap: 10e-6}

// Model is the cost of messages between all ranks.
type Model struct {
	Ranks int    `json:"ranks"`
	Pairs []Pair `json:"pairs"` // from*Ranks + to
	// Sites is the site of each rank; nil if there is only one site.
	Sites []int `json:"sites,omitempty"`
	// Trunk is the time per byte, in seconds, on the link that all pairs from one site to another
	// share; 0 if they share none.
	Trunk float64 `json:"trunk,omitempty"`
	// Gamma is the time per byte, in seconds, of combining two elements.
	Gamma float64 `json:"gamma,omitempty"`
}

// Uniform returns the model of n ranks at one site with equal costs.
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
		all := []float64{p.Alpha, p.Beta, p.Gap, m.Trunk, m.Gamma}
		for _, x := range p.Times {
			all = append(all, float64(x))
		}
		if slices.ContainsFunc(all, func(x float64) bool { return !(x >= 0) || math.IsInf(x, 0) }) {
			return errors.New("found a model with a time that is negative or not finite")
		}
	}
	return nil
}

// mean returns the mean cost of all pairs of different ranks.
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
	return Pair{Alpha: sum.Alpha / n, Beta: sum.Beta / n, Gap: sum.Gap / n}
}

const (
	// in bytes: for smaller segments the fixed cost of a message exceeds that of its bytes on any
	// link (Matsumoto15, figure 4)
	leastSegment = 4 << 10
	mostSegments = 64
)

// segments returns the number of segments into which an algorithm cuts n bytes. A chain of P ranks
// with k segments takes about (P-1)(Beta + Alpha*n/k) + (k-1)(Gap + Alpha*n/k). The minimum is at
// k*k = (P-2)*Alpha*n/Gap. segments takes the power of two below it.
func (m *Model) segments(c Collective, a Algorithm, n int) int {
	if c != Broadcast || a != Chain || m.Ranks <= 2 || n < 2*leastSegment {
		return 1
	}
	p := m.mean()
	k := math.Sqrt(float64(m.Ranks-2) * p.Alpha * float64(n) / max(p.Gap, 1e-9))
	k = min(k, float64(n/leastSegment), mostSegments)
	return powerBelow(max(int(k), 1))
}

// log2 returns the exponent of the greatest power of two that is at most n, or -1 for 0.
func log2(n int) int { return bits.Len(uint(max(n, 0))) - 1 }

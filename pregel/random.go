package pregel

import "math/rand/v2"

// random is the source of random numbers of the vertex that runs.
type random struct {
	of     VertexID // the vertex of the current stream; None before a vertex calls Rand
	rand   *rand.Rand
	source rand.PCG

	superstep int    // the superstep of step
	key, step uint64 // hash of the seed; hash of the seed and the superstep
}

// Rand returns the vertex's source of random numbers in this superstep. The stream depends only on
// the run's seed (superstep.Options.Seed, --seed), the vertex's input id (Label) and the superstep.
// Partitions, threads, schemes of delivery and the numbering of vertices do not change results. A
// second call in the same superstep continues the stream. A [ListProgram] that draws a number for
// each message must sort the messages first, because they come in no particular order. Rand takes a
// few nanoseconds and allocates no memory. The result is only valid during the call.
func (v *cursor) Rand() *rand.Rand {
	r := &v.random
	if r.of != v.id {
		if s := &v.state; r.rand == nil || r.superstep != s.Superstep {
			r.enter(s.Seed, s.Superstep)
		}
		r.begin(v.Label())
		r.of = v.id
	}
	return r.rand
}

// enter computes the hashes of a superstep.
func (r *random) enter(seed uint64, superstep int) {
	if r.rand == nil {
		r.rand = rand.New(&r.source)
	}
	r.superstep, r.key = superstep, mix(seed)
	r.step = mix(r.key + uint64(superstep))
}

// begin starts a vertex's stream. PCG has a period of 2^128. Different vertices and supersteps get
// different states of it, since mix is one-to-one: lo differs between vertices, and hi differs
// between supersteps for the same lo.
func (r *random) begin(label uint64) {
	lo := mix(r.key ^ label)
	r.source.Seed(mix(lo^r.step), lo)
}

// mix is one step of SplitMix64: it advances the counter and returns its output (Steele, Lea, Flood
// 2014; Stafford's variant 13).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

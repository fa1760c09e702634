package pregel

import "math/rand/v2"

// random is the source of random numbers of the vertex that runs.
type random struct {
	of     VertexID // whose stream it is; None before the vertex asks
	rand   *rand.Rand
	source rand.PCG

	superstep int    // of which step is
	key, step uint64 // hashes of the seed, and of it and the superstep
}

// Rand returns the vertex's random numbers of this superstep: one stream for each seed of the run
// (superstep.Options.Seed, --seed), input id of a vertex (Label) and superstep. It depends on
// nothing else, so that partitions, threads, delivery and a cluster change no result, and neither
// does how the vertices are numbered. Asked for again in the same superstep, it goes on where it
// was. A [ListProgram] that draws a number for each message sorts the messages first: they come in
// no particular order. It takes a few nanoseconds and no memory, and is only valid during the call.
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

// enter prepares for the streams of a superstep.
func (r *random) enter(seed uint64, superstep int) {
	if r.rand == nil {
		r.rand = rand.New(&r.source)
	}
	r.superstep, r.key = superstep, mix(seed)
	r.step = mix(r.key + uint64(superstep))
}

// begin goes to the start of a vertex's stream. Different vertices and supersteps start PCG, whose
// period is 2^128, in different states, since mix is one-to-one: lo tells the vertex, and hi with
// it the superstep.
func (r *random) begin(label uint64) {
	lo := mix(r.key ^ label)
	r.source.Seed(mix(lo^r.step), lo)
}

// mix is SplitMix64's output function (Steele, Lea, Flood 2014, variant 13 of Stafford) on the next
// state of its counter.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

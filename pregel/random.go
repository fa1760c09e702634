package pregel

import "math/rand/v2"

// random is the source of random numbers of the vertex that runs.
type random struct {
	of     VertexID // whose stream it is; None before the vertex asks
	rand   *rand.Rand
	source rand.PCG
}

// Rand returns the vertex's random numbers of this superstep: one stream for each seed of the run (superstep.Options.Seed, --seed),
// input id of a vertex (Label) and superstep. It depends on nothing else, so that partitions, threads, delivery and a cluster change
// no result, and neither does how the vertices are numbered. Asked for again in the same superstep, it goes on where it was. A
// [ListProgram] that draws a number for each message sorts the messages first: they come in no particular order. It takes a few
// nanoseconds and no memory, and is only valid during the call.
func (v *Vertex[V, M]) Rand() *rand.Rand {
	r := &v.random
	if r.of != v.id {
		r.begin(v.b.Worker.state.Seed, v.Label(), v.b.Worker.Superstep)
		r.of = v.id
	}
	return r.rand
}

// begin goes to the start of a stream. Different vertices and supersteps start PCG, whose period is 2^128, in different states, since
// mix is one-to-one: lo tells the vertex, and hi with it the superstep.
func (r *random) begin(seed, label uint64, superstep int) {
	if r.rand == nil {
		r.rand = rand.New(&r.source)
	}
	key := mix(seed)
	lo := mix(key ^ label)
	hi := mix(lo ^ mix(key+uint64(superstep)))
	r.source.Seed(hi, lo)
}

// mix is SplitMix64's output function (Steele, Lea, Flood 2014, variant 13 of Stafford) on the next state of its counter.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

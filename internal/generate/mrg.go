package generate

import "sync"

// The random numbers of Graph500: the multiple recursive generator of order five modulo 2^31-1 of
// L'Ecuyer, Blouin and Couture (1993), with the official seeding and skipping.
const (
	modulus = 1<<31 - 1
	factor1 = 107374182 // of z1
	factor5 = 104480    // of z5
)

// state is z1 to z5: the last five outputs, newest first, each below modulus.
type state [5]uint64

// seeded returns the initial state for the two seeds of a Graph500 run.
func seeded(seed1, seed2 uint64) state {
	const low = 1<<30 - 1
	return state{
		seed1&low + 1,
		seed1>>30&low + 1,
		seed2&low + 1,
		seed2>>30&low + 1,
		seed2>>60<<4 + seed1>>60 + 1,
	}
}

// next returns the next output, which is below modulus.
func (s *state) next() uint64 {
	z := (factor1*s[0] + factor5*s[4]) % modulus
	*s = state{z, s[0], s[1], s[2], s[3]}
	return z
}

// skip returns the state after high*2^128 + mid*2^64 + low more outputs.
func (s state) skip(high, mid, low uint64) state {
	p := powers()
	for word, n := range [...]uint64{low, mid, high} {
		for k := 64 * word; n != 0; k, n = k+1, n>>1 {
			if n&1 != 0 {
				s[0], s[1], s[2], s[3], s[4] = p[k].apply(s[0], s[1], s[2], s[3], s[4])
			}
		}
	}
	for i := range s {
		s[i] %= modulus
	}
	return s
}

// matrix maps a state to the state some number of steps later. Its entries are below modulus.
type matrix [5][5]uint64

// powers returns the matrices for 2^k steps, k < 136: the greatest skip in the specification is 50
// x 2^128.
var powers = sync.OnceValue(func() *[136]matrix {
	p := new([136]matrix)
	p[0] = matrix{{factor1, 0, 0, 0, factor5}, {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}
	for k := 1; k < len(p); k++ {
		p[k] = p[k-1].squared()
	}
	return p
})

func (a *matrix) squared() (b matrix) {
	for i := range b {
		for j := range b[i] {
			for k := range a {
				b[i][j] = (b[i][j] + a[i][k]*a[k][j]) % modulus
			}
		}
	}
	return b
}

// apply applies a to a state. Both states may exceed modulus, but stay below 2^31+8. Elements are
// passed separately because the compiler keeps arrays in memory.
func (a *matrix) apply(z1, z2, z3, z4, z5 uint64) (_, _, _, _, _ uint64) {
	return fold(dot(&a[0], z1, z2, z3, z4, z5)),
		fold(dot(&a[1], z1, z2, z3, z4, z5)),
		fold(dot(&a[2], z1, z2, z3, z4, z5)),
		fold(dot(&a[3], z1, z2, z3, z4, z5)),
		fold(dot(&a[4], z1, z2, z3, z4, z5))
}

// dot returns a number below 2^34 that is congruent to an element of a product. The sum of three
// products of slightly more than 31 bits fits into a word.
func dot(row *[5]uint64, z1, z2, z3, z4, z5 uint64) uint64 {
	return fold(row[0]*z1+row[1]*z2+row[2]*z3) + fold(row[3]*z4+row[4]*z5)
}

// fold returns a smaller congruent number: 2^31 is 1 modulo 2^31-1.
func fold(x uint64) uint64 { return x&modulus + x>>31 }

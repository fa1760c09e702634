// Package nas has three of the NAS Parallel Benchmarks (Bailey et al. 1991; NPB 3.4): CG, the
// smallest eigenvalue of a sparse matrix by conjugate gradients, IS, the ranks of integer keys, and
// FT, a partial differential equation by Fourier transforms. GridMPI was measured with them
// (Matsuda, figure 2). Their numbers are generated as in NPB, so results can be compared with the
// published ones. Start with cg.go, is.go and ft.go.
//
//	random -> MakeA -> Matrix -> CG, a vertex program, of any engine: in one process or on a cluster
//	                     `----> Solver, of ranks that do collectives (Matsumoto15, figure 7)
//	random -> Sorter, Transformer, of ranks that do collectives
package nas

// Random is the generator of NPB: x' = 5^13 x mod 2^46.
type Random uint64

const (
	seed       Random = 314159265
	multiplier uint64 = 1220703125 // 5^13
	modulus    uint64 = 1 << 46
)

// Next returns the next number, between 0 and 1. It has 46 bits, so it is exact. If the product
// exceeds 64 bits, only bits are lost that the modulus removes.
func (r *Random) Next() float64 {
	*r = Random(uint64(*r) * multiplier % modulus)
	return float64(*r) / float64(modulus)
}

// Skip skips n numbers in log2 n steps.
func (r *Random) Skip(n uint64) {
	x, factor := uint64(*r), multiplier
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			x = x * factor % modulus
		}
		factor = factor * factor % modulus
	}
	*r = Random(x)
}

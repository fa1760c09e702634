package generate

import "math/bits"

// scramble is the official generator's permutation of labels, which makes labels independent of
// degrees.
type scramble struct {
	sum, times0, times1 uint64
	shift               uint // 64 - SCALE
}

// newScramble returns the permutation of 2^scale labels for a seed.
func newScramble(seed state, scale int) scramble {
	key0, key1 := keys(seed)
	return scramble{
		sum: key0 + key1, times0: key0 | 0x4519840211493211, times1: key1 | 0x3050852102C843A5,
		shift: uint(64 - scale),
	}
}

// keys returns the two parameters of a permutation.
func keys(seed state) (key0, key1 uint64) {
	s := seed.skip(50, 7, 0)
	key0 = s.next() * (1<<32 - 1)
	key0 += s.next()
	key1 = s.next() * (1<<32 - 1)
	key1 += s.next()
	return key0, key1
}

// label returns the label of vertex v.
func (s *scramble) label(v uint64) uint64 {
	v = bits.Reverse64((v+s.sum)*s.times0) >> s.shift
	return bits.Reverse64(v*s.times1) >> s.shift
}

// all replaces vertices by their labels. Only the lowest SCALE bits matter in each step, so two
// labels of up to 32 bits are reversed as the halves of one word, which also swaps them.
func (s *scramble) all(us, vs []uint64) {
	vs = vs[:len(us)]
	if s.shift < 32 {
		for i := range us {
			us[i], vs[i] = s.label(us[i]), s.label(vs[i])
		}
		return
	}
	shift := s.shift - 32
	for i, u := range us {
		x := bits.Reverse64((u+s.sum)*s.times0<<32 | uint64(uint32((vs[i]+s.sum)*s.times0)))
		u, v := uint32(x)>>(shift&31), uint32(x>>32)>>(shift&31)
		x = bits.Reverse64(uint64(u*uint32(s.times1))<<32 | uint64(v*uint32(s.times1)))
		us[i], vs[i] = uint64(uint32(x)>>(shift&31)), x>>32>>(shift&31)
	}
}

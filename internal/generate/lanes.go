package generate

import "math/bits"

const (
	// width is the number of tuples that are drawn in parallel. A step of the recurrence has a
	// latency of some seven cycles. Four independent chains keep the processor busy, and still fit
	// into its registers.
	width = 4
	// maxScale is the greatest SCALE: packed edges of a Graph500 file have 48 bits per endpoint.
	maxScale = 48
)

// lanes draws the endpoints of tuples i to i+3 from their own streams, which are 2^64 steps apart.
// Row r of z has output r-4 of the four streams. Rows 0 to 4 are the states (z5 to z1), from which
// the others are computed: the recurrence takes one value from a register and one from the row five
// above.
//
// Invariant: rows 0 to 4 are below 2^31+8 and the others below 2^31+2^27; they are congruent to the
// true outputs, and none is modulus or more above them.
type lanes struct {
	z      [5 + maxScale][width]uint64
	stride *matrix // skips width streams
}

// begin sets the lanes to the tuples from i on.
func (l *lanes) begin(seed state, i int) {
	p := powers()
	l.stride = &p[64+bits.TrailingZeros(width)]
	s := seed.skip(0, uint64(i), 0)
	z1, z2, z3, z4, z5 := s[0], s[1], s[2], s[3], s[4]
	for k := range width {
		l.z[4][k], l.z[3][k], l.z[2][k], l.z[1][k], l.z[0][k] = z1, z2, z3, z4, z5
		z1, z2, z3, z4, z5 = p[64].apply(z1, z2, z3, z4, z5)
	}
}

// advance goes to the next tuples.
func (l *lanes) advance() {
	z := &l.z
	for k := range width {
		z[4][k], z[3][k], z[2][k], z[1][k], z[0][k] = l.stride.apply(z[4][k], z[3][k], z[2][k],
			z[1][k], z[0][k])
	}
}

// draw draws levels from to to-1, at most 32, and returns the lanes' bits: the source's bits in the
// upper half of a word, the target's in the lower. It returns false at an output that the
// specification rejects. That happens for one tuple in tens of thousands, which [Kronecker.plain]
// then draws.
func (l *lanes) draw(from, to int) (e [width]uint64, ok bool) {
	above, rows := l.z[from:to], l.z[from+5:to+5]
	above = above[:len(rows)]
	last := &l.z[from+4]
	z0, z1, z2, z3 := last[0], last[1], last[2], last[3]
	var e0, e1, e2, e3 uint64
	for i := range rows {
		old, row := &above[i], &rows[i]
		z0 = fold(factor1*z0 + factor5*old[0])
		z1 = fold(factor1*z1 + factor5*old[1])
		z2 = fold(factor1*z2 + factor5*old[2])
		z3 = fold(factor1*z3 + factor5*old[3])
		row[0], row[1], row[2], row[3] = z0, z1, z2, z3
		x0, x1, x2, x3 := double(z0), double(z1), double(z2), double(z3)
		if x0 < tooSmall || x1 < tooSmall || x2 < tooSmall || x3 < tooSmall {
			return e, false
		}
		e0 = e0<<1 + quadrant(x0)
		e1 = e1<<1 + quadrant(x1)
		e2 = e2<<1 + quadrant(x2)
		e3 = e3<<1 + quadrant(x3)
	}
	return [width]uint64{e0, e1, e2, e3}, true
}

// double returns 2c+1 or 2c+2 for z = c or z = c + modulus, z at most 2^31+2^27 and c below
// modulus. The bit that tells the two cases apart is the highest of z+1, and the rotation carries
// it round to where it is worth half a c.
func double(z uint64) uint32 { return bits.RotateLeft32(uint32(z)+1, 1) }

// tooSmall is the doubled form of the smallest output that is not rejected: 2^31-1 mod 10000.
const tooSmall = 2*rejected + 1

// quadrant returns source<<32 | target of one level, given an output c in doubled form x.
//
// The product, modulo 2^64, is the fraction c%10000 of 10000: step is the greatest integer below
// 2^64 / 20000, so the product is c%10000 and a half or a whole, less a little, in units of 2^64 /
// 10000; the half and the little are harmless. Its hundredths say in which quadrant c%10000 is,
// since the limits 1900, 3800 and 9500 are multiples of 100.
func quadrant(x uint32) uint64 {
	const step = 922337203685477
	return quadrants[uint64(x)*step>>5*25>>57]
}

// quadrants holds the bits of a level by hundredth, padded so that a 7-bit index needs no check.
var quadrants = func() (q [128]uint64) {
	for i := range 100 {
		switch source, target := level(uint64(100 * i)); {
		case source != 0 && target != 0:
			q[i] = 1<<32 | 1
		case source != 0:
			q[i] = 1 << 32
		case target != 0:
			q[i] = 1
		}
	}
	return q
}()

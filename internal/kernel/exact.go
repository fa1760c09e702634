package kernel

import "math"

// exactSum adds floats without rounding. It stores the sum as parts that do not overlap, and rounds
// once at the end, so the sum does not depend on the order (Shewchuk 1997).
type exactSum struct {
	parts   []float64
	special float64 // sum of infinities and NaNs
}

func (s *exactSum) add(x float64) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		s.special += x
		return
	}
	kept := 0
	for _, y := range s.parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		hi := x + y
		if math.IsInf(hi, 0) {
			s.special += hi // beyond the largest float: infinite, as a plain sum would be
			return
		}
		lo := y - (hi - x)
		if lo != 0 {
			s.parts[kept] = lo
			kept++
		}
		x = hi
	}
	s.parts = append(s.parts[:kept], x)
}

func (s *exactSum) merge(from *exactSum) {
	s.special += from.special
	for _, x := range from.parts {
		s.add(x)
	}
}

// round returns the float nearest to the sum.
func (s *exactSum) round() float64 {
	if s.special != 0 || math.IsNaN(s.special) {
		return s.special
	}
	n := len(s.parts)
	if n == 0 {
		return 0
	}
	hi, lo := s.parts[n-1], 0.0
	n--
	for n > 0 {
		x, y := hi, s.parts[n-1]
		n--
		hi = x + y
		lo = y - (hi - x)
		if lo != 0 {
			break
		}
	}
	// The sign of the remaining parts breaks a tie between two floats.
	if n > 0 && (lo < 0 && s.parts[n-1] < 0 || lo > 0 && s.parts[n-1] > 0) {
		if y := lo * 2; y == (hi+y)-hi {
			hi += y
		}
	}
	return hi
}

func (s *exactSum) reset() { s.parts, s.special = s.parts[:0], 0 }

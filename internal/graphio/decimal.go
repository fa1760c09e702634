package graphio

import "math"

// powers are the powers of ten by which a decimal of up to 15 digits may be scaled.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal reads a number of the form -12.345, of at most 15 digits, from data[i:], which a byte
// that is none of these ends: the caller looks at that. 15 digits and the power of ten below them
// are exact in double precision, so that one division rounds right (Clinger 1990). It reports false
// on any other form, and where rounding to single precision would be rounding twice.
func decimal(data []byte, i int, single bool) (w float64, end int, ok bool) {
	negative := data[i] == '-'
	if negative {
		i++
	}
	from := i
	mantissa, i := digits(data, i)
	n, scale := i-from, 0
	if n == 0 || n > 15 {
		return 0, i, false
	}
	if data[i] == '.' {
		from = i + 1
		for i++; i < len(data); i++ {
			d := data[i] - '0'
			if d > 9 {
				break
			}
			mantissa = mantissa*10 + uint64(d)
		}
		if scale = i - from; n+scale > 15 {
			return 0, i, false
		}
	}
	w = float64(mantissa) / powers[scale]
	if negative {
		w = -w
	}
	if single {
		return roundSingle(w, i)
	}
	return w, i, true
}

// roundSingle rounds w, itself rounded from a decimal, to single precision. A double that lies just
// between two singles does not tell on which side of it the decimal was; any other does.
func roundSingle(w float64, i int) (float64, int, bool) {
	s := float32(w)
	size := math.Abs(w)
	if math.Float64bits(w)<<35 == 1<<63 || (size < 0x1p-126 && size > 0) {
		return 0, i, false
	}
	return float64(s), i, true
}

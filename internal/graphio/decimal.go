package graphio

import "math"

// powers are the powers of ten that scale a decimal of up to 15 digits.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal reads a number such as -12.345 with at most 15 digits from data[i:]. The caller checks
// the byte after it. 15 digits and the power of ten that scales them are exact in double precision,
// so one division rounds correctly (Clinger 1990). It reports false for any other form, and if
// rounding to single precision would round twice.
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

// roundSingle rounds w, the rounded value of a decimal, to single precision. It fails if w lies
// exactly between two singles: then w does not tell which of them is nearer to the decimal.
func roundSingle(w float64, i int) (float64, int, bool) {
	s, size := float32(w), math.Abs(w)
	if math.Float64bits(w)<<35 == 1<<63 || (size < 0x1p-126 && size > 0) {
		return 0, i, false
	}
	return float64(s), i, true
}

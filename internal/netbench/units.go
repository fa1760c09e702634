package netbench

import (
	"fmt"
	"math"
)

// duration formats seconds with at most three digits.
func duration(s float64) string {
	if s == 0 {
		return "0"
	}
	return scaled(s*1e9, "ns", "µs", "ms", "s")
}

// rate formats bytes per second with at most three digits, in powers of ten as is usual for links.
func rate(r float64) string {
	if math.IsInf(r, 0) || math.IsNaN(r) || r == 0 {
		return "-"
	}
	return scaled(r, "B/s", "kB/s", "MB/s", "GB/s", "TB/s")
}

// scaled formats a number of the first unit. Each unit is 1000 times the one before.
func scaled(x float64, units ...string) string {
	for ; x >= 999.5 && len(units) > 1; units = units[1:] {
		x /= 1000
	}
	return fmt.Sprintf("%.3g %s", x, units[0])
}

// size formats bytes, in powers of 1024 if they are multiples.
func size(n int) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

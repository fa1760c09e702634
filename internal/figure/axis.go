package figure

import (
	"fmt"
	"math"
	"slices"
)

// Axis describes an axis of a panel.
type Axis struct {
	Label string // under the x axis
	// Base makes the axis logarithmic; its ends are powers of Base. With 0 the axis is linear and
	// begins at 0.
	Base float64
	// Names are labels for the values 0, 1, 2 and so on. All of them are shown.
	Names []string
	// Text formats the label of a value; nil means %g.
	Text func(v float64) string
}

// shows reports whether the axis can show a value.
func (a *Axis) shows(v float64) bool {
	return !math.IsInf(v, 0) && !math.IsNaN(v) && (v > 0 || a.Base == 0)
}

// scale maps values to pixels.
type scale struct {
	*Axis
	low, high float64 // exponents, if the axis is logarithmic
	from, to  float64 // pixels
}

// mostTicks is the greatest number of ticks of an axis, except for names.
const mostTicks = 8

func (a *Axis) scale(values []float64, from, to float64) scale {
	s := scale{Axis: a, from: from, to: to, high: 1}
	switch {
	case a.Names != nil:
		s.low, s.high = -0.5, float64(len(a.Names))-0.5
	case len(values) == 0:
	case a.Base == 0:
		s.low, s.high = min(slices.Min(values), 0), max(slices.Max(values), 0)
		if s.low == s.high {
			s.high++
		}
		step := s.step()
		s.low, s.high = math.Floor(s.low/step)*step, math.Ceil(s.high/step-1e-9)*step
	default:
		s.low = math.Floor(s.place(slices.Min(values)) + 1e-9)
		s.high = max(math.Ceil(s.place(slices.Max(values))-1e-9), s.low+1)
	}
	return s
}

// place returns a value's position between low and high.
func (s *scale) place(v float64) float64 {
	if s.Base == 0 {
		return v
	}
	return math.Log(v) / math.Log(s.Base)
}

func (s *scale) at(v float64) float64 {
	return s.from + (s.place(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

// step returns the distance between ticks of a linear axis: 1, 2 or 5 times a power of ten, so that
// there are few.
func (s *scale) step() float64 {
	unit := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/mostTicks)))
	for _, times := range []float64{1, 2, 5, 10} {
		if unit*times*(mostTicks-1) >= s.high-s.low {
			return unit * times
		}
	}
	return 20 * unit
}

// ticks returns the values with labels: names, round numbers, or every n-th power of the base.
func (s *scale) ticks() []float64 {
	var list []float64
	switch {
	case s.Names != nil:
		for i := range s.Names {
			list = append(list, float64(i))
		}
	case s.Base == 0:
		step := s.step()
		for i := math.Round(s.low / step); i*step <= s.high+step/1e6; i++ {
			list = append(list, i*step)
		}
	default:
		step := math.Ceil((s.high - s.low + 1) / mostTicks)
		for e := s.low; e <= s.high; e += step {
			list = append(list, math.Pow(s.Base, e))
		}
	}
	return list
}

func (s *scale) text(v float64) string {
	if i := int(v); s.Names != nil && i >= 0 && i < len(s.Names) {
		return s.Names[i]
	}
	if s.Text != nil {
		return s.Text(v)
	}
	return fmt.Sprintf("%.6g", v)
}

package mem

import "fmt"

// Exhausted is the panic value of Make if there is no memory for an array. It is a panic because
// arrays are made in many places, and an error from each would add no information. [Recover] turns
// it into an error at the beginning of the work.
type Exhausted struct {
	Bytes int64 // of the array
	Err   error // the error of the system or of the budget
	// Budget means that the budget has no room, not the system.
	Budget bool
}

func (e *Exhausted) Error() string {
	switch {
	case e.Budget && e.Bytes == 0:
		return fmt.Sprintf("not enough memory: %v", e.Err)
	case e.Budget:
		return fmt.Sprintf("not enough memory: %s are requested for %v", Text(e.Bytes), e.Err)
	}
	text := fmt.Sprintf("not enough memory: no memory for an array of %s (%v)", Text(e.Bytes),
		e.Err)
	if free := Available(); free > 0 {
		text += fmt.Sprintf("; %s are available", Text(free))
	}
	return text
}

// Unwrap returns the error of the system or of the budget.
func (e *Exhausted) Unwrap() error { return e.Err }

// Recover turns a panic with an *Exhausted into an error. It repeats other panics. It must be
// deferred directly, with the address of the caller's error result.
func Recover(err *error) {
	v := recover()
	if exhausted := IsExhausted(v); exhausted != nil {
		*err = exhausted
	} else if v != nil {
		panic(v)
	}
}

// Text formats a number of bytes with a unit.
func Text(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	x, unit := float64(bytes)/(1<<10), 0
	for ; x >= 999.95 && unit < len(units)-1; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %ciB", x, units[unit])
}

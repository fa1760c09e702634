package mem

import "fmt"

// Exhausted is what Make panics with when the system has no memory for an array. An error at each
// of the many places that make arrays would say no more; [Recover] makes one of it, where work
// began.
type Exhausted struct {
	Bytes int64 // of the array
	Err   error // what the system said, or the budget
	// Budget says that it is the budget that has no room.
	Budget bool
}

func (e *Exhausted) Error() string {
	switch {
	case e.Budget && e.Bytes == 0:
		return fmt.Sprintf("not enough memory: %v", e.Err)
	case e.Budget:
		return fmt.Sprintf("not enough memory: %s are asked for %v", Text(e.Bytes), e.Err)
	}
	text := fmt.Sprintf("not enough memory: there is none for an array of %s (%v)", Text(e.Bytes),
		e.Err)
	if free := Available(); free > 0 {
		text += fmt.Sprintf("; %s are available", Text(free))
	}
	return text
}

// Unwrap returns what the system said.
func (e *Exhausted) Unwrap() error { return e.Err }

// Recover turns a panic of an *Exhausted into an error; others go on. It is deferred by itself,
// with the address of the error that the function returns.
func Recover(err *error) {
	v := recover()
	if exhausted := IsExhausted(v); exhausted != nil {
		*err = exhausted
	} else if v != nil {
		panic(v)
	}
}

// Text returns a number of bytes for people.
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

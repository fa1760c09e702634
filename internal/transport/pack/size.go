package pack

import (
	"errors"
	"reflect"
)

// Sampled messages tell about how many bytes all of a frame take. A message of more than
// mostSampled bytes counts as one of so many: it may refer to itself.
const (
	sampled     = 64
	mostSampled = 64 << 10
)

// Sizer returns a function that tells about how many bytes messages of a type, in a slice, take
// when they are encoded. Those that cannot be count as they lie in memory.
func Sizer(t reflect.Type) func(messages reflect.Value) int {
	inMemory := func(messages reflect.Value) int { return messages.Len() * int(t.Size()) }
	if Carried(t) != nil || encodesItself(t) {
		return inMemory
	}
	return func(messages reflect.Value) int {
		n, sum, seen := messages.Len(), 0, 0
		step := max(1, (n+sampled-1)/sampled)
		size := new(counter)
		e := newEncoder(size)
		for i := 0; i < n; i += step {
			*size = 0
			if err := e.Encode(messages.Index(i).Addr().Interface()); err != nil && !errors.Is(err, errLong) {
				return inMemory(messages)
			}
			sum += int(*size)
			seen++
		}
		return sum * n / max(seen, 1)
	}
}

// counter counts the bytes of a message, but for the rest of a long one.
type counter int

var errLong = errors.New("the message is long")

func (c *counter) Write(p []byte) (int, error) {
	if *c += counter(len(p)); *c > mostSampled {
		return 0, errLong
	}
	return len(p), nil
}

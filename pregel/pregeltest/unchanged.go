package pregeltest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// sentMessages checks that what a message points to (a slice, a map) does not change after it was sent: with more partitions,
// or processes, its receivers would get something else. It has the messages of the last two supersteps, as they are and as they
// were when they were sent: every message is written out twice.
type sentMessages struct{ all []sentMessage }

type sentMessage struct {
	superstep int
	from      pregel.VertexID
	message   any
	text      string
}

// Sent remembers a message.
func (s *sentMessages) Sent(superstep int, from pregel.VertexID, m any) {
	s.all = append(s.all, sentMessage{superstep, from, m, deepText(m)})
}

// Ended reports the first message that has changed, and forgets those that have been read in this superstep.
func (s *sentMessages) Ended(superstep int, label func(pregel.VertexID) uint64) error {
	for _, m := range s.all {
		if now := deepText(m.message); now != m.text {
			return fmt.Errorf("the message that vertex %d sent in superstep %d was changed in superstep %d, after it was sent: from %.100s to %.100s; "+
				"send a copy: what a message points to belongs to the engine", label(m.from), m.superstep, superstep, m.text, now)
		}
	}
	s.all = slices.DeleteFunc(s.all, func(m sentMessage) bool { return m.superstep < superstep })
	return nil
}

// deepText writes a value with all that it points to.
func deepText(v any) string { return string(appendDeep(nil, reflect.ValueOf(v), 32)) }

func appendDeep(dst []byte, v reflect.Value, depth int) []byte {
	if depth == 0 {
		return append(dst, "..."...)
	}
	list := func(n int, at func(i int) reflect.Value) []byte {
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = appendDeep(dst, at(i), depth-1)
		}
		return append(dst, ']')
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return appendDeep(dst, v.Elem(), depth-1)
		}
	case reflect.Slice, reflect.Array:
		return list(v.Len(), v.Index)
	case reflect.Struct:
		return list(v.NumField(), v.Field)
	case reflect.Map:
		var entries []string
		for each := v.MapRange(); each.Next(); {
			entry := append(appendDeep(nil, each.Key(), depth-1), ':')
			entries = append(entries, string(appendDeep(entry, each.Value(), depth-1)))
		}
		slices.Sort(entries)
		return fmt.Append(dst, entries)
	}
	return fmt.Append(dst, v)
}

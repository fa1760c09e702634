package pregeltest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// sentMessages checks that the memory that a message points to (a slice, a map) does not change
// after the message was sent. With more partitions or processes its receivers could get another
// content. It writes each message as text twice, when it was sent and later. It keeps the messages
// of the last two supersteps, and a bounded number of older ones. It also checks that nobody
// changes the program's fields, because other processes have their own copy.
type sentMessages struct {
	all     []sentMessage
	program map[string]string // the fields' texts before the superstep
}

type sentMessage struct {
	superstep int
	from      pregel.VertexID
	message   any
	text      string
}

// olderBytes bounds the size of messages that are kept after they were read.
const olderBytes = 1 << 18

// Sent records a message when it is sent.
func (s *sentMessages) Sent(superstep int, from pregel.VertexID, m any) {
	s.all = append(s.all, sentMessage{superstep, from, m, deepText(m)})
}

// Began records the program's fields before a superstep.
func (s *sentMessages) Began(program any) { s.program = fieldTexts(program) }

// Ended returns an error for the first message or field that has changed. It forgets messages that
// have been read.
func (s *sentMessages) Ended(superstep int, program any, label func(pregel.VertexID) uint64) error {
	for _, m := range s.all {
		if now := deepText(m.message); now != m.text {
			return fmt.Errorf("the message that vertex %d sent in superstep %d was changed in "+
				"superstep %d, after it was sent: from %.100s to %.100s; send a copy, and set a "+
				"value to a copy: what a message points to belongs to the engine", label(m.from),
				m.superstep, superstep, m.text, now)
		}
	}
	room := olderBytes
	for i := len(s.all) - 1; i >= 0; i-- {
		if room -= len(s.all[i].text); room < 0 && s.all[i].superstep < superstep {
			s.all = slices.Delete(s.all, 0, i+1)
			break
		}
	}
	if name, before, after, ok := changedField(s.program, fieldTexts(program)); ok {
		return fmt.Errorf("vertices changed the program's field %s in superstep %d, from %.100s "+
			"to %.100s: other processes have programs of their own; what vertices know together "+
			"goes into an aggregator, and what one knows into its value or a column", name,
			superstep, before, after)
	}
	return nil
}

// deepText writes a value, and all that it points to, as text.
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

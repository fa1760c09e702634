package engine

import (
	"context"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

type checkMessages struct{}

// CheckMessages returns a context in which a job of one partition and one thread fails when what a message points to (a slice,
// a map) is changed after it was sent: with more partitions, or processes, its receivers would get something else. It is
// for tests: every message is written out twice.
func CheckMessages(ctx context.Context) context.Context {
	return context.WithValue(ctx, checkMessages{}, true)
}

// sentMessages are the messages of the last two supersteps, as they are and as they were when they were sent.
type sentMessages[M any] struct{ all []sentMessage[M] }

type sentMessage[M any] struct {
	superstep int
	from      pregel.VertexID
	message   M
	text      string
}

// watchMessages makes the runner of a job remember the messages that are sent, if ctx asks for it.
func (r *runner[V, M]) watchMessages(ctx context.Context) {
	if ctx.Value(checkMessages{}) == nil || mem.PointerFree[M]() || r.part.Of > 1 || len(r.threads) > 1 {
		return
	}
	r.sent = new(sentMessages[M])
	outbox, lift := r.outboxes[0], r.outboxes[0].Lift
	outbox.Lift = func(from uint64, m M) (M, bool) {
		ok := true
		if lift != nil {
			m, ok = lift(from, m)
		}
		r.sent.add(r.command.Superstep, pregel.VertexID(from), m)
		return m, ok
	}
}

// addAll remembers the messages that the vertices of a block have sent to all their neighbours.
func (r *runner[V, M]) addAll(b *pregel.Block[V, M], sent uint64) {
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent)
		r.sent.add(r.command.Superstep, b.ID(i), b.Out[i])
	}
}

func (s *sentMessages[M]) add(superstep int, from pregel.VertexID, m M) {
	s.all = append(s.all, sentMessage[M]{superstep, from, m, deepText(m)})
}

// check reports the first message that has changed, and forgets those that have been read in this superstep.
func (s *sentMessages[M]) check(superstep int, label func(pregel.VertexID) uint64) error {
	for _, m := range s.all {
		if now := deepText(m.message); now != m.text {
			return fmt.Errorf("the message that vertex %d sent in superstep %d was changed in superstep %d, after it was sent: from %.100s to %.100s; "+
				"send a copy: what a message points to belongs to the engine", label(m.from), m.superstep, superstep, m.text, now)
		}
	}
	s.all = slices.DeleteFunc(s.all, func(m sentMessage[M]) bool { return m.superstep < superstep })
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

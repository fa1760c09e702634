package kernel

import "github.com/superstep-go/superstep/internal/mem"

// Outbox buffers the messages that the vertices of one goroutine send to single vertices, by the
// owner of the receiver.
type Outbox[M any] struct {
	Addresses
	// Msg holds, for each owner, the messages.
	Msg [][]M
	// Lift, if not nil, converts a message; it reports false for one that is not sent.
	Lift func(from uint64, m M) (M, bool)

	along [along]M
	view  Vec[M] // see Messages
}

// Addresses are the receivers, and where asked the senders, of the messages in an Outbox.
type Addresses struct {
	// Partitions is the number of owners: vertex id belongs to id mod Partitions, as its local
	// vertex id / Partitions.
	Partitions uint64
	// To and From hold, for each owner, the receivers' local indices, and, if KeepSenders, the
	// senders.
	To   [][]uint32
	From [][]uint64
	// KeepSenders is set in deterministic runs, where messages are combined in the order of their
	// senders.
	KeepSenders bool
	// Store, if not nil, is where large arrays lie.
	Store *mem.Arena
	// Count is the number of messages, but for those along edges that Settle has not seen.
	Count int

	// Messages along edges of lists, by the edges' places in Adj. Their receivers are looked up
	// many at a time: each is likely not in the cache, and lookups that do not depend on one
	// another overlap.
	lists   *EdgeLists
	waiting int
	places  [along]uint32
}

// along is how many receivers are looked up at a time: several times the misses that a core has
// under way.
const along = 128

// NewOutbox makes an empty outbox for a number of owners.
func NewOutbox[M any](partitions int, keepSenders bool) *Outbox[M] {
	return &Outbox[M]{Addresses: newAddresses(partitions, keepSenders), Msg: make([][]M,
		partitions)}
}

func newAddresses(partitions int, keepSenders bool) Addresses {
	return Addresses{
		Partitions: uint64(partitions), KeepSenders: keepSenders,
		To: make([][]uint32, partitions), From: make([][]uint64, partitions),
	}
}

// Sent is the number of messages, those along edges included.
func (o *Addresses) Sent() int { return o.Count + o.waiting }

// Add takes a message from one vertex to another.
func (o *Outbox[M]) Add(to, from uint64, m M) {
	if o.Lift != nil {
		var sent bool
		if m, sent = o.Lift(from, m); !sent {
			return
		}
	}
	owner, local := uint64(0), to
	if o.Partitions > 1 {
		owner, local = to%o.Partitions, to/o.Partitions
	}
	if len(o.To[owner]) == cap(o.To[owner]) || len(o.Msg[owner]) == cap(o.Msg[owner]) {
		o.grow(int(owner), 1)
	}
	o.To[owner] = append(o.To[owner], uint32(local))
	o.Msg[owner] = append(o.Msg[owner], m)
	if o.KeepSenders {
		o.From[owner] = append(o.From[owner], from)
	}
	o.Count++
}

// AddAlong takes a message along the edge at a place of the lists' Adj.
func (o *Outbox[M]) AddAlong(lists *EdgeLists, place uint32, from uint64, m M) {
	if o.KeepSenders {
		o.Add(lists.ID(lists.Adj[place]), from, m)
		return
	}
	if o.Lift != nil {
		var sent bool
		if m, sent = o.Lift(from, m); !sent {
			return
		}
	}
	if o.waiting == along || o.lists != lists {
		o.Settle()
		o.lists = lists
	}
	o.places[o.waiting], o.along[o.waiting] = place, m
	o.waiting++
}

// Settle finds the receivers of all messages along edges.
func (o *Outbox[M]) Settle() {
	switch places := o.lookUp(); {
	case len(places) == 0:
	case o.Partitions == 1: // where a slot is a vertex
		o.grow(0, o.waiting)
		o.To[0], o.Msg[0] = append(o.To[0], places...), append(o.Msg[0], o.along[:o.waiting]...)
		o.Count += o.waiting
	default:
		lift := o.Lift
		o.Lift = nil // AddAlong has called it
		for i, slot := range places {
			o.Add(o.lists.ID(slot), 0, o.along[i])
		}
		o.Lift = lift
	}
	o.waiting = 0
}

// lookUp returns the receivers of the messages along edges: their slots.
func (o *Addresses) lookUp() []uint32 {
	if o.waiting == 0 {
		return nil
	}
	adj, places := o.lists.Adj, o.places[:o.waiting]
	for i, at := range places {
		places[i] = adj[at]
	}
	return places
}

// grow makes room for n messages more to an owner.
func (o *Outbox[M]) grow(owner, n int) {
	o.To[owner] = mem.Grow(o.Store, o.To[owner], n)
	o.Msg[owner] = mem.Grow(o.Store, o.Msg[owner], n)
	if o.KeepSenders {
		o.From[owner] = mem.Grow(o.Store, o.From[owner], n)
	}
}

// Put takes a message whose owner and place there are known, as it is.
func (o *Outbox[M]) Put(owner int, local uint32, from uint64, m M) {
	o.To[owner] = append(o.To[owner], local)
	o.Msg[owner] = append(o.Msg[owner], m)
	if o.KeepSenders {
		o.From[owner] = append(o.From[owner], from)
	}
	o.Count++
}

// Reset empties the outbox and keeps its memory.
func (o *Outbox[M]) Reset() {
	for i := range o.To {
		o.To[i], o.From[i], o.Msg[i] = o.To[i][:0], o.From[i][:0], o.Msg[i][:0]
	}
	o.Count, o.waiting = 0, 0
}

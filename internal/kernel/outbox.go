package kernel

import "github.com/superstep-go/superstep/internal/mem"

// Outbox buffers the messages that the vertices of one goroutine send to single vertices, by the
// receivers' owners.
type Outbox[M any] struct {
	Addresses
	// Msg has the messages, by owner.
	Msg [][]M
	// Lift, if not nil, converts a message. It returns false if the message is not sent.
	Lift func(from uint64, m M) (M, bool)

	along [along]M
	view  Vec[M] // see Messages
}

// Addresses has the receivers of the messages in an Outbox, and the senders if KeepSenders is set.
type Addresses struct {
	// Deal is how vertices are dealt to the owners.
	Deal Deal
	// To and From have, by owner, the receivers' local indices, and the senders if KeepSenders is
	// set.
	To   [][]uint32
	From [][]uint64
	// KeepSenders is set in deterministic runs, which combine messages in the order of their
	// senders.
	KeepSenders bool
	// Store, if not nil, is the arena of large arrays.
	Store *mem.Arena
	// Count is the number of messages, without those along edges before Settle.
	Count int

	// Messages along edges of lists, by the edges' indices in Adj. Many receivers are looked up
	// together: each is probably not in the cache, and independent lookups overlap.
	lists   *EdgeLists
	waiting int
	places  [along]uint32
}

// along is the number of receivers that are looked up together: several times the cache misses that
// a core can have in flight.
const along = 128

// NewOutbox makes an empty outbox.
func NewOutbox[M any](deal Deal, keepSenders bool) *Outbox[M] {
	return &Outbox[M]{Addresses: newAddresses(deal, keepSenders), Msg: make([][]M, deal.Partitions())}
}

func newAddresses(deal Deal, keepSenders bool) Addresses {
	return Addresses{
		Deal: deal, KeepSenders: keepSenders,
		To: make([][]uint32, deal.Partitions()), From: make([][]uint64, deal.Partitions()),
	}
}

// Sent returns the number of messages, including those along edges.
func (o *Addresses) Sent() int { return o.Count + o.waiting }

// Add adds a message from one vertex to another.
func (o *Outbox[M]) Add(to, from uint64, m M) {
	if o.Lift != nil {
		var sent bool
		if m, sent = o.Lift(from, m); !sent {
			return
		}
	}
	owner, local := o.Deal.Of(uint32(to))
	if len(o.To[owner]) == cap(o.To[owner]) || len(o.Msg[owner]) == cap(o.Msg[owner]) {
		o.grow(owner, 1)
	}
	o.To[owner] = append(o.To[owner], local)
	o.Msg[owner] = append(o.Msg[owner], m)
	if o.KeepSenders {
		o.From[owner] = append(o.From[owner], from)
	}
	o.Count++
}

// AddAlong adds a message along the edge at index place of the lists' Adj.
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

// Settle looks up the receivers of all messages along edges, and adds the messages.
func (o *Outbox[M]) Settle() {
	switch places := o.lookUp(); {
	case len(places) == 0:
	case len(o.To) == 1: // a slot is a local index
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

// lookUp returns the slots of the receivers of messages along edges.
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

// grow makes room for n more messages to an owner.
func (o *Outbox[M]) grow(owner, n int) {
	o.To[owner] = mem.Grow(o.Store, o.To[owner], n)
	o.Msg[owner] = mem.Grow(o.Store, o.Msg[owner], n)
	if o.KeepSenders {
		o.From[owner] = mem.Grow(o.Store, o.From[owner], n)
	}
}

// Put adds a message without conversion. The caller knows the receiver's owner and local index.
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

package kernel

// Outbox buffers the messages that the vertices of one goroutine send to single vertices, by the owner of the receiver.
type Outbox[M any] struct {
	// Partitions is the number of owners: vertex id belongs to id mod Partitions, as its local vertex id / Partitions.
	Partitions uint64
	// To, Msg and From hold, for each owner, the receivers' local indices, the messages, and, if KeepSenders, the senders.
	To   [][]uint32
	Msg  [][]M
	From [][]uint64
	// KeepSenders is set in deterministic runs, where messages are combined in the order of their senders.
	KeepSenders bool
	// Lift, if not nil, converts a message; it reports false for one that the sender may not send.
	Lift func(from uint64, m M) (M, bool)
	// Count is the number of messages.
	Count int
}

// NewOutbox makes an empty outbox for a number of owners.
func NewOutbox[M any](partitions int, keepSenders bool) *Outbox[M] {
	return &Outbox[M]{
		Partitions: uint64(partitions), KeepSenders: keepSenders,
		To: make([][]uint32, partitions), Msg: make([][]M, partitions), From: make([][]uint64, partitions),
	}
}

// Add takes a message from one vertex to another.
func (o *Outbox[M]) Add(to, from uint64, m M) {
	if o.Lift != nil {
		var ok bool
		if m, ok = o.Lift(from, m); !ok {
			panic("Send: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()")
		}
	}
	owner, local := uint64(0), to
	if o.Partitions > 1 {
		owner, local = to%o.Partitions, to/o.Partitions
	}
	o.To[owner] = append(o.To[owner], uint32(local))
	o.Msg[owner] = append(o.Msg[owner], m)
	if o.KeepSenders {
		o.From[owner] = append(o.From[owner], from)
	}
	o.Count++
}

// Reset empties the outbox and keeps its memory.
func (o *Outbox[M]) Reset() {
	for i := range o.To {
		o.To[i], o.Msg[i], o.From[i] = o.To[i][:0], o.Msg[i][:0], o.From[i][:0]
	}
	o.Count = 0
}

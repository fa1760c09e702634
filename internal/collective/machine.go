package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMessage is in the chain of the error if a message does not fit the plan: ranks called
// different collectives under one tag, or with different sizes, or a message was damaged.
var ErrMessage = errors.New("message does not fit")

// machine runs the plan of one rank. A slot is the caller's data, a received message, or nil.
type machine struct {
	link  Link
	tag   uint32
	slots [][]byte
	op    Op
	fixed bool // slots keep their memory and length: received data is copied into them
}

// round sends and receives at the same time, because Send may wait for the receiver.
func (m *machine) round(ctx context.Context, r round) error {
	if len(r.receives) == 0 {
		return m.send(ctx, r.sends)
	}
	var messages [][]byte
	receive := func(ctx context.Context) (err error) {
		messages, err = m.receive(ctx, r.receives)
		return err
	}
	err := error(nil)
	if len(r.sends) == 0 {
		err = receive(ctx)
	} else {
		err = Both(ctx, func(ctx context.Context) error { return m.send(ctx, r.sends) }, receive)
	}
	if err != nil {
		return err
	}
	for i, t := range r.receives {
		if err := m.store(t, messages[i]); err != nil {
			return fmt.Errorf("message of %d bytes from rank %d: %w", len(messages[i]), t.peer, err)
		}
	}
	return nil
}

func (m *machine) send(ctx context.Context, list []transfer) error {
	for _, t := range list {
		if err := m.link.Send(ctx, t.peer, m.tag, m.pack(t.slots)); err != nil {
			return fmt.Errorf("send to rank %d: %w", t.peer, err)
		}
	}
	return nil
}

func (m *machine) receive(ctx context.Context, list []transfer) ([][]byte, error) {
	messages := make([][]byte, len(list))
	for i, t := range list {
		data, err := m.link.Receive(ctx, t.peer, m.tag)
		if err != nil {
			return nil, fmt.Errorf("receive from rank %d: %w", t.peer, err)
		}
		messages[i] = data
	}
	return messages, nil
}

// pack makes a message of slots. A single slot is the message. Several slots are preceded by their
// lengths as varints:
//
//	| length 1 | ... | length k | bytes 1 | ... | bytes k |
func (m *machine) pack(slots []int) []byte {
	if len(slots) == 0 {
		return nil
	}
	if len(slots) == 1 {
		return m.slots[slots[0]]
	}
	size := 0
	for _, s := range slots {
		size += len(m.slots[s]) + 3
	}
	data := make([]byte, 0, size)
	for _, s := range slots {
		data = binary.AppendUvarint(data, uint64(len(m.slots[s])))
	}
	for _, s := range slots {
		data = append(data, m.slots[s]...)
	}
	return data
}

// unpack cuts a message into the bytes of k slots, which share its memory. It allocates at most k
// slices, whatever the message contains.
func unpack(data []byte, k int) ([][]byte, error) {
	switch k {
	case 0:
		if len(data) > 0 {
			return nil, fmt.Errorf("%w: expected an empty one", ErrMessage)
		}
		return nil, nil
	case 1:
		return [][]byte{data}, nil
	}
	if len(data) < k {
		return nil, fmt.Errorf("%w: too short for the lengths of %d blocks", ErrMessage, k)
	}
	lengths := make([]uint64, k)
	for i := range lengths {
		n, used := binary.Uvarint(data)
		if used <= 0 {
			return nil, fmt.Errorf("%w: no length of block %d of %d", ErrMessage, i+1, k)
		}
		lengths[i], data = n, data[used:]
	}
	parts := make([][]byte, k)
	for i, n := range lengths {
		if n > uint64(len(data)) {
			return nil, fmt.Errorf("%w: block %d of %d has %d bytes, %d are left", ErrMessage, i+
				1, k, n, len(data))
		}
		parts[i], data = data[:n:n], data[n:]
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last block", ErrMessage, len(data))
	}
	return parts, nil
}

func (m *machine) store(t transfer, data []byte) error {
	parts, err := unpack(data, len(t.slots))
	if err != nil {
		return err
	}
	for i, s := range t.slots {
		if (t.combine || m.fixed) && len(parts[i]) != len(m.slots[s]) {
			return fmt.Errorf("%w: expected %d bytes", ErrMessage, len(m.slots[s]))
		}
		switch {
		case t.combine:
			m.op.Combine(m.slots[s], parts[i])
		case m.fixed:
			copy(m.slots[s], parts[i])
		default:
			m.slots[s] = parts[i]
		}
	}
	if t.combine || m.fixed {
		Release(m.link, data)
	}
	return nil
}

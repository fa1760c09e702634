package engine

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
)

// restoringColumn is what was sent to all neighbours.
type restoringColumn struct {
	present []uint64
	pieces  []piece
	lacks   bool // the messages of some senders, who are to send them again
}

// piece is what of a part's messages belongs to the partition.
type piece struct {
	data []byte
	n    int
	from []uint32 // places among the part's messages
	to   []uint32 // their senders, here
}

// takeColumn notes what vertices sent to all their neighbours; the messages go to the kernel when all parts are there.
func (r *restoring) takeColumn(p *checkpoint.Part, i int) error {
	c, suffix := &r.columns[i], ""
	if i > 0 {
		suffix = ofBack
	}
	sent, err := bitsOf(p, sectionSent+suffix)
	if err != nil {
		return err
	}
	if best, size := r.runner.columns[i].best(); best != nil {
		data, _ := p.Section(sectionBest + suffix)
		if len(data) != p.Vertices*size {
			return fmt.Errorf("%w: %d bytes for the best messages of %d vertices", errState, len(data), p.Vertices)
		}
		r.each(p, func(k int, local uint32) { copy(best[int(local)*size:(int(local)+1)*size], data[k*size:]) })
	}
	piece := piece{n: bitmap.Count(sent)}
	data, ok := p.Section(sectionMessages + suffix)
	piece.data = data
	c.lacks = c.lacks || !ok && piece.n > 0 && r.runner.columns[i].kernel.Traits().Bytes > 0
	r.each(p, func(k int, local uint32) {
		if bitmap.Get(sent, uint32(k)) {
			bitmap.Set(c.present, local)
			piece.to = append(piece.to, local)
			piece.from = append(piece.from, uint32(k))
		}
	})
	// From the senders' places in the part to those of their messages.
	ranks := bitmap.Rank(sent, make([]uint32, len(sent)))
	for i, k := range piece.from {
		piece.from[i] = ranks.Of(k)
	}
	c.pieces = append(c.pieces, piece)
	return nil
}

// restore makes messages those that were sent in the superstep before.
func (c *column) restore(from *restoringColumn) error {
	n := bitmap.Count(from.present)
	c.write.Clear()
	for w, word := range from.present {
		if word != 0 {
			c.write.Words[w] = word
			c.write.Mark(w)
		}
	}
	size := c.kernel.Traits().Bytes
	if size == 0 || n == 0 || from.lacks {
		return nil
	}
	ranks := bitmap.Rank(from.present, make([]uint32, len(from.present)))
	packed := kernel.Packed{N: n}
	var sample kernel.Packed // which tells how the kernel keeps messages
	c.kernel.PackNext(bitmap.NewFrontier(make([]uint64, len(c.write.Words))), bitmap.NewList(nil), &sample)
	if sample.Ref == nil {
		packed.Raw = make([]byte, n*size)
		for _, p := range from.pieces {
			if len(p.data) != p.n*size {
				return fmt.Errorf("%w: %d bytes for %d messages of %d", errState, len(p.data), p.n, size)
			}
			for i, at := range p.from {
				to := int(ranks.Of(p.to[i]))
				copy(packed.Raw[to*size:(to+1)*size], p.data[int(at)*size:])
			}
		}
	} else {
		t := reflect.TypeOf(sample.Ref)
		all := reflect.MakeSlice(t, n, n)
		for _, p := range from.pieces {
			some, err := unpackBlocks(p.data, t, p.n)
			if err != nil {
				return err
			}
			for i, at := range p.from {
				all.Index(int(ranks.Of(p.to[i]))).Set(some.Index(int(at)))
			}
		}
		packed.Ref = all.Interface()
	}
	c.kernel.Unpack(&packed, from.present, 0) // into the side that is read
	c.kernel.Swap()
	return nil
}

// sendAgain has those send again whose messages are not in the checkpoint before a superstep.
func (r *restoring) sendAgain(superstep int) error {
	if !r.job.methods.Has("Resend") {
		return fmt.Errorf("%w: it has not the messages, which the program sent again when it was taken: the method Resend is missing", errState)
	}
	if err := r.resend(superstep - 1); err != nil {
		return err
	}
	for _, c := range r.threads[0].State().Cells {
		if c != nil {
			c.Reset()
		}
	}
	return nil
}

// takeSends takes the messages to the partition's vertices: they are sent from here to here.
func (r *restoring) takeSends(p *checkpoint.Part) error {
	to, _ := p.Section(sectionTo)
	from, _ := p.Section(sectionFrom)
	data, _ := p.Section(sectionSends)
	n := len(to) / 8
	messages, err := unpackColumn(r.instance.Messages(), data, n)
	t := r.threads[0]
	switch {
	case err != nil:
		return err
	case len(to)%8 != 0, t.KeepsSenders() && len(from) != len(to):
		return fmt.Errorf("%w: %d bytes of receivers and %d of senders", errState, len(to), len(from))
	}
	of, own := uint64(r.part.Of), r.part.Index
	for i := range n {
		id := binary.LittleEndian.Uint64(to[8*i:])
		if id >= r.changing.ids {
			return fmt.Errorf("%w: a message to vertex %d of %d", errState, id, r.changing.ids)
		}
		sender := uint64(0)
		if t.KeepsSenders() {
			sender = binary.LittleEndian.Uint64(from[8*i:])
		}
		if r.of == r.part.Of { // as it was
			t.AddSend(int(id%of), uint32(id/of), sender, messages, i)
		} else if id%of == uint64(own) {
			t.AddSend(own, uint32(id/of), sender, messages, i)
		}
	}
	return nil
}

package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/wire"
)

// sendAgain calls Resend for the senders whose messages are not in the checkpoint.
func (r *restoring) sendAgain(superstep int) error {
	if !r.job.methods.Has("Resend") {
		return fmt.Errorf("%w: it contains no messages, because the program had a method Resend when it was saved: now Resend is missing", state.Err)
	}
	return r.saving.resend(superstep - 1)
}

// takeSends takes the messages to the partition's vertices, and puts them into the partition's own
// outbox.
func (r *restoring) takeSends(p *checkpoint.Part) error {
	to, _ := p.Section(sectionTo)
	from, _ := p.Section(sectionFrom)
	data, _ := p.Section(sectionSends)
	receivers, senders := wire.Slice[uint64](to), wire.Slice[uint64](from)
	messages, err := state.Unpack(r.instance.Messages(), data, len(receivers))
	t := r.threads[0]
	switch {
	case err != nil:
		return err
	case len(to)%8 != 0, t.KeepsSenders() && len(from) != len(to):
		return fmt.Errorf("%w: %d bytes of receivers and %d of senders", state.Err, len(to),
			len(from))
	}
	for i, id := range receivers {
		if id >= r.changing.ids {
			return fmt.Errorf("%w: a message to vertex %d of %d", state.Err, id, r.changing.ids)
		}
		sender := uint64(0)
		if t.KeepsSenders() {
			sender = senders[i]
		}
		// With the same partitions the sender's outbox is restored.
		q, local := r.part.Deal.Of(uint32(id))
		if p.Of == r.part.Of || q == r.part.Index {
			t.AddSend(q, local, sender, messages, i)
		}
	}
	return nil
}

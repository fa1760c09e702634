package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/pregel"
)

// Lightweight checkpoints (LWCP; Yan, Cheng, Yang 2016): if a program has the method Resend, its
// checkpoints contain only which vertices sent to all neighbours, not their messages. When a run
// continues from such a checkpoint, these vertices send again.

// resend calls Resend for the vertices that sent to all neighbours in a superstep. These are marked
// in the columns being written, which get the messages. Meanwhile aggregators have no totals, and
// values added to them are dropped.
func (r *saver) resend(superstep int) error {
	t, state := r.threads[0], r.threads[0].State()
	command, totals, step, phase := r.command, state.Totals, state.Superstep, state.Phase
	sends := t.Settle()
	r.command = &bsp.Command{Superstep: superstep}
	state.Superstep, state.Phase, state.Totals = superstep, 0, nil
	defer func() {
		r.command, state.Superstep, state.Phase, state.Totals = command, step, phase, totals
		for _, c := range state.Cells {
			if c != nil {
				c.Reset()
			}
		}
	}()
	var wrong error
	func() {
		defer r.recover(t)
		for w := range r.active {
			if wrong = r.resendWord(t, w); wrong != nil {
				return
			}
		}
	}()
	switch failed := r.failed(); {
	case failed != nil:
		if e := new(pregel.ProgramError); errors.As(failed, &e) {
			e.Method = "Resend"
		}
		return failed
	case wrong != nil:
		return wrong
	case t.Settle() != sends:
		return fmt.Errorf("%s: Resend has sent to single vertices: it may only send to all neighbours", r.job.name)
	}
	return nil
}

func (r *saver) resendWord(t *thread, w int) error {
	want, run := [2]uint64{}, uint64(0)
	for i, c := range r.columns {
		want[i] = c.write.Words[w]
		run |= want[i]
	}
	if run == 0 {
		return nil
	}
	sent, active := [2]uint64{}, r.active[w]
	if r.command.Superstep == 0 {
		active = run
	}
	sent[0], sent[1] = t.Resend(w, run, active)
	for i := range r.columns {
		if odd := sent[i] ^ want[i]; odd != 0 {
			did := "sends nothing"
			if k := bits.TrailingZeros64(odd); sent[i]>>k&1 != 0 {
				did = "sends"
			}
			return fmt.Errorf("%s: Resend of vertex %d %s, unlike the vertex in the previous superstep", r.job.name, r.label(r.part.Global(uint32(w<<6+bits.TrailingZeros64(odd)))), did)
		}
	}
	t.Store(w, sent[0], sent[1])
	return nil
}

// checkResend compares the messages of Resend with those that were sent, before a superstep. Tests
// of programs do this in every superstep. With -tags invariants it is done for each checkpoint.
func (r *saver) checkResend(c *bsp.Command) error {
	if !r.job.methods.Has("Resend") || c.Superstep == 0 || !r.resends &&
		!(invariants.Enabled && c.Save > 0) {
		return nil
	}
	all := func() (packed [][]byte, err error) {
		for _, c := range r.columns {
			if c.kernel.Traits().Bytes == 0 {
				continue // presence is the whole message
			}
			data, err := state.Pack(c.messages(r.part.Owned))
			if err != nil {
				return nil, err
			}
			packed = append(packed, data)
		}
		return packed, nil
	}
	sent, err := all()
	if err != nil {
		return err
	}
	if err := r.resend(c.Superstep - 1); err != nil {
		return err
	}
	again, err := all()
	if err != nil {
		return err
	}
	for i := range sent {
		if !bytes.Equal(sent[i], again[i]) {
			return fmt.Errorf("%s: Resend, after superstep %d, sends other messages than were sent",
				r.job.name, c.Superstep-1)
		}
	}
	return nil
}

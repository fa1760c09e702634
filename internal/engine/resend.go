package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"reflect"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Lightweight checkpoints (LWCP; Yan, Cheng, Yang 2016): the messages of a program with the method Resend to all neighbours are not in a checkpoint, only who sent one. When a
// run goes on from it, these vertices send again.

// resendInit calls Resend where a sweep calls Init.
type resendInit[V, M any] struct{ Resending[V, M] }

func (p resendInit[V, M]) Init(v *pregel.Vertex[V, M]) { p.Resend(v) }

// resend has the vertices that sent to all neighbours in a superstep, by the columns being written, send again into these. Aggregators have no totals meanwhile.
func (r *runner[V, M]) resend(superstep int) error {
	t, state := r.threads[0], r.threads[0].State()
	command, worker, totals := r.command, t.Worker, state.Totals
	sends := t.outbox.Sent()
	r.command = &bsp.Command{Superstep: superstep}
	t.Worker.Superstep, t.Worker.Phase, state.Totals = superstep, 0, nil
	defer func() {
		r.command, t.Worker.Superstep, t.Worker.Phase, state.Totals = command, worker.Superstep, worker.Phase, totals
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
	case t.outbox.Sent() != sends:
		return fmt.Errorf("%s: Resend has sent to single vertices: it sends to all neighbours alone", r.job.name)
	}
	return nil
}

func (r *runner[V, M]) resendWord(t *thread[V, M], w int) error {
	want, run := [2]uint64{}, uint64(0)
	for i, c := range r.columns {
		want[i] = c.write.Words[w]
		run |= want[i]
	}
	if run == 0 {
		return nil
	}
	r.window(t, w, run)
	t.running = true
	t.SweepInit(resendInit[V, M]{r.job.methods.resend})
	t.running = false
	sent, out := [2]uint64{t.Block.Sent}, [2]*[64]M{t.Block.Out}
	if r.back != nil {
		sent[1], out[1] = t.SentBack()
	}
	for i, c := range r.columns {
		if odd := sent[i] ^ want[i]; odd != 0 {
			did := "sends nothing"
			if k := bits.TrailingZeros64(odd); sent[i]>>k&1 != 0 {
				did = "sends"
			}
			return fmt.Errorf("%s: Resend of vertex %d %s, other than it did in the superstep before", r.job.name, r.label(t.Block.ID(bits.TrailingZeros64(odd))), did)
		}
		if want[i] != 0 {
			if k := c.kernel.Store(w, sent[i], out[i]); k >= 0 {
				panic(wrongSender{t.Block.ID(k)})
			}
		}
	}
	return nil
}

// checkResend compares what Resend sends with what was sent, before a superstep. Tests of programs do it in every superstep, and the checks of -tags invariants whenever
// a checkpoint is taken.
func (r *runner[V, M]) checkResend(c *bsp.Command) error {
	if r.job.methods.resend == nil || c.Superstep == 0 || !r.resends && !(invariants.Enabled && c.Save > 0) {
		return nil
	}
	all := func() (packed [][]byte, err error) {
		for _, c := range r.columns {
			data, err := c.packAll(r.part.Owned)
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
			return fmt.Errorf("%s: Resend, after superstep %d, sends other messages than were sent", r.job.name, c.Superstep-1)
		}
	}
	return nil
}

// packAll returns the messages to all neighbours that are to be delivered, as checkpoints have them; nil if presence says everything.
func (c *column[M]) packAll(owned int) ([]byte, error) {
	if c.kernel.Traits().Bytes == 0 {
		return nil, nil
	}
	words := bitmap.Words(owned)
	whole := make([]uint64, words)
	bitmap.Fill(whole, owned)
	packed := kernel.Packed{N: bitmap.Count(c.write.Words[:words])}
	c.kernel.PackNext(c.write, bitmap.NewList(whole), &packed)
	if packed.Ref != nil {
		return packBlocks(reflect.ValueOf(packed.Ref))
	}
	return packed.Raw, nil
}

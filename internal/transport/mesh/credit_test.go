package mesh

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// TestCorruptCreditsAreRefused flips each bit of each kind of credit.
func TestCorruptCreditsAreRefused(t *testing.T) {
	for _, c := range []credit{
		{magic: creditMagic, bytes: 77},
		{messageMagic, laneKey{key{1, 2}, 3}, 1 << 40},
		{magic: windowMagic, bytes: 1 << 30},
	} {
		valid := appendCredit(nil, c)
		if got, err := readCredit(bytes.NewReader(valid)); err != nil || got != c {
			t.Fatalf("%+v: found %+v, %v", c, got, err)
		}
		for bit := range len(valid) * 8 {
			b := bytes.Clone(valid)
			b[bit/8] ^= 1 << (bit % 8)
			if got, err := readCredit(bytes.NewReader(append(b,
				make([]byte, creditSize)...))); !errors.Is(err, errCorrupt) {
				t.Errorf("%+v with bit %d flipped: found %+v, %v", c, bit, got, err)
			}
		}
		for n := range valid {
			if got, err := readCredit(bytes.NewReader(valid[:n])); err == nil {
				t.Errorf("the first %d bytes of %+v: found %+v", n, c, got)
			}
		}
	}
}

// TestImpossibleCreditBreaksTheConnection: a worker credits more than was sent, less than before,
// or sends a malformed credit. The sender closes the connection, with an error that names both
// workers.
func TestImpossibleCreditBreaksTheConnection(t *testing.T) {
	corrupt := appendCredit(nil, credit{magic: creditMagic, bytes: 0})
	corrupt[5] ^= 1
	for what, bad := range map[string][]byte{
		"more than was sent": appendCredit(nil, credit{magic: creditMagic, bytes: math.MaxUint64}),
		"less than before":   appendCredit(nil, credit{magic: creditMagic, bytes: 1}),
		"a flipped bit":      corrupt,
		"a smaller window":   appendCredit(nil, credit{magic: windowMagic, bytes: 1000}),
		"an endless window":  appendCredit(nil, credit{magic: windowMagic, bytes: math.MaxUint64}),
		"another magic":      []byte("SSXX 0123456789abcdef0123456789abc"),
	} {
		t.Run(what, func(t *testing.T) {
			// keep the receiver from sending credits
			meshes, a, b := pair(t,
				func(_ int, o *Options) { o.Window, o.Silence = 1<<10, time.Hour })
			if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte,
				1000)}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Receive(t.Context(), transport.Expand); err != nil {
				t.Fatal(err)
			}
			out := meshes[0].outs["w1"]
			until(t, func() bool {
				out.mu.Lock()
				defer out.mu.Unlock()
				return out.consumed > 1
			})
			meshes[1].mu.Lock()
			in := meshes[1].ins["w0"]
			meshes[1].mu.Unlock()
			if _, err := in.conn.Write(bad); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := a.Receive(ctx, transport.Expand)
			var broken *BrokenError
			if !errors.As(err, &broken) || broken.From != "w0" || broken.To != "w1" ||
				!errors.Is(err, errCorrupt) {
				t.Fatalf("found %v", err)
			}
			until(t, func() bool { return meshes[0].Stats().Corrupt == 1 })
		})
	}
}

// TestCreditOfMessagesIsAtMostAWindow: whatever is credited, a lane never has more credit than a
// window.
func TestCreditOfMessagesIsAtMostAWindow(t *testing.T) {
	meshes, all := links(t, 2, nil)
	out := meshes[0].outs["w1"]
	out.mu.Lock()
	l := out.lane(all[0].session, 7)
	l.credit = 5
	out.mu.Unlock()
	for range 3 {
		out.grant(laneKey{key{all[0].session.job, all[0].session.epoch}, 7}, math.MaxUint64)
		out.mu.Lock()
		if l.credit != int64(out.window) {
			t.Errorf("found room for %d bytes, expected %d", l.credit, out.window)
		}
		out.mu.Unlock()
	}
}

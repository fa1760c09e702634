package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestDeadPeerEndsAllWaitingOfALinkWithOneError(t *testing.T) {
	meshes, all := links(t, 3, func(_ int, o *Options) { o.Window = 64 << 10 })
	errs := make(chan error)
	calls := []func() error{
		func() error { _, err := all[0].Receive(t.Context(), 2, 1); return err },
		// from a live worker
		func() error { _, err := all[0].Receive(t.Context(), 1, 1); return err },
		func() error { return all[0].Send(t.Context(), 2, 2, make([]byte, 1<<20)) },
		func() error { return all[0].Send(t.Context(), 1, 2, make([]byte, 1<<20)) },
	}
	for _, call := range calls {
		go func() { errs <- call() }()
	}
	until(t, func() bool { return meshes[1].Stats().BytesIn > 64<<10 && meshes[2].Stats().BytesIn > 64<<10 })
	meshes[2].Close()
	var broken *BrokenError
	first := <-errs
	if !errors.As(first, &broken) || broken.From != "w2" && broken.To != "w2" {
		t.Error(first)
	}
	for range len(calls) - 1 {
		if err := <-errs; err == nil || err.Error() != first.Error() {
			t.Errorf("%v, and then %v", first, err)
		}
	}
	if err := all[0].Send(t.Context(), 1, 5, nil); err == nil || err.Error() != first.Error() {
		t.Errorf("later: %v", err)
	}
}

func TestCancelledSends(t *testing.T) {
	const window = 64 << 10
	meshes, all := links(t, 2, func(_ int, o *Options) { o.Window, o.Chunk = window, window/8 })
	begun, cancelBegun := context.WithCancelCause(t.Context())
	waits, cancelWaits := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	errs := make(chan error)
	go func() { errs <- all[0].Send(begun, 1, 1, make([]byte, 4*window)) }()
	until(t, func() bool { return meshes[1].Stats().BytesIn >= window })
	go func() { errs <- all[0].Send(waits, 1, 1, make([]byte, window)) }()
	cancelWaits(why)
	if err := <-errs; !errors.Is(err, why) {
		t.Fatal(err)
	}
	cancelBegun(why)
	if err := <-errs; !errors.Is(err, why) {
		t.Fatal(err)
	}
	// the receiver still waits for the rest of the first message
	if err := all[0].Send(t.Context(), 1, 1, nil); err == nil {
		t.Error("a message went after half of another")
	}
	if err := all[0].Send(t.Context(), 1, 2, nil); err != nil {
		t.Error(err)
	}
	if _, err := all[1].Receive(waits, 0, 1); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestCancelledSendOfWrittenMessage: the context of a send ends just after the message was written
// whole. Its tag is still good.
func TestCancelledSendOfWrittenMessage(t *testing.T) {
	_, all := links(t, 2, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s := all[0].session
	for tag := range uint32(50) { // the two ends are found in random order
		o := s.outs[1]
		p := o.newPost()
		p.session, p.values = s, []byte("whole")
		p.header.contents, p.header.offset = uint64(len(p.values)), uint64(len(p.values))
		p.whole = true
		p.written <- nil
		o.mu.Lock()
		p.lane = o.lane(s, tag)
		o.mu.Unlock()
		if err := o.await(over, p); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := all[0].Send(t.Context(), 1, tag, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCloseWritesWhatWasSent(t *testing.T) {
	for range 20 {
		_, all := links(t, 2, nil)
		for i := range 30 {
			if err := all[0].Send(t.Context(), 1, uint32(i%3), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		all[0].session.Close()
		for i := range 30 {
			if got, err := all[1].Receive(t.Context(), 0, uint32(i%3)); err != nil ||
				got[0] != byte(i) {
				t.Fatalf("message %d: %v, %v", i, got, err)
			}
		}
	}
}

func TestMessagesOfOthersAreRefusedAndCounted(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	s, err := meshes[0].Open(t.Context(), 3, 1, dealt(peers, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// the other worker has not opened this session
	if err := s.Link().Send(t.Context(), 1, 0, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return meshes[1].Stats().StaleJob > 0 })
	for _, to := range []int{-1, 0, 2} {
		if err := s.Link().Send(t.Context(), to, 0, nil); err == nil {
			t.Errorf("sent to rank %d", to)
		}
		if _, err := s.Link().Receive(t.Context(), to, 0); err == nil {
			t.Errorf("received from rank %d", to)
		}
	}
	s.mesh.options.MaxFrame = 100
	if err := s.Link().Send(t.Context(), 1, 0, make([]byte, 101)); err == nil {
		t.Error("a message longer than the limit was sent")
	}
}

// TestEmptyMessagesAreReceivedWhenTheyHaveCome: an empty message is complete only after its chunk
// is counted. Otherwise it would leave its box too early, and its part of the sender's window would
// be lost.
func TestEmptyMessagesAreReceivedWhenTheyHaveCome(t *testing.T) {
	l := &Link{boxes: map[address]*box{}}
	h := &header{identity: identity{kind: kindMessage}}
	_, m, err := l.place(nil, h)
	if err != nil || m.ended {
		t.Fatalf("whole before it has come: %v", err)
	}
	if l.placed(m, h); !m.ended || m.held == 0 {
		t.Errorf("it has come, whole %t, taking %d bytes of the window", m.ended, m.held)
	}
}

// TestChunksOutOfPlaceAreCorrupt passes chunks to a link that are not the next ones of their
// messages.
func TestChunksOutOfPlaceAreCorrupt(t *testing.T) {
	l := &Link{boxes: map[address]*box{}}
	chunk := func(offset, length int, total uint64) error {
		h := &header{identity: identity{kind: kindMessage, contents: total}, offset: uint64(offset), length: uint32(length)}
		_, m, err := l.place(nil, h)
		if err == nil {
			l.placed(m, h)
		}
		return err
	}
	for _, step := range []struct {
		offset, length int
		total          uint64
		corrupt        bool
	}{
		{5, 5, 10, true},
		{0, 5, 10, false},
		{0, 5, 10, true},
		{6, 4, 10, true},
		{5, 4, 9, true},
		{5, 5, 10, false},
		{5, 5, 10, true},
		{0, 0, 0, false},
		{0, 1, 1, false},
	} {
		if err := chunk(step.offset, step.length, step.total); errors.Is(err,
			errCorrupt) != step.corrupt {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// TestMemoryOfMessagesFollowsWhatComes: a header announces a message of 1 TB. Memory grows only
// with the received bytes.
func TestMemoryOfMessagesFollowsWhatComes(t *testing.T) {
	m := &message{total: 1 << 40}
	for len(m.data) < sudden {
		m.grow(1 << 18)
		if cap(m.data) > sudden {
			t.Fatalf("%d bytes of memory for %d that came", cap(m.data), len(m.data))
		}
	}
}

// TestTagsLeaveNothingBehind uses a new tag for each message, as supersteps do. No lane or box
// remains.
func TestTagsLeaveNothingBehind(t *testing.T) {
	meshes, all := links(t, 2, func(_ int, o *Options) { o.Silence = 2 * time.Second })
	var group sync.WaitGroup
	for rank, l := range all {
		group.Go(func() {
			for tag := range uint32(2000) {
				if err := l.Send(t.Context(), 1-rank, tag, make([]byte, tag%100)); err != nil {
					t.Error(err)
					return
				}
				if _, err := l.Receive(t.Context(), 1-rank, tag); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	for i, m := range meshes {
		out := m.outs[fmt.Sprintf("w%d", 1-i)]
		until(t, func() bool {
			out.mu.Lock()
			defer out.mu.Unlock()
			return len(out.lanes) == 0
		})
		if n := len(all[i].boxes); n > 0 {
			t.Errorf("%d boxes are left", n)
		}
	}
}

func FuzzCredit(f *testing.F) {
	f.Add(appendCredit(nil, credit{magic: creditMagic, bytes: 77}))
	f.Add(appendCredit(nil, credit{messageMagic, laneKey{key{1, 2}, 3}, 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCredit(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again := appendCredit(nil, c); !bytes.HasPrefix(b, again) {
			t.Errorf("%x reads as %+v, which is written %x", b, c, again)
		}
	})
}

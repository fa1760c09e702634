package mesh

import (
	"errors"
	"io"
	"math"
	"net"
	"testing"

	"github.com/superstep-go/superstep/internal/transport"
)

// unserved returns a port and a connection whose chunks only the test writes.
func unserved(t *testing.T) (*Port, *outbound) {
	t.Helper()
	meshes, a, _ := pair(t, func(_ int, o *Options) { o.Chunk = 1 << 10 })
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	o := newOutbound(meshes[0], here, meshes[1].Self(), 1<<20)
	t.Cleanup(func() {
		o.settle(o.staged)
		o.drop(nil)
		here.Close()
	})
	return a, o
}

// steps writes up to n chunks, and returns the number of chunks of frames and of messages.
func steps(t *testing.T, o *outbound, n int) (frames, messages int) {
	t.Helper()
	for range n {
		p := o.take(math.MaxInt)
		if p == nil {
			break
		}
		if p.port != nil {
			frames++
		} else {
			messages++
		}
		if err := o.writeChunk(p); err != nil {
			t.Fatal(err)
		}
	}
	return frames, messages
}

// TestFramesHaveHalfTheTurns: the number of tags in use does not slow frames.
func TestFramesHaveHalfTheTurns(t *testing.T) {
	a, o := unserved(t)
	for tag := range uint32(8) {
		if err := o.post(t.Context(), a.session, 1, tag, make([]byte, small)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.enqueue(a, &transport.Frame{To: 1, Raw: make([]byte, 1<<20)}); err != nil {
		t.Fatal(err)
	}
	if frames, messages := steps(t, o, 40); frames != 20 || messages != 20 {
		t.Errorf("%d chunks of frames and %d of messages", frames, messages)
	}
}

// TestFramesOfAFailedSessionNeedNoFlush: they are removed while other chunks are collected.
func TestFramesOfAFailedSessionNeedNoFlush(t *testing.T) {
	a, o := unserved(t)
	for range 5 {
		if err := o.enqueue(a, &transport.Frame{To: 1, Raw: []byte{1}}); err != nil {
			t.Fatal(err)
		}
	}
	steps(t, o, 1)
	a.session.Fail(errors.New("failed"))
	steps(t, o, 4)
	if len(o.staged) != 1 || len(o.frames.posts) != 0 {
		t.Errorf("%d chunks are collected, %d frames wait", len(o.staged), len(o.frames.posts))
	}
}

// TestWrittenMessageOfGoneSender: a message counts as sent even if its sender has gone meanwhile.
func TestWrittenMessageOfGoneSender(t *testing.T) {
	a, o := unserved(t)
	if err := o.post(t.Context(), a.session, 1, 7, []byte{1}); err != nil {
		t.Fatal(err)
	}
	steps(t, o, 1)
	o.staged[0].gone = true
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	if n := o.mesh.Stats().MessagesOut; n != 1 {
		t.Errorf("%d messages are sent", n)
	}
}

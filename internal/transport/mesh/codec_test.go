package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

func TestValuesWithoutRawForm(t *testing.T) {
	codec, err := pack.New(reflect.TypeFor[map[string][]uint32]())
	if err != nil {
		t.Fatal(err)
	}
	meshes, peers := cluster(t, 2, func(_ int, o *Options) { o.Window, o.Chunk = 64<<10, 10<<10 })
	l := Layout{Workers: peers, Owner: []int{0, 1, 1}}
	sessions := openAll(t, meshes, 1, 1, l, codec)
	ports := []*Port{sessions[0].Port(0), sessions[1].Port(1), sessions[1].Port(2)}
	each := 3000
	if testing.Short() {
		each = 1000
	}
	for superstep := range 5 {
		accounts := make([]*transport.Account, len(ports))
		var group sync.WaitGroup
		for i, p := range ports {
			group.Go(func() {
				if err := exchangeWords(t.Context(), p, len(ports), superstep,
					superstep*each); err != nil {
					t.Error(err)
				}
				a, err := p.End(t.Context(), superstep)
				if err != nil {
					t.Error(err)
					return
				}
				accounts[i] = a
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		if err := transport.Balance(accounts); err != nil {
			t.Fatal(err)
		}
	}
}

func words(from, to, n int) []map[string][]uint32 {
	all := make([]map[string][]uint32, n)
	for i := range all {
		all[i] = map[string][]uint32{fmt.Sprint("word", i%7): {uint32(from), uint32(to), uint32(i)}}
	}
	return all
}

func exchangeWords(ctx context.Context, p *Port, of, superstep, n int) error {
	for to := range of {
		if to == p.index {
			continue
		}
		f := &transport.Frame{From: p.index, To: to, Superstep: superstep, Count: n, Presence: []byte("where"), Ref: words(p.index, to, n)}
		if err := p.Send(f); err != nil {
			return err
		}
	}
	for range of - 1 {
		f, err := p.Receive(ctx, transport.Expand)
		if err != nil {
			return err
		}
		if string(f.Presence) != "where" || !reflect.DeepEqual(f.Ref, words(f.From, p.index, n)) {
			return fmt.Errorf("partition %d got other values than partition %d sent", p.index,
				f.From)
		}
	}
	return nil
}

// broken is a codec whose methods fail.
type broken struct{}

func (broken) Append(b []byte, f *transport.Frame) ([]byte, error) {
	if f.Count == 0 {
		panic("a message that panics")
	}
	return append(b, "not msgpack"...), nil
}

func (broken) Decode([]byte, *transport.Frame) error { return errors.New("it does not decode") }

func TestCodecsThatFail(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	s := openAll(t, meshes, 1, 1, dealt(peers, 2), broken{})
	a, b := s[0].Port(0), s[1].Port(1)
	if err := a.Send(&transport.Frame{From: 0, To: 1, Count: 1, Ref: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Receive(t.Context(), transport.Expand); err == nil ||
		!strings.Contains(err.Error(), "from partition 0: decoding messages: it does not decode") {
		t.Error(err)
	}
	if err := a.Send(&transport.Frame{From: 0, To: 1, Ref: []string{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.End(t.Context(), 0); err == nil ||
		!strings.Contains(err.Error(), "encoding messages: panic: a message that panics") {
		t.Error(err)
	}
	if err := s[1].Err(); err != nil { // the connection is intact
		t.Error(err)
	}
}

// late is a connection with a delay: bytes arrive some time after they were written. It limits
// neither the rate nor the bytes in flight.
type late struct {
	net.Conn
	delay time.Duration
	queue chan parcel
	group *sync.WaitGroup
}

type parcel struct {
	due  time.Time
	data []byte
}

func newLate(c net.Conn, delay time.Duration, group *sync.WaitGroup) *late {
	l := &late{c, delay, make(chan parcel, 1<<16), group}
	group.Go(func() {
		for p := range l.queue {
			<-time.After(time.Until(p.due))
			if _, err := c.Write(p.data); err != nil {
				c.Close()
			}
		}
	})
	return l
}

func (l *late) Write(b []byte) (int, error) {
	l.queue <- parcel{time.Now().Add(l.delay), append([]byte(nil), b...)}
	return len(b), nil
}

// TestWindowKeepsADelayedLinkBusy sends 400 frames over a link with 5 ms delay. If each frame
// waited for an answer, this would take 2 s.
func TestWindowKeepsADelayedLinkBusy(t *testing.T) {
	const frames, delay = 400, 5 * time.Millisecond
	var group sync.WaitGroup
	var links []*late
	change := func(i int, o *Options) {
		if i > 0 {
			return
		}
		wrapDial(o, func(c net.Conn) net.Conn {
			l := newLate(c, delay, &group)
			links = append(links, l)
			return l
		})
	}
	inVirtualTime(t, nil, change, func(t *testing.T, a, b *Port) {
		t.Cleanup(func() {
			a.session.mesh.Close() // stop the writer
			for _, l := range links {
				close(l.queue)
			}
			group.Wait()
		})
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			for range frames {
				f, err := b.Receive(t.Context(), transport.Expand)
				if err != nil {
					done <- err
					return
				}
				b.Release(f)
			}
			done <- nil
		}()
		raw := make([]byte, 10<<10)
		for range frames {
			if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: raw}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > frames*delay/2 {
			t.Errorf("%d frames took %v", frames, d)
		}
	})
}

// slow is a codec that takes longer than the silence limit.
type slow struct{ long time.Duration }

func (s slow) Append(b []byte, f *transport.Frame) ([]byte, error) {
	<-time.After(s.long)
	return append(b, f.Ref.(string)...), nil
}

func (slow) Decode(b []byte, f *transport.Frame) error {
	f.Ref = string(b)
	return nil
}

func TestSlowCodecIsNotSilence(t *testing.T) {
	inVirtualTime(t, slow{time.Minute}, func(int, *Options) {}, func(t *testing.T, a, b *Port) {
		if err := a.Send(&transport.Frame{From: 0, To: 1, Count: 1, Ref: "at last"}); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Receive(t.Context(), transport.Expand); err != nil || f.Ref != "at last" {
			t.Error(f, err)
		}
	})
}

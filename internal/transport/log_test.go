package transport

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
)

// frame makes one of a superstep.
func frame(from, to, superstep int, raw string) *Frame {
	return &Frame{From: from, To: to, Superstep: superstep, Kind: Fold, Count: len(raw), Presence: []byte{1}, Raw: []byte(raw)}
}

// texts are the values of frames.
func texts(frames []*Frame) (all []string) {
	for _, f := range frames {
		all = append(all, string(f.Raw))
	}
	return all
}

func all(int) bool { return true }

// TestLog keeps what goes to other processes as it was sent, from the newest checkpoint on.
func TestLog(t *testing.T) {
	log := NewLog(1 << 10)
	local := NewLocal(3)
	e := log.Endpoint(local.Endpoint(0), func(to int) bool { return to < 2 })
	sent := frame(0, 2, 0, "a")
	for _, f := range []*Frame{sent, frame(0, 1, 0, "here"), frame(0, 2, 1, "b"), frame(0, 2, 2, "c")} {
		if err := e.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	e.Claim(frame(0, 2, 2, "ahead"))
	sent.Raw[0] = 'x' // its sender's again
	if got := texts(log.To(0, all)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("superstep 0: %q", got)
	}
	if got := texts(log.To(2, all)); !slices.Equal(got, []string{"c", "ahead"}) {
		t.Errorf("superstep 2: %q", got)
	}
	if got := log.To(2, func(p int) bool { return p != 2 }); got != nil {
		t.Errorf("to others: %q", texts(got))
	}
	log.Forget(2)
	if from, cause := log.From(); from != 2 || cause != nil || len(log.To(1, all)) > 0 || log.Bytes() != int64(2*25+6) {
		t.Errorf("from %d, %v, %d bytes", from, cause, log.Bytes())
	}
	if err := e.Send(frame(0, 2, 3, string(make([]byte, 1<<10)))); err != nil {
		t.Fatal(err)
	}
	if from, cause := log.From(); from != 4 || cause == nil || log.Bytes() != 0 {
		t.Errorf("after too many bytes: from %d, %v, %d bytes", from, cause, log.Bytes())
	}
	if err := e.Send(frame(0, 2, 4, "d")); err != nil {
		t.Fatal(err)
	}
	log.Seal()
	_ = e.Send(frame(0, 2, 4, "late"))
	log.Forget(5)
	if from, _ := log.From(); from != 4 || !slices.Equal(texts(log.To(4, all)), []string{"d"}) {
		t.Errorf("sealed: from %d, %q", from, texts(log.To(4, all)))
	}
}

// TestLogWithoutRawForm does not log what it could not send.
func TestLogWithoutRawForm(t *testing.T) {
	log := NewLog(1 << 10)
	log.add(&Frame{To: 1, Superstep: 3, Ref: []string{"a"}})
	if from, cause := log.From(); from != 4 || cause == nil {
		t.Errorf("from %d: %v", from, cause)
	}
}

// TestReplay has two partitions of four exchange frames, beside what the others had sent.
func TestReplay(t *testing.T) {
	r := NewReplay(4, []int{1, 3})
	for s := range 3 {
		r.Begin([]*Frame{frame(0, 1, s, "from 0"), frame(2, 3, s, "from 2"), frame(2, 0, s, "to nobody here")})
		var group sync.WaitGroup
		got := map[int][]string{}
		var mu sync.Mutex
		for _, p := range []int{1, 3} {
			group.Go(func() {
				e := r.Endpoint(p)
				for to := range 4 {
					if err := e.Send(frame(p, to, s, "again")); to != p && err != nil {
						t.Error(err)
					}
				}
				var texts []string
				for range 3 { // its own, the other's, the log's
					f, err := e.Receive(t.Context(), Fold)
					if err != nil {
						t.Error(err)
						return
					}
					texts = append(texts, string(f.Raw))
				}
				if f, _ := e.Poll(Fold); f != nil {
					t.Errorf("partition %d: %q is left", p, f.Raw)
				}
				if _, err := e.End(t.Context(), s); err != nil {
					t.Error(err)
				}
				slices.Sort(texts)
				mu.Lock()
				got[p] = texts
				mu.Unlock()
			})
		}
		group.Wait()
		if want := map[int][]string{1: {"again", "again", "from 0"}, 3: {"again", "again", "from 2"}}; !reflect.DeepEqual(got, want) {
			t.Errorf("superstep %d: %v", s, got)
		}
	}
}

// TestReplayWithoutAFrame does not wait for what nobody sends.
func TestReplayWithoutAFrame(t *testing.T) {
	r := NewReplay(3, []int{0, 1})
	r.Begin(nil)
	var group sync.WaitGroup
	group.Go(func() { _, _ = r.Endpoint(1).End(context.Background(), 0) })
	_, err := r.Endpoint(0).Receive(t.Context(), Expand)
	if group.Wait(); !errors.Is(err, ErrMissing) {
		t.Errorf("found %v", err)
	}
	r = NewReplay(3, []int{0, 1})
	r.Begin(nil)
	group.Go(r.Close)
	if _, err := r.Endpoint(0).Receive(t.Context(), Expand); !errors.Is(err, ErrClosed) {
		t.Errorf("found %v", err)
	}
	group.Wait()
}

// TestFrames encodes random frames and decodes them.
func TestFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var frames []*Frame
	for range 50 {
		f := frame(rng.IntN(9), rng.IntN(9), 7, string(bytes.Repeat([]byte{3}, rng.IntN(30))))
		f.Kind, f.Encoding = Kind(rng.IntN(Kinds)), uint8(rng.IntN(256))
		frames = append(frames, f)
	}
	data := AppendFrames(nil, frames)
	got, err := DecodeFrames(data, 7, 9)
	if err != nil || !reflect.DeepEqual(got, frames) {
		t.Errorf("found %v, %v", got, err)
	}
	if _, err := DecodeFrames(data, 7, 2); err == nil {
		t.Error("frames among too many partitions are taken")
	}
	if _, err := DecodeFrames(data[:len(data)-1], 7, 9); err == nil {
		t.Error("frames that are cut off are taken")
	}
}

func FuzzDecodeFrames(f *testing.F) {
	f.Add(AppendFrames(nil, []*Frame{frame(0, 1, 2, "abc"), frame(3, 1, 2, "")}))
	f.Add([]byte("not frames of a log, by their bytes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frames, err := DecodeFrames(data, 2, 4)
		if err == nil && !bytes.Equal(AppendFrames(nil, frames), data) {
			t.Errorf("%d frames are not what they were decoded from", len(frames))
		}
	})
}

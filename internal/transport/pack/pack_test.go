package pack

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/superstep-go/superstep/internal/transport"
)

type message struct {
	Name   string
	Labels []uint32
	Counts map[uint64]int64
	Next   *message
	Weight float64
}

func codec[M any](t testing.TB) *Messages {
	t.Helper()
	c, err := New(reflect.TypeFor[M]())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMessagesSurvive(t *testing.T) {
	c := codec[message](t)
	for _, in := range [][]message{
		{},
		{{}},
		{{Name: "a", Labels: []uint32{1, 1 << 31}, Counts: map[uint64]int64{1 << 63: -1}, Next: &message{Weight: -0.5}}, {Name: strings.Repeat("b", 300)}},
		make([]message, 70000),
	} {
		b, err := c.Append([]byte("before"), &transport.Frame{Count: len(in), Ref: in})
		if err != nil {
			t.Fatal(err)
		}
		out := transport.Frame{Count: len(in)}
		if err := c.Decode(bytes.TrimPrefix(b, []byte("before")), &out); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(out.Ref, in) {
			t.Errorf("%d messages came back different", len(in))
		}
	}
}

// greedy reads more than it wrote.
type greedy struct{}

func (greedy) EncodeMsgpack(e *msgpack.Encoder) error { return e.EncodeInt(7) }

func (*greedy) DecodeMsgpack(d *msgpack.Decoder) (err error) {
	for range 2 {
		if _, err = d.DecodeRaw(); err != nil {
			break
		}
	}
	return err
}

// TestFailedDecoderIsDropped: a decoder that failed while it recorded what it read goes on
// recording. So it is not used again.
func TestFailedDecoderIsDropped(t *testing.T) {
	c := codec[greedy](t)
	b, err := c.Append(nil, &transport.Frame{Count: 1, Ref: []greedy{{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Decode(b, &transport.Frame{Count: 1}); err == nil {
		t.Fatal("it was decoded")
	}
	d := msgpack.GetDecoder()
	if !reflect.ValueOf(d).Elem().FieldByName("rec").IsNil() {
		t.Error("the next user's decoder records")
	}
}

func TestTypesThatWouldLoseSomethingAreRefused(t *testing.T) {
	type hidden struct {
		Shown string
		//lint:ignore U1000 it must be refused
		hidden int
	}
	refused := func(name string, err error) {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	_, err := New(reflect.TypeFor[hidden]())
	refused("a field that is not exported", err)
	_, err = New(reflect.TypeFor[map[string][]*hidden]())
	refused("the same, deep", err)
	_, err = New(reflect.TypeFor[[]any]())
	refused("an interface", err)
	_, err = New(reflect.TypeFor[chan int]())
	refused("a channel", err)
	codec[[]uint32](t)
	codec[string](t)
}

func TestAppendWantsItsOwnType(t *testing.T) {
	for _, ref := range []any{[]int{1}, []string{"a", "b"}, "a", nil} {
		if _, err := codec[string](t).Append(nil,
			&transport.Frame{Count: 1, Ref: ref}); err == nil {
			t.Errorf("a %T is taken", ref)
		}
	}
}

// bombs make an unguarded decoder crash or use much memory.
var bombs = map[string][]byte{
	"array of 2^31":      {0xdd, 0x80, 0, 0, 0},
	"map of 2^31":        {0xdf, 0x80, 0, 0, 0},
	"2 GB of bytes":      {0xc6, 0x7f, 0xff, 0xff, 0xff},
	"2 GB of string":     {0xdb, 0x7f, 0xff, 0xff, 0xff},
	"2 GB extension":     {0xc9, 0x7f, 0xff, 0xff, 0xff, 1},
	"nested arrays":      bytes.Repeat([]byte{0x91}, 2<<20),
	"nested maps":        bytes.Repeat([]byte{0x81, 0x01}, 1<<20),
	"nested in an array": append([]byte{0x91, 0x95}, bytes.Repeat([]byte{0x91}, 5<<20)...),
	"no such code":       {0xc1},
	"two values":         {0x90, 0x90},
	"nothing":            {},
	"cut length":         {0xdd, 0},
}

func TestBombsAreRefusedWithoutAllocation(t *testing.T) {
	c := codec[[]int64](t)
	for name, b := range bombs {
		if err := Check(b); !errors.Is(err, ErrHostile) {
			t.Errorf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := c.Decode(b, &transport.Frame{Count: 1}); err == nil {
			t.Errorf("%s is decoded", name)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<16 {
			t.Errorf("%s: %d bytes allocated", name, got)
		}
	}
}

func TestNilsDoNotExpand(t *testing.T) {
	c := codec[message](t)
	n := 1 << 20
	b := append([]byte{0xdd, 0, 0x10, 0, 0}, bytes.Repeat([]byte{0xc0}, n)...)
	if err := c.Decode(b, &transport.Frame{Count: n}); !errors.Is(err, ErrHostile) {
		t.Error(err)
	}
	if err := c.Decode([]byte{0x91, 0xc0}, &transport.Frame{Count: 2}); !errors.Is(err,
		ErrHostile) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range bombs {
		f.Add(b[:min(len(b), 100)], uint16(1))
	}
	for _, v := range []any{[]message{{Name: "a", Labels: []uint32{1, 2}}}, []any{nil, true, 1.5, -1, "x", []byte{1}, map[string]int{"a": 1}}} {
		b, err := msgpack.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(1))
	}
	c, deep := codec[message](f), codec[[][]map[string][]message](f)
	f.Fuzz(func(t *testing.T, b []byte, count uint16) {
		guarded := Check(b)
		for _, decode := range []func([]byte, *transport.Frame) error{c.Decode, deep.Decode} {
			out := transport.Frame{Count: int(count)}
			if err := decode(b, &out); err == nil && guarded != nil {
				t.Error("decode accepts data that Check rejects")
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	in := make([][]uint32, 10000)
	for i := range in {
		in[i] = []uint32{uint32(i), 1 << 20, 3}
	}
	c := codec[[]uint32](b)
	data, err := c.Append(nil, &transport.Frame{Count: len(in), Ref: in})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.Run("guard", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := Check(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := c.Decode(data, &transport.Frame{Count: len(in)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

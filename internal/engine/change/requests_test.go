package change_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/engine/change"
	"github.com/superstep-go/superstep/internal/kernel"
)

func FuzzRequests(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		b := encoded(f, n)
		f.Add(b)
		f.Add(b[:len(b)-n])
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, values := range []kernel.Column{&kernel.Vec[[]string]{}, &kernel.Vec[uint64]{}, &kernel.Vec[struct{}]{}} {
			c, _ := change.NewCodec(values)
			c.Decode(b, nil, values, func(uint64) bool { return true })
		}
	})
}

// encoded returns n encoded requests of all kinds.
func encoded(f *testing.F, n int) []byte {
	values := &kernel.Vec[[]string]{}
	c, err := change.NewCodec(values)
	if err != nil {
		f.Fatal(err)
	}
	list := make([]kernel.Request, n)
	for i := range list {
		list[i] = kernel.Request{Kind: kernel.RequestKind(i % 4), Of: uint64(i)}
		if list[i].Kind == kernel.AddVertex {
			list[i].Value = uint32(len(values.Data))
			values.Data = append(values.Data, []string{"a", "b"})
		}
	}
	b, err := c.Encode(7, list, values)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// Requests are decoded as they were encoded, with the values of the vertices that they add.
func TestRequestsArrive(t *testing.T) {
	values, came := &kernel.Vec[uint64]{Data: []uint64{5, 6, 7}},
		&kernel.Vec[uint64]{Data: []uint64{1}}
	list := []kernel.Request{
		{Kind: kernel.AddVertex, Of: 9, By: 3, Value: 2},
		{Kind: kernel.AddEdge, Of: 9, To: 4, By: 3, Weight: 0.5},
		{Kind: kernel.AddVertex, Of: 8, By: 3, Value: 0},
	}
	c, err := change.NewCodec(values)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Encode(10, list, values)
	if err != nil {
		t.Fatal(err)
	}
	got, ids, err := c.Decode(b, nil, came, func(id uint64) bool { return id < 10 })
	if err != nil || ids != 10 || len(got) != 3 {
		t.Fatal(got, ids, err)
	}
	for i, r := range got {
		want := list[i]
		if want.Kind == kernel.AddVertex {
			if came.Data[r.Value] != values.Data[want.Value] {
				t.Errorf("request %d brings value %d, want %d", i, came.Data[r.Value],
					values.Data[want.Value])
			}
			r.Value = want.Value
		}
		if r != want {
			t.Errorf("request %d is %v, want %v", i, r, want)
		}
	}
	if _, _, err := c.Decode(b, nil, came, func(id uint64) bool { return id < 9 }); err == nil {
		t.Error("a request about a vertex of others is taken")
	}
}

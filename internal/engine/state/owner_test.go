package state_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

const vertices = 200

// parts returns the parts of a checkpoint with the given number of partitions. The value of vertex
// v is 3v+1, and every fifth vertex has a bit and a text.
func parts(t *testing.T, of int) (all []*checkpoint.Part) {
	t.Helper()
	for q := range of {
		p := &checkpoint.Part{Partition: q, Of: of, Vertices: (vertices - q + of - 1) / of}
		values, texts := &kernel.Vec[uint64]{}, &kernel.Vec[[]string]{}
		bits := make([]uint64, bitmap.Words(p.Vertices))
		for k := range p.Vertices {
			v := uint64(k*of + q)
			values.Data = append(values.Data, 3*v+1)
			if v%5 == 0 {
				bitmap.Set(bits, uint32(k))
				texts.Data = append(texts.Data, []string{"vertex", string(rune('a' + v%26))})
			}
		}
		err := state.Save(p, "values", values, values.Len())
		if err = errors.Join(err, state.Save(p, "texts", texts, texts.Len())); err != nil {
			t.Fatal(err)
		}
		p.Add("bits", wire.Bytes(bits))
		all = append(all, p)
	}
	return all
}

// room returns columns of n zeros.
func room(n int) (*kernel.Vec[uint64], *kernel.Vec[[]string]) {
	return &kernel.Vec[uint64]{Data: make([]uint64, n)},
		&kernel.Vec[[]string]{Data: make([][]string, n)}
}

// A partition finds its vertices in the parts of the same and of other numbers of partitions.
func TestPartsOfOtherPartitions(t *testing.T) {
	for _, saved := range []int{1, 2, 3} {
		all := parts(t, saved)
		for _, of := range []int{1, 2, 3, 5} {
			for index := range of {
				own := (vertices - index + of - 1) / of
				values, texts := room(own)
				bits := make([]uint64, bitmap.Words(own))
				o := state.Owner{Index: index, Deal: kernel.NewDeal(of)}
				for q, p := range all {
					if !o.Wants(saved, q) {
						continue
					}
					data, _ := p.Section("values")
					missing, err := o.Some(p, "bits", "texts", texts)
					err = errors.Join(err, o.Check(p, vertices), o.Vertices(p, data, values))
					if err = errors.Join(err, o.Bits(p, "bits", bits)); err != nil || missing {
						t.Fatal(missing, err)
					}
				}
				for k := range own {
					v := uint64(k*of + index)
					if values.Data[k] != 3*v+1 || bitmap.Get(bits, uint32(k)) != (v%5 == 0) {
						t.Fatalf("%d of %d, saved by %d: vertex %d is %d", index, of, saved, v,
							values.Data[k])
					}
					var want []string
					if v%5 == 0 {
						want = []string{"vertex", string(rune('a' + v%26))}
					}
					if text := texts.Data[k]; !slices.Equal(text, want) {
						t.Fatalf("%d of %d, saved by %d: vertex %d has %q", index, of, saved, v,
							text)
					}
				}
			}
		}
	}
}

// Inconsistent parts cause errors, but no panics.
func TestPartsThatDoNotHoldWhatTheySay(t *testing.T) {
	o := state.Owner{Index: 0, Deal: kernel.NewDeal(1)}
	p := parts(t, 1)[0]
	values, texts := room(vertices)
	data, _ := p.Section("values")
	packed, _ := p.Section("texts")
	short := &checkpoint.Part{Of: 1, Vertices: vertices}
	short.Add("bits", make([]byte, 8))
	beyond := &checkpoint.Part{Of: 1, Vertices: vertices}
	beyond.Add("bits", []byte{31: 0xff})
	missing, err := o.Some(p, "bits", "no texts", texts)
	if !missing || err != nil {
		t.Errorf("without a section: %v, %v", missing, err)
	}
	for name, err := range map[string]error{
		"values that are too few":    o.Vertices(p, data[:len(data)-8], values),
		"half a block":               o.Vertices(p, packed[:len(packed)/2], texts),
		"another count than of bits": o.Vertices(p, packed, texts),
		"bits that are too few":      o.Bits(short, "bits", make([]uint64, 4)),
		"bits beyond the vertices":   o.Bits(beyond, "bits", make([]uint64, 4)),
		"no bits":                    o.Bits(p, "other bits", make([]uint64, 4)),
		"another number of vertices": o.Check(p, vertices+1),
	} {
		if !errors.Is(err, state.Err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package build

import (
	"bytes"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
)

func TestSendBuffer(t *testing.T) {
	for kind := range edges.Float64 + 1 {
		for stride := 1; stride <= 3; stride++ {
			var parts [2]sendBuffer
			var want sendBuffer
			for i := range 7 {
				p, k := &parts[i/4], i%kinds
				for j := range stride {
					p.words[k] = append(p.words[k], uint64(i<<8|j))
				}
				p.weights[k].Append(kind, float64(i))
			}
			for k := range kinds {
				for i := range parts {
					want.words[k] = append(want.words[k], parts[i].words[k]...)
					want.weights[k].Single = append(want.weights[k].Single,
						parts[i].weights[k].Single...)
					want.weights[k].Double = append(want.weights[k].Double,
						parts[i].weights[k].Double...)
				}
			}
			data := encode(nil, []*sendBuffer{&parts[0], &parts[1]}, stride, true)
			got, more, err := decode(data, stride, graph.WeightBytes(kind), kind)
			if err != nil || !more {
				t.Fatal(err, more)
			}
			for k := range kinds {
				if !slices.Equal(got.words[k], want.words[k]) ||
					!slices.Equal(got.weights[k].Single, want.weights[k].Single) ||
					!slices.Equal(got.weights[k].Double, want.weights[k].Double) {
					t.Errorf("%v, stride %d, kind %d: got %v, want %v", kind, stride, k, got, want)
				}
			}
			for cut := range data {
				if _, _, err := decode(data[:cut], stride, graph.WeightBytes(kind), kind); err == nil {
					t.Errorf("%v, stride %d: %d of %d bytes were taken", kind, stride, cut,
						len(data))
				}
			}
		}
	}
}

func FuzzDecodeSendBuffer(f *testing.F) {
	p := sendBuffer{}
	p.words[0] = []uint64{1, 2}
	p.weights[0].Single = []float32{1, 2}
	f.Add(encode(nil, []*sendBuffer{&p}, 1, false), uint8(0))
	f.Add(encode(nil, []*sendBuffer{&p}, 2, true), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		stride, kind := 1+int(how%3), edges.Weights(how/3%3)
		got, more, err := decode(data, stride, graph.WeightBytes(kind), kind)
		if err != nil {
			return
		}
		if again := encode(nil, []*sendBuffer{&got}, stride, more); !bytes.Equal(again, data) {
			t.Errorf("%x is read as %+v, which is %x", data, got, again)
		}
	})
}

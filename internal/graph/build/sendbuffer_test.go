package build

import (
	"bytes"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
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
				p.weights[k].weigh(kind, float64(i))
			}
			for k := range kinds {
				for i := range parts {
					want.words[k] = append(want.words[k], parts[i].words[k]...)
					want.weights[k].single = append(want.weights[k].single,
						parts[i].weights[k].single...)
					want.weights[k].double = append(want.weights[k].double,
						parts[i].weights[k].double...)
				}
			}
			data := encode(nil, []*sendBuffer{&parts[0], &parts[1]}, stride, true)
			got, more, err := decode(data, stride, weightSize(kind), kind)
			if err != nil || !more {
				t.Fatal(err, more)
			}
			for k := range kinds {
				if !slices.Equal(got.words[k], want.words[k]) ||
					!slices.Equal(got.weights[k].single, want.weights[k].single) ||
					!slices.Equal(got.weights[k].double, want.weights[k].double) {
					t.Errorf("%v, stride %d, kind %d: got %v, want %v", kind, stride, k, got, want)
				}
			}
			for cut := range data {
				if _, _, err := decode(data[:cut], stride, weightSize(kind), kind); err == nil {
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
	p.weights[0].single = []float32{1, 2}
	f.Add(encode(nil, []*sendBuffer{&p}, 1, false), uint8(0))
	f.Add(encode(nil, []*sendBuffer{&p}, 2, true), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		stride, kind := 1+int(how%3), edges.Weights(how/3%3)
		got, more, err := decode(data, stride, weightSize(kind), kind)
		if err != nil {
			return
		}
		if again := encode(nil, []*sendBuffer{&got}, stride, more); !bytes.Equal(again, data) {
			t.Errorf("%x is read as %+v, which is %x", data, got, again)
		}
	})
}

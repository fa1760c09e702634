package pack

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
)

// raw returns the raw result of a number of vertices in partitions, in blocks of 3.
func raw[V any](t testing.TB, value func(id int) V, vertices, partitions int) []byte {
	t.Helper()
	var out []byte
	var err error
	for p := range partitions {
		owned := (vertices - p + partitions - 1) / partitions
		for first := 0; first < owned; first += 3 {
			var values []V
			for i := first; i < min(first+3, owned); i++ {
				values = append(values, value(p+i*partitions))
			}
			if out, err = appendBlock(out, p, first, values...); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// storage returns columns for some of the partitions.
func storage[V any](vertices, partitions int, here ...int) map[int]kernel.Column {
	all := map[int]kernel.Column{}
	for _, p := range here {
		all[p] = &kernel.Vec[V]{Data: make([]V, (vertices-p+partitions-1)/partitions)}
	}
	return all
}

func testBlocks[V any](t *testing.T, value func(id int) V) {
	t.Helper()
	const vertices, partitions = 31, 4
	data := raw(t, value, vertices, partitions)
	for _, piece := range []int{1, 7, len(data)} {
		column := NewColumn[V](vertices, kernel.NewDeal(partitions), false)
		all := storage[V](vertices, partitions, 0, 1, 2, 3)
		blocks := NewBlocks(all)
		for at := 0; at < len(data); at += piece {
			if err := blocks.Whole(vertices); err == nil {
				t.Error("a result that lacks something is whole")
			}
			some := data[at:min(at+piece, len(data))]
			if _, err := blocks.Write(some); err != nil {
				t.Fatal(err)
			}
			if _, err := column.Write(some); err != nil {
				t.Fatal(err)
			}
		}
		if err := blocks.Whole(vertices); err != nil {
			t.Error(err)
		}
		for id := range vertices {
			if found := kernel.Elements[V](all[id%partitions])[id/partitions]; !reflect.DeepEqual(found, column.Values[id]) || !reflect.DeepEqual(found, value(id)) {
				t.Errorf("vertex %d has %v, expected %v", id, found, value(id))
			}
		}
	}
}

// TestBlocks compares columns whose type is known only at run time with a Column.
func TestBlocks(t *testing.T) {
	testBlocks(t, func(id int) float64 { return float64(id) / 3 })
	testBlocks(t, func(id int) [2]uint8 { return [2]uint8{1, uint8(id)} })
	testBlocks(t, func(id int) string { return strings.Repeat("x", id) })
	testBlocks(t, func(id int) []int { return make([]int, id+1) })
	testBlocks(t, func(id int) map[string]float64 { return map[string]float64{"id": float64(id)} })
	if Describe(reflect.TypeFor[[2]uint8](), true) != "[2]uint8" ||
		Describe(reflect.TypeFor[[]int](), false) != "[]int64" {
		t.Error("the types are described otherwise")
	}
}

func TestBlocksRefuse(t *testing.T) {
	data := raw(t, func(id int) int64 { return int64(id) }, 9, 2)
	for want, write := range map[string]func() error{
		"found a block of 4611686018427387904 bytes, expected at most 24": func() error {
			huge := bytes.Clone(data)
			binary.LittleEndian.PutUint64(huge[24+24+16:], 1<<62)
			_, err := (&Splitter{Most: 24, Each: func(uint32, []byte) error { return nil }}).Write(
				huge)
			return err
		},
		"partition 1, which is not here": func() error {
			_, err := NewBlocks(storage[int64](9, 2, 0)).Write(data)
			return err
		},
		"expected at most 2 from 0 on": func() error {
			_, err := NewBlocks(storage[int64](4, 2, 0, 1)).Write(data)
			return err
		},
		"of partition 0 from vertex 0 on": func() error {
			b := NewBlocks(storage[int64](9, 2, 0, 1))
			_, err := b.Write(append(bytes.Clone(data), data...))
			return err
		},
		"bytes for 3 values": func() error {
			_, err := NewBlocks(storage[int32](9, 2, 0, 1)).Write(data)
			return err
		},
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}

// FuzzBlocks: any bytes are decoded or refused without a panic.
func FuzzBlocks(f *testing.F) {
	f.Add(raw(f, func(id int) int64 { return int64(id) }, 9, 2),
		raw(f, func(id int) string { return "x" }, 9, 2))
	f.Fuzz(func(t *testing.T, numbers, texts []byte) {
		_, _ = NewBlocks(storage[int64](9, 2, 0, 1)).Write(numbers)
		_, _ = NewBlocks(storage[string](9, 2, 0, 1)).Write(texts)
		_, _ = NewBlocks(storage[[]map[string]int](9, 2, 0, 1)).Write(texts)
	})
}

package kernel

import (
	"strings"
	"testing"
)

// TestDeal compares deals with a slow one, which deals vertex by vertex.
func TestDeal(t *testing.T) {
	for _, text := range []string{"", "64:", "64:1", "64:5,1,2", "128:33,70,1", "64:200"} {
		for _, partitions := range []int{1, 2, 3, 7} {
			d, err := ParseDeal(partitions, text)
			if err != nil || d.Partitions() != partitions || partitions > 1 && d.String() != text {
				t.Fatal(d, err)
			}
			owned, slots := make([]int, partitions), make([]Slots, partitions)
			const n = 20_000
			for q := range slots {
				slots[q] = d.Slots(q, d.Owned(n, q))
				if slots[q].Stride != 1 && slots[q].Stride != uint64(partitions) {
					t.Errorf("stride %d", slots[q].Stride)
				}
			}
			for id := range uint32(n) {
				for q, want := range owned {
					if id%97 == 0 && d.Owned(int(id), q) != want {
						t.Fatalf("%q: partition %d of %d has %d of %d vertices, want %d", text, q,
							partitions, d.Owned(int(id), q), id, want)
					}
				}
				q, local := d.Of(id)
				if want := owner(id, partitions, text); q != want || int(local) != owned[q] ||
					d.ID(q, local) != uint64(id) || slots[q].ID(local) != uint64(id) {
					t.Fatalf("%q: vertex %d is %d of partition %d of %d, want %d of %d", text, id,
						local, q, partitions, owned[want], want)
				}
				owned[q]++
			}
		}
	}
}

// owner returns the partition of a vertex.
func owner(id uint32, partitions int, text string) int {
	var block, first int
	switch text {
	case "":
		return int(id) % partitions
	case "128:33,70,1":
		block = int(id) / 128
	default:
		block = int(id) / 64
	}
	for _, n := range map[string][]int{
		"64:1": {1}, "64:5,1,2": {5, 1, 2}, "128:33,70,1": {33, 70, 1}, "64:200": {200},
	}[text] {
		if stripes := 16 * partitions; n >= stripes && block < first+n {
			stripe := 0
			for (stripe+1)*n <= (block-first)*stripes {
				stripe++
			}
			return stripe % partitions
		}
		if first += n; block < first {
			return block % partitions
		}
	}
	return (block - first) % partitions
}

func FuzzParseDeal(f *testing.F) {
	for _, text := range []string{"", "64:", "64", "64:1,2", "63:1", "64:0", "64:4194305", "1:1", ":"} {
		f.Add(2, text)
	}
	f.Fuzz(func(t *testing.T, partitions int, text string) {
		d, err := ParseDeal(max(partitions&15, 1), text)
		if err != nil {
			return
		}
		for _, id := range []uint32{0, 63, 64, 1 << 20, 1<<32 - 1<<20 - 1} {
			if q, local := d.Of(id); d.ID(q, local) != uint64(id) {
				t.Errorf("%q: vertex %d is %d", text, id, d.ID(q, local))
			}
		}
		if strings.Count(text, ",") > maxBlocks {
			t.Error("too many classes")
		}
	})
}

package kernel

import (
	"slices"
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
				if none := d.Slots(q, 0); (none.Blocks != nil) != (d.String() != "") {
					t.Errorf("%q: a partition without vertices has blocks %v", text, none.Blocks)
				}
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
	length, classes := 64, map[string][]int{
		"64:1": {1}, "64:5,1,2": {5, 1, 2}, "128:33,70,1": {33, 70, 1}, "64:200": {200},
	}[text]
	switch text {
	case "":
		return int(id) % partitions
	case "128:33,70,1":
		length = 128
	}
	var owners []int
	for _, n := range classes {
		before, had := len(owners), make([]int, partitions)
		for stripe := range 16 * partitions {
			round := stripe / partitions
			q := stripe - round*partitions
			if round == 1 || round == 3 || round > 4 && round%2 > 0 {
				q = partitions - 1 - q
			}
			whole := n / partitions
			for extra := range n - whole*partitions {
				if (q+before-extra)%partitions == 0 {
					whole++
				}
			}
			for float64(had[q]+1) <= float64(round+1)*float64(whole)/16+float64(q*40503%65536)/65536 {
				had[q]++
				owners = append(owners, q)
			}
		}
	}
	if at := int(id) / length; at >= len(owners) {
		return (at - len(owners)) % partitions
	}
	return owners[int(id)/length]
}

// TestDealIsFair: partitions have the same number of blocks of each class, or one more. A class's
// blocks are in the same stripes as those of a larger class.
func TestDealIsFair(t *testing.T) {
	for _, partitions := range []int{2, 3, 5, 16, 100, 1000} {
		for _, classes := range [][]int{{48 * partitions, 24 * partitions}, {100*partitions + 7, 90*partitions + 1, 40 * partitions, 17*partitions + 3, 3}, {1, 1, 1}} {
			d := NewDeal(partitions)
			d.blocks = &blocks{of: make([][]uint32, partitions)}
			ends, all := []int{0}, make([]int, partitions)
			for _, n := range classes {
				d.blocks.deal(n)
				ends = append(ends, ends[len(ends)-1]+n)
			}
			if len(d.blocks.places) != ends[len(classes)] {
				t.Fatalf("%d partitions, %v: %d blocks", partitions, classes, len(d.blocks.places))
			}
			for k, n := range classes {
				counts, near := make([]int, partitions), 0
				for i, at := range d.blocks.places[ends[k]:ends[k+1]] {
					counts[at.partition]++
					all[at.partition]++
					stripe := i * 16 * partitions / n
					for s := stripe - 2; s <= stripe+2; s++ {
						q := (s + partitions) % partitions
						if (s+partitions)/partitions%2 == 0 {
							q = partitions - 1 - q
						}
						if uint32(q) == at.partition {
							near++
							break
						}
					}
				}
				if slices.Max(counts)-slices.Min(counts) > 1 {
					t.Errorf("%d partitions, class %d of %v: from %d to %d blocks", partitions, k,
						classes, slices.Min(counts), slices.Max(counts))
				}
				if n >= 32*partitions && near < n*9/10 {
					t.Errorf("%d partitions, class %d of %v: %d of %d blocks are in their stripes",
						partitions, k, classes, near, n)
				}
			}
			if slices.Max(all)-slices.Min(all) > len(classes) {
				t.Errorf("%d partitions, %v: from %d to %d blocks", partitions, classes,
					slices.Min(all), slices.Max(all))
			}
		}
	}
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

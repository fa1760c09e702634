package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/parallel"
)

// TestNames fills a table from several goroutines. It compares the table and its dictionary with a
// map and a sorted list.
func TestNames(t *testing.T) {
	team := parallel.NewTeam(3, true)
	defer team.Close()
	for _, n := range []int{0, 1, 2, 15, 16, 17, 1000, 100_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			list := make([][]byte, n)
			for i := range list {
				list[i] = random(rng)
			}
			table := NewTable()
			ids := make([][]uint64, 3)
			var wg sync.WaitGroup
			for w := range ids {
				wg.Go(func() {
					var b Batch
					for lo := w * n / 3; lo < (w+1)*n/3; lo += 777 {
						b.Reset()
						for _, name := range list[lo:min(lo+777, (w+1)*n/3)] {
							b.Add(name)
						}
						ids[w] = table.Take(&b, ids[w])
					}
				})
			}
			wg.Wait()
			want := make([]string, n)
			for i, name := range list {
				want[i] = string(name)
			}
			slices.Sort(want)
			want = slices.Compact(want)
			if table.Len() != len(want) {
				t.Fatalf("%d names, expected %d", table.Len(), len(want))
			}
			d, numbers := table.Sort(team)
			if d.Len() != len(want) || table.Len() != 0 {
				t.Fatalf("%d names of %d, %d left", d.Len(), len(want), table.Len())
			}
			for i, name := range want {
				if d.Name(uint64(i)) != name {
					t.Fatalf("name %d is %q, expected %q", i, d.Name(uint64(i)), name)
				}
				if at, ok := d.Find(name); !ok || at != uint64(i) {
					t.Fatalf("Find(%q) = %d, %t, expected %d", name, at, ok, i)
				}
				if _, ok := d.Find(name + "\x00!"); ok {
					t.Fatalf("found %q", name+"\x00!")
				}
			}
			at := 0
			for _, some := range ids {
				for _, id := range some {
					if got := d.Name(numbers.Of(id)); got != string(list[at]) {
						t.Fatalf("name of tuple %d is %q, expected %q", at, got, list[at])
					}
					at++
				}
			}
			if at != n {
				t.Fatal(at, "ids")
			}
		})
	}
}

// random returns a name. Many names are equal, many have the same long prefix, and a few are long.
func random(rng *rand.Rand) []byte {
	switch rng.IntN(7) {
	case 5: // one long prefix, followed by zeros
		return append([]byte("the same beginning of many"), make([]byte, rng.IntN(20))...)
	case 6:
		return append(append([]byte("the same beginning of many"), make([]byte, rng.IntN(20))...),
			byte(rng.IntN(256)), byte(rng.IntN(256)))
	case 0:
		return fmt.Appendf(nil, "%d", rng.IntN(50))
	case 1:
		return fmt.Appendf(nil, "https://example.org/a/long/way/%d", rng.IntN(1<<20))
	case 2:
		return []byte(string(rune(0x4e00+rng.IntN(2000))) + string(rune(0xe9+rng.IntN(100))))
	case 3:
		b := make([]byte, rng.IntN(20))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		return b
	default:
		if rng.IntN(1000) == 0 {
			return make([]byte, chunkSize+rng.IntN(1000))
		}
		return fmt.Appendf(nil, "%x", rng.Uint64())
	}
}

func BenchmarkTake(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, distinct = 1 << 20, 1 << 22
	list := make([][]byte, n)
	for i := range list {
		list[i] = fmt.Appendf(nil, "person number %08d", rng.IntN(distinct))
	}
	for b.Loop() {
		t := NewTable()
		var batch Batch
		var ids []uint64
		for lo := 0; lo < n; lo += 1 << 15 {
			batch.Reset()
			for _, name := range list[lo : lo+1<<15] {
				batch.Add(name)
			}
			ids = t.Take(&batch, ids[:0])
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mnames/s")
}

func BenchmarkSort(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	const n = 1 << 20
	for b.Loop() {
		b.StopTimer()
		t := NewTable()
		var batch Batch
		bytes := 0
		rng := rand.New(rand.NewPCG(1, 1))
		for range n {
			name := fmt.Appendf(nil, "person number %010d", rng.Uint32())
			bytes += len(name)
			batch.Add(name)
		}
		t.Take(&batch, nil)
		b.StartTimer()
		d, _ := t.Sort(team)
		b.ReportMetric(float64(d.Bytes())/float64(bytes), "bytes/byte")
	}
}

package names

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// dictionary makes a dictionary from names in random order. It also returns the sorted names.
func dictionary(t testing.TB, n int, seed uint64) (*Dictionary, [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	var all [][]byte
	for range n {
		if name := random(rng); len(name) > 0 && len(name) < 1000 {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, bytes.Compare)
	all = slices.CompactFunc(all, bytes.Equal)
	var b Builder
	for _, name := range all {
		if err := b.Add(name); err != nil {
			t.Fatal(err)
		}
	}
	return b.Dictionary(), all
}

// TestPieces cuts a dictionary at random places, and joins the pieces again.
func TestPieces(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		d, all := dictionary(t, rng.IntN(200), seed)
		cuts := []uint64{0, uint64(len(all))}
		for range rng.IntN(5) {
			cuts = append(cuts, uint64(rng.IntN(len(all)+1)))
		}
		slices.Sort(cuts)
		var b Builder
		for i, lo := range cuts[1:] {
			if err := b.AddPiece(d.AppendPiece(nil, cuts[i], lo)); err != nil {
				t.Fatalf("seed %d: names %d to %d: %v", seed, cuts[i], lo, err)
			}
		}
		whole := b.Dictionary()
		if !bytes.Equal(whole.data, d.data) || !slices.Equal(whole.blocks, d.blocks) ||
			whole.n != len(all) {
			t.Fatalf("seed %d: the pieces %v make another dictionary", seed, cuts)
		}
		for range 100 {
			text := random(rng)
			if rng.IntN(2) == 0 && len(all) > 0 {
				text = slices.Clone(all[rng.IntN(len(all))])
				text = append(text, make([]byte, rng.IntN(2))...)
			}
			at, found := d.Search(text)
			want, exists := slices.BinarySearchFunc(all, text, bytes.Compare)
			if int(at) != want || found != exists {
				t.Fatalf("seed %d: Search(%q) = %d, %t, expected %d, %t", seed, text, at, found,
					want, exists)
			}
		}
	}
}

// TestSizeOfDictionary checks the documented bound: at most 1.3 times the bytes of the names.
func TestSizeOfDictionary(t *testing.T) {
	for _, form := range []string{"person number %d", "%d", "https://example.org/wiki/%x/page", "Straße %d"} {
		var all [][]byte
		size := 0
		for i := range 20_000 {
			all = append(all, fmt.Appendf(nil, form, i*7919))
			size += len(all[i])
		}
		slices.SortFunc(all, bytes.Compare)
		var b Builder
		for _, name := range all {
			if err := b.Add(name); err != nil {
				t.Fatal(err)
			}
		}
		if d := b.Dictionary(); 10*d.Bytes() > 13*int64(size) {
			t.Errorf("%q: %d bytes for names of %d", form, d.Bytes(), size)
		}
	}
}

// TestDamagedPieces: malformed pieces are refused.
func TestDamagedPieces(t *testing.T) {
	for _, data := range []string{
		"", "\x01", "\x01\x01", "\x01\x01\x02ab", "\x01\x02\x02abc", "\x02\x02\x01b\x00\x01a",
		"\x02\x02\x01a\x00\x01a", "\x02\x03\x01a\x02\x01b",
		"\x01\x00\x00\x00", "\xff\xff\xff\xff\x0f\x01\x01a", "\x02\x03\x01a\x01\x00\x00",
	} {
		var b Builder
		if err := b.AddPiece([]byte(data)); !errors.Is(err, ErrPiece) {
			t.Errorf("%q: found %v, expected %v", data, err, ErrPiece)
		}
	}
	var b Builder
	if b.Add(nil) == nil || b.Add([]byte("b")) != nil || b.Add([]byte("b")) == nil ||
		b.Add([]byte("a")) == nil || b.Len() != 1 {
		t.Error("names that do not rise are taken")
	}
}

// FuzzPiece decodes any bytes as a piece. A valid piece is encoded to the same bytes again.
func FuzzPiece(f *testing.F) {
	d, all := dictionary(f, 60, 1)
	f.Add(d.AppendPiece(nil, 0, uint64(len(all))))
	f.Add(d.AppendPiece(nil, 5, 20))
	f.Add([]byte("\x02\x03\x01a\x01\x01b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Builder
		if b.AddPiece(data) != nil {
			return
		}
		d := b.Dictionary()
		var again Builder
		if err := again.AddPiece(d.AppendPiece(nil, 0, uint64(d.Len()))); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(d.Len()) {
			if at, ok := d.Find(d.Name(i)); !ok || at != i {
				t.Fatalf("name %d, %q, is found at %d", i, d.Name(i), at)
			}
		}
	})
}

package vertexset_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// TestDamaged: no changed byte is accepted.
func TestDamaged(t *testing.T) {
	s, _ := random(t, rand.New(rand.NewPCG(5, 5)), numbered{3, 3000})
	data, _ := s.MarshalBinary()
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		if err := new(vertexset.Set).UnmarshalBinary(bad); err == nil {
			t.Errorf("byte %d may change", i)
		}
		if _, err := vertexset.Read(bytes.NewReader(data[:i])); err == nil {
			t.Errorf("%d bytes are enough", i)
		}
	}
	if _, err := vertexset.Read(bytes.NewReader(append(data, 0))); err == nil {
		t.Error("a byte more")
	}
}

// TestLargeClaim: a file that claims more bytes than there is memory for is refused by its header.
func TestLargeClaim(t *testing.T) {
	mem.SetProcess(mem.NewBudget(256<<20, ""))
	defer mem.SetProcess(nil)
	data := must(vertexset.Set{}.MarshalBinary())(t)[:48]
	binary.LittleEndian.PutUint64(data[16:], 1)
	binary.LittleEndian.PutUint64(data[24:], 1<<32)
	binary.LittleEndian.PutUint64(data[40:], 500<<20)
	if _, err := vertexset.Read(bytes.NewReader(data)); mem.IsExhausted(err) == nil {
		t.Error(err)
	}
}

// signed returns bytes as a set with a right checksum, if they are long enough.
func signed(data []byte) []byte {
	if len(data) < 52 {
		return data
	}
	data = bytes.Clone(data)
	binary.LittleEndian.PutUint64(data[40:], uint64(len(data)-52))
	sum := crc32.Checksum(data[:len(data)-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(data[len(data)-4:], sum)
	return data
}

// TestManyRuns reads as many runs as a container may have. Their check takes linear time.
func TestManyRuns(t *testing.T) {
	const n = 1 << 24
	s := must(vertexset.Of(numbered{1, n}, func(yield func(pregel.VertexID) bool) {
		for v := range pregel.VertexID(n) {
			if v%33 != 0 && !yield(v) {
				return
			}
		}
	}))(t)
	data := must(s.MarshalBinary())(t)
	began := time.Now()
	if err := new(vertexset.Set).UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("%d bytes took %v", len(data), took)
	}
}

// TestMalformed changes bitmaps, with a right checksum, and compares with Roaring's own check.
func TestMalformed(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s, _ := random(t, rng, numbered{9, 150_000})
		data := must(s.MarshalBinary())(t)
		for range 40 {
			bad := bytes.Clone(data)
			for range rng.IntN(3) {
				at := 48 + rng.IntN(len(bad)-48)
				if rng.IntN(2) == 0 {
					at = 48 + rng.IntN(min(len(bad)-48, 60))
				}
				bad[at] = byte(rng.Uint32())
			}
			bits := roaring.New()
			_, wrong := bits.FromBuffer(bytes.Clone(bad[48 : len(bad)-4]))
			if wrong == nil {
				wrong = bits.Validate()
				binary.LittleEndian.PutUint64(bad[32:], bits.GetCardinality())
			}
			if got := new(vertexset.Set).UnmarshalBinary(signed(bad)); got == nil && wrong != nil &&
				s.Len() > 0 {
				t.Fatalf("seed %d: a bitmap is accepted: %v", seed, wrong)
			} else if bytes.Equal(bad[48:len(bad)-4], data[48:len(data)-4]) && got != nil {
				t.Fatal(got)
			}
		}
	}
}

// FuzzRead: any bytes are read or refused. What is read has its count, ascending vertices below the
// bound, and can be combined.
func FuzzRead(f *testing.F) {
	for seed := range uint64(6) {
		s, _ := random(f, rand.New(rand.NewPCG(seed, 3)), numbered{9, 150_000})
		data, _ := s.MarshalBinary()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := vertexset.Read(bytes.NewReader(signed(data)))
		if err != nil {
			return
		}
		fingerprint, ids := s.Numbering()
		last, n := pregel.VertexID(0), 0
		for v := range s.All() {
			if n > 0 && v <= last || fingerprint != 0 && v >= pregel.VertexID(ids) || !s.Contains(v) {
				t.Fatalf("vertex %d after %d, of %d", v, last, ids)
			}
			last, n = v, n+1
		}
		twice, err := s.Union(s)
		none, _ := s.Minus(twice)
		if err != nil || n != s.Len() || twice.Len() != n || none.Len() != 0 {
			t.Fatalf("%d vertices, %d counted, %d twice, %d left: %v", s.Len(), n, twice.Len(),
				none.Len(), err)
		}
		decoded(t, s)
	})
}

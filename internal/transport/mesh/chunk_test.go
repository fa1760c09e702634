package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/transport"
)

const testLimit = 1 << 30

// encode returns a chunk with a whole frame.
func encode(h header, payload []byte) []byte {
	h.length, h.sum = uint32(len(payload)), sumOf(payload[:h.presence], payload[h.presence:])
	b := make([]byte, headerSize, headerSize+len(payload))
	h.put(b)
	return append(b, payload...)
}

// compressed returns a compressed chunk of a message.
func compressed(h header, payload []byte) []byte {
	packed := s2.Encode(nil, payload)
	h.length, h.contents, h.packed, h.sum = uint32(len(payload)), uint64(len(payload)),
		uint32(len(packed)), sumOf(packed, nil)
	b := make([]byte, headerSize, headerSize+len(packed))
	h.put(b)
	return append(b, packed...)
}

// randomText returns a compressible message.
func randomText(r *rand.Rand) (header, []byte) {
	payload := bytes.Repeat([]byte("to be, or not to be; "), 10+r.IntN(20))
	for range 5 {
		payload[r.IntN(len(payload))] = byte(r.Uint32())
	}
	return header{identity: identity{kind: kindMessage, job: r.Uint64()}, sequence: r.Uint32()},
		payload
}

// decode reads one chunk.
func decode(b []byte, sequence uint32) (header, []byte, error) {
	var h header
	var payload []byte
	r := chunkReader{from: bytes.NewReader(b), maxFrame: testLimit, sequence: sequence}
	err := r.next(&h, func(h *header) ([]byte, error) {
		if int(h.length) > len(b) && h.packed == 0 || h.length > 1<<20 {
			return nil, io.ErrUnexpectedEOF
		}
		payload = make([]byte, h.length)
		return payload, nil
	})
	return h, payload, err
}

func randomChunk(r *rand.Rand) (header, []byte) {
	payload := make([]byte, r.IntN(200))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	if r.IntN(4) == 0 {
		return header{
			identity: identity{
				kind: kindMessage, epoch: r.Uint32(), superstep: r.Uint32(), from: r.Uint32(),
				to: r.Uint32(), job: r.Uint64(),
				incarnation: r.Uint64(), contents: uint64(len(payload)),
			},
			sequence: r.Uint32(),
		}, payload
	}
	presence := uint64(r.IntN(len(payload) + 1))
	return header{
		identity: identity{
			kind: uint8(r.IntN(transport.Kinds)), encoding: uint8(r.Uint32()),
			form:  uint8(r.IntN(2)),
			epoch: r.Uint32(), superstep: r.Uint32(), from: r.Uint32(), to: r.Uint32(),
			job: r.Uint64(), incarnation: r.Uint64(),
			count: r.Uint64() >> 24, presence: presence, contents: uint64(len(payload)) - presence,
		},
		sequence: r.Uint32(),
	}, payload
}

func TestChunksSurvive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		h, payload := randomChunk(r)
		b := encode(h, payload)
		got, back, err := decode(b, h.sequence)
		if err != nil || got.identity != h.identity || !bytes.Equal(back, payload) {
			t.Fatalf("%+v came back as %+v, %v", h, got, err)
		}
	}
}

// TestRefusedChunkLeavesNoBuffer: no budget counts the memory of refused and compressed payloads.
// So a connection keeps little of it.
func TestRefusedChunkLeavesNoBuffer(t *testing.T) {
	payload := make([]byte, 16<<20)
	h := header{identity: identity{kind: kindMessage, contents: uint64(len(payload))}}
	for _, b := range [][]byte{encode(h, payload), encode(h, payload), compressed(h, payload)} {
		r := chunkReader{from: bytes.NewReader(b), maxFrame: testLimit}
		err := r.next(&h, func(*header) ([]byte, error) { return nil, nil })
		if err != nil || cap(r.packed) > mostPacked {
			t.Fatalf("%d bytes are kept, %v", cap(r.packed), err)
		}
	}
}

func TestCompressedChunksSurvive(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		h, payload := randomText(r)
		b := compressed(h, payload)
		got, back, err := decode(b, h.sequence)
		if err != nil || got.job != h.job || !bytes.Equal(back, payload) || len(b) >= headerSize+
			len(payload) {
			t.Fatalf("%+v came back as %+v, %v", h, got, err)
		}
	}
}

// TestWrongCompressedChunksAreRefused: the checksums are right, but the block does not decompress
// to the length in the header.
func TestWrongCompressedChunksAreRefused(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefgh"), 100)
	for name, change := range map[string]func(h *header, packed []byte) []byte{
		"a longer one":       func(h *header, p []byte) []byte { h.length--; h.contents--; return p },
		"a shorter one":      func(h *header, p []byte) []byte { h.length++; h.contents++; return p },
		"garbage":            func(h *header, p []byte) []byte { return bytes.Repeat([]byte{0xff}, len(p)) },
		"garbage inside":     func(h *header, p []byte) []byte { p[2] ^= 0xff; return p },
		"its end is missing": func(h *header, p []byte) []byte { return p[:len(p)-3] },
		"it says 4 GB":       func(h *header, p []byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0} },
		"no shorter":         func(h *header, p []byte) []byte { return append(p, make([]byte, len(text)-len(p))...) },
	} {
		h := header{identity: identity{kind: kindMessage, contents: uint64(len(text))}, length: uint32(len(text))}
		packed := change(&h, s2.Encode(nil, text))
		h.packed, h.sum = uint32(len(packed)), sumOf(packed, nil)
		b := make([]byte, headerSize)
		h.put(b)
		if _, _, err := decode(append(b, packed...), 0); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoMutatedFrameIsDelivered(t *testing.T) {
	mutations := 100_000
	if testing.Short() {
		mutations = 5_000
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range mutations {
		h, payload := randomChunk(r)
		whole := encode(h, payload)
		if i%4 == 0 {
			h, payload = randomText(r)
			whole = compressed(h, payload)
		}
		b := bytes.Clone(whole)
		switch r.IntN(5) {
		case 0: // flip a bit
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 1: // change a byte
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		case 2: // change several bytes
			for j := r.IntN(len(b)); j < len(b) && r.IntN(8) > 0; j++ {
				b[j] = byte(r.Uint32())
			}
		case 3: // cut the end off
			b = b[:r.IntN(len(b))]
		case 4: // swap two bytes
			x, y := r.IntN(len(b)), r.IntN(len(b))
			b[x], b[y] = b[y], b[x]
		}
		if bytes.Equal(b, whole) {
			continue
		}
		if got, _, err := decode(b, h.sequence); err == nil {
			t.Fatalf("mutation %d of %+v was delivered as %+v", i, h, got)
		}
	}
}

func TestOutOfOrderChunksAreRefused(t *testing.T) {
	h, payload := randomChunk(rand.New(rand.NewPCG(5, 6)))
	if _, _, err := decode(encode(h, payload), h.sequence+1); !errors.Is(err, errCorrupt) {
		t.Error(err)
	}
}

// TestOversizedLengthsAreRefusedBeforeAllocation has headers with right checksums and too large
// lengths.
func TestOversizedLengthsAreRefusedBeforeAllocation(t *testing.T) {
	for name, change := range map[string]func(*header){
		"chunk of 2^32-1 bytes":   func(h *header) { h.length, h.contents = 1<<32-1, 1<<32-1 },
		"chunk beyond 64 MB":      func(h *header) { h.length, h.contents = maxChunk+1, maxChunk+1 },
		"frame beyond the limit":  func(h *header) { h.contents = testLimit + 1 },
		"lengths that overflow":   func(h *header) { h.contents, h.presence = 1<<63, 1<<63 },
		"chunk behind its frame":  func(h *header) { h.contents, h.offset, h.length = 100, 90, 20 },
		"offset that overflows":   func(h *header) { h.contents, h.offset, h.length = 100, ^uint64(0), 20 },
		"empty chunk, full frame": func(h *header) { h.contents = 10 },
		"absurd count":            func(h *header) { h.count = 1 << 50 },
		"unknown kind":            func(h *header) { h.kind = uint8(transport.Kinds) },
		"message with presence":   func(h *header) { h.kind, h.presence, h.length = kindMessage, 5, 5 },
		"message with a count":    func(h *header) { h.kind, h.count = kindMessage, 5 },
		"ping with a payload":     func(h *header) { h.kind, h.length, h.contents = kindPing, 5, 5 },
	} {
		h := header{}
		change(&h)
		b := make([]byte, headerSize)
		h.put(b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := chunkReader{from: bytes.NewReader(b), maxFrame: testLimit}
		err := r.next(new(header), func(*header) ([]byte, error) {
			t.Errorf("%s: room is asked for", name)
			return nil, nil
		})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<16 {
			t.Errorf("%s: %d bytes allocated", name, got)
		}
	}
}

// TestMemoryFollowsWhatComes: a header announces a frame of 1 GB, but only a little of it arrives.
// Memory grows only with the received bytes.
func TestMemoryFollowsWhatComes(t *testing.T) {
	if testing.Short() {
		t.Skip("it has one goroutine")
	}
	id := identity{presence: 12, contents: testLimit - 12}
	a := new(arrival)
	for have := 0; have < 40<<20; have += 1 << 20 {
		room, err := a.grow(nil, &id, have, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := range room {
			room[i] = byte((have + i) >> 12)
		}
		if most := max(sudden, 2*(have+2<<20)); cap(a.buffer) > most {
			t.Fatalf("%d bytes for %d that came", cap(a.buffer), have)
		}
	}
	for i := range 40 << 20 {
		if a.buffer[a.shift+i] != byte(i>>12) {
			t.Fatalf("byte %d was lost in growing", i)
		}
	}
}

func FuzzChunk(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 10 {
		h, payload := randomChunk(r)
		f.Add(encode(h, payload))
	}
	ping := header{identity: identity{kind: kindPing, incarnation: 3}, sequence: 9}
	f.Add(encode(ping, nil))
	for range 10 {
		f.Add(compressed(randomText(r)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerSize { // otherwise no input would pass the checksums
			split := min(max(binary.LittleEndian.Uint64(b[48:]),
				binary.LittleEndian.Uint64(b[64:]))-binary.LittleEndian.Uint64(b[64:]),
				uint64(len(b)-headerSize))
			if binary.LittleEndian.Uint32(b[92:]) > 0 {
				split = 0
			}
			binary.LittleEndian.PutUint64(b[84:],
				sumOf(b[headerSize:][:split], b[headerSize:][split:]))
			binary.LittleEndian.PutUint32(b[checkedBytes:],
				crc32.Checksum(b[:checkedBytes], castagnoli))
		}
		sequence := uint32(0)
		if len(b) >= 84 {
			sequence = binary.LittleEndian.Uint32(b[80:])
		}
		h, payload, err := decode(b, sequence)
		if err != nil {
			return
		}
		out := make([]byte, headerSize)
		h.put(out)
		if h.packed == 0 {
			out = append(out, payload...)
		}
		if !bytes.Equal(out, b[:len(out)]) {
			t.Errorf("%x was encoded as %x", b, out)
		}
	})
}

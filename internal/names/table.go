// Package names numbers vertices that have names in the input. A [Table] collects the names while
// several goroutines read them, and a [Dictionary] has them in ascending order with their numbers.
// Read table.go first, then dictionary.go.
package names

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/superstep-go/superstep/internal/mem"
)

// Table collects distinct names while an input is read, and gives each a provisional id. It
// consists of shards with a lock each, so readers rarely wait for each other: a batch of names is
// added shard by shard.
//
// A provisional id has the number of the shard in its lowest bits, and above them the index of the
// name in the shard.
type Table struct {
	seed   maphash.Seed
	shards [shards]shard
	blocks blocks
}

const (
	shardBits = 6
	shards    = 1 << shardBits
)

// NewTable makes an empty table. [Table.Sort] or Close frees it.
func NewTable() *Table { return &Table{seed: maphash.MakeSeed()} }

// Close frees the table, which must not be used afterwards. It is idempotent, and accepts nil.
func (t *Table) Close() {
	if t == nil {
		return
	}
	for i := range t.shards {
		s := &t.shards[i]
		s.arena.Close()
		s.slots, s.refs, s.chunks = nil, nil, nil
	}
	t.blocks.arena.Close()
	t.blocks.free = nil
}

// shard has the names with some hashes. A lookup reads two places, the slot and the name's bytes.
// The slot has a part of the hash, so bytes of other names are hardly ever read.
type shard struct {
	mu      sync.Mutex
	arena   mem.Arena // of the slots
	slots   []slot    // a power of two; at most three quarters are used
	refs    []ref     // of the names, by index
	chunks  [][]byte  // the names' bytes; a name is within one chunk
	touched uint32    // result of touch, so that its reads are not optimized away
}

// slot is an entry of the hash table. It is free if next is 0.
type slot struct {
	tag  uint32 // the upper half of the name's hash
	next uint32 // the name's index plus 1
	ref  ref
}

// ref is the position of a name: chunk, offset and length in bytes.
type ref uint64

const (
	chunkSize  = 1 << offsetBits
	offsetBits = 16
	lengthBits = 24
	maxName    = 1<<lengthBits - 1
)

func (r ref) chunk() int { return int(r >> (lengthBits + offsetBits)) }

func (r ref) offset() int { return int(r >> lengthBits & (chunkSize - 1)) }

func (r ref) length() int { return int(r & maxName) }

func (s *shard) name(r ref) []byte { return s.chunks[r.chunk()][r.offset():][:r.length()] }

// blocks allocates chunks, many of them on one huge page.
type blocks struct {
	mu    sync.Mutex
	arena mem.Arena
	free  []byte
}

const blockSize = 4 << 20

// chunk returns memory for a chunk.
func (b *blocks) chunk() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) == 0 {
		b.arena.Kind = kind
		b.free = mem.Make[byte](&b.arena, blockSize)
	}
	chunk := b.free[:0:chunkSize]
	b.free = b.free[chunkSize:]
	return chunk
}

// kind is the kind of memory under which tables are counted.
const kind = mem.Names

// Batch is a list of names to be added to a table. It can be reused.
type Batch struct {
	names  [][]byte
	hashes []uint64
	order  []uint32 // by shard
}

// Reset empties the batch.
func (b *Batch) Reset() {
	clear(b.names)
	b.names = b.names[:0]
}

// Add adds a name of at most 16 MiB. Its bytes must not change until the batch is taken.
func (b *Batch) Add(name []byte) { b.names = append(b.names, name) }

// Cut removes all names after the first n.
func (b *Batch) Cut(n int) {
	clear(b.names[n:])
	b.names = b.names[:n]
}

// Len returns the number of names in the batch.
func (b *Batch) Len() int { return len(b.names) }

// Take adds the names of a batch to the table, and appends their provisional ids in order.
func (t *Table) Take(b *Batch, ids []uint64) []uint64 {
	n := len(b.names)
	if cap(b.hashes) < n {
		b.hashes, b.order = make([]uint64, n+n/4), make([]uint32, n+n/4)
	}
	hashes, order := b.hashes[:n], b.order[:n]
	var starts [shards + 1]uint32
	for i, name := range b.names {
		hashes[i] = maphash.Bytes(t.seed, name)
		starts[hashes[i]%shards+1]++
	}
	for i := range shards {
		starts[i+1] += starts[i]
	}
	at := starts
	for i, h := range hashes {
		order[at[h%shards]] = uint32(i)
		at[h%shards]++
	}
	first := len(ids)
	ids = append(ids, hashes...)
	for i := range shards {
		if some := order[starts[i]:starts[i+1]]; len(some) > 0 {
			t.shards[i].take(&t.blocks, b, some, uint64(i), ids[first:])
		}
	}
	return ids
}

// together is the number of names that are looked up at the same time, so that their memory
// accesses overlap.
const together = 16

// take finds or adds some names of a batch, all of this shard, and writes their provisional ids.
func (s *shard) take(from *blocks, b *Batch, some []uint32, number uint64, ids []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(some) > 0 {
		now := some[:min(together, len(some))]
		some = some[len(now):]
		if 4*(len(s.refs)+len(now)) > 3*len(s.slots) {
			s.grow()
		}
		s.touch(b, now)
		for _, i := range now {
			ids[i] = uint64(s.place(from, b.names[i], b.hashes[i]))<<shardBits | number
		}
	}
}

// touch reads the probable places of some names: their slots, and then the first bytes of the names
// there. No branch depends on the data, so all reads are in flight at once.
func (s *shard) touch(b *Batch, some []uint32) {
	var refs [together]ref
	mask, touched := uint64(len(s.slots)-1), uint32(0)
	for _, i := range some {
		touched += s.slots[b.hashes[i]>>32&mask].tag
		if name := b.names[i]; len(name) > 0 {
			touched += uint32(name[0])
		}
	}
	for j, i := range some {
		refs[j%together] = s.slots[b.hashes[i]>>32&mask].ref
	}
	if len(s.chunks) > 0 {
		for _, r := range refs[:len(some)] {
			// the last name of a chunk may be skipped
			if text := s.chunks[r.chunk()]; r.offset()+r.length() < len(text) {
				touched += uint32(text[r.offset()]) + uint32(text[r.offset()+r.length()])
			}
		}
	}
	s.touched += touched
}

// place returns the index of a name with a hash, and adds the name if it is missing. There must be
// a free slot.
func (s *shard) place(from *blocks, name []byte, hash uint64) uint32 {
	mask, tag := uint64(len(s.slots)-1), uint32(hash>>32)
	for at := hash >> 32 & mask; ; at = (at + 1) & mask {
		switch is := &s.slots[at]; {
		case is.next == 0:
			r := s.keep(from, name)
			s.refs = append(s.refs, r)
			*is = slot{tag, uint32(len(s.refs)), r}
			return is.next - 1
		case is.tag == tag && bytes.Equal(s.name(is.ref), name):
			return is.next - 1
		}
	}
}

// grow doubles the slots. It needs only the upper half of the hash, which a slot has.
func (s *shard) grow() {
	old := s.slots
	s.arena.Kind = kind
	s.slots = mem.Make[slot](&s.arena, max(2*len(old), 2*together))
	mask := uint64(len(s.slots) - 1)
	for _, is := range old {
		if is.next == 0 {
			continue
		}
		at := uint64(is.tag) & mask
		for s.slots[at].next != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = is
	}
	mem.Free(&s.arena, old)
}

// keep copies a name into the shard's memory.
func (s *shard) keep(from *blocks, name []byte) ref {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(name) > cap(s.chunks[last]) ||
		len(s.chunks[last]) >= chunkSize {
		size := 1 << 10
		if last >= 0 {
			size = min(2*cap(s.chunks[last]), chunkSize)
		}
		if size == chunkSize && len(name) <= chunkSize {
			s.chunks = append(s.chunks, from.chunk())
		} else {
			s.chunks = append(s.chunks, make([]byte, 0, max(size, len(name))))
		}
		last++
	}
	offset := len(s.chunks[last])
	s.chunks[last] = append(s.chunks[last], name...)
	return ref(last)<<(lengthBits+offsetBits) | ref(offset)<<lengthBits | ref(len(name))
}

// Len returns the number of names in the table. No name may be added at the same time.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		n += len(t.shards[i].refs)
	}
	return n
}

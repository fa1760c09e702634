// Package names gives vertices that an input calls by text numbers: a [Table] takes the names as they are read, by several goroutines, and
// a [Dictionary] has them in rising order, each by its number.
package names

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// Table collects distinct names while an input is read, and gives each a provisional id. It is in shards, each under a lock of its own, so
// that readers rarely wait for each other: who has a batch of names goes through it shard by shard.
//
// A provisional id has the number of the shard in its lowest 8 bits, and above them the name's place in the shard.
type Table struct {
	seed   maphash.Seed
	shards [shards]shard
}

const (
	shardBits = 8
	shards    = 1 << shardBits
)

// NewTable makes a table without names.
func NewTable() *Table { return &Table{seed: maphash.MakeSeed()} }

// shard is the names of some hashes. A slot of its table holds the upper half of a name's hash and, below it, one more than the name's place;
// 0 is free.
type shard struct {
	mu     sync.Mutex
	slots  []uint64 // a power of two, at most half of them taken
	refs   []ref    // of the names, by place
	chunks [][]byte // that the names lie in, none in two
}

// ref says where a name lies: chunk, then offset, then length in bytes.
type ref uint64

const (
	chunkSize  = 1 << offsetBits
	offsetBits = 16
	lengthBits = 24
	maxName    = 1<<lengthBits - 1
)

func (s *shard) name(r ref) []byte {
	length, offset, chunk := int(r&maxName), int(r>>lengthBits&(chunkSize-1)), int(r>>(lengthBits+offsetBits))
	return s.chunks[chunk][offset : offset+length]
}

// Batch is names on their way into a table. It is used again.
type Batch struct {
	names  [][]byte
	hashes []uint64
	order  []uint32 // by shard
}

// Reset empties the batch, and forgets the names.
func (b *Batch) Reset() {
	clear(b.names)
	b.names = b.names[:0]
}

// Add adds a name, of at most 16 MiB, whose bytes must stay until the batch is taken.
func (b *Batch) Add(name []byte) { b.names = append(b.names, name) }

// Len returns the number of names in the batch.
func (b *Batch) Len() int { return len(b.names) }

// Take adds the names of a batch to the table and appends their provisional ids, in the batch's order.
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
			t.shards[i].take(b, some, uint64(i), ids[first:])
		}
	}
	return ids
}

// take finds or adds some names of a batch, all of this shard, and writes their provisional ids.
func (s *shard) take(b *Batch, some []uint32, number uint64, ids []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range some {
		ids[i] = uint64(s.place(b.names[i], b.hashes[i]))<<shardBits | number
	}
}

// place returns the place of a name with a hash, which is new if it is not there.
func (s *shard) place(name []byte, hash uint64) uint32 {
	if 2*len(s.refs) >= len(s.slots) {
		s.grow()
	}
	mask, tag := uint64(len(s.slots)-1), hash>>32<<32
	for at := hash >> 32 & mask; ; at = (at + 1) & mask {
		slot := s.slots[at]
		if slot == 0 {
			s.slots[at] = tag | uint64(len(s.refs)+1)
			s.refs = append(s.refs, s.keep(name))
			return uint32(len(s.refs) - 1)
		}
		if place := uint32(slot) - 1; slot>>32<<32 == tag && bytes.Equal(s.name(s.refs[place]), name) {
			return place
		}
	}
}

// grow doubles the slots. Slots are found by the upper half of a hash, which they hold.
func (s *shard) grow() {
	old := s.slots
	s.slots = make([]uint64, max(2*len(old), 16))
	mask := uint64(len(s.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & mask
		for s.slots[at] != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = slot
	}
}

// keep copies a name into the shard's memory.
func (s *shard) keep(name []byte) ref {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(name) > cap(s.chunks[last]) || len(s.chunks[last]) >= chunkSize {
		size := 1 << 10
		if last >= 0 {
			size = min(2*cap(s.chunks[last]), chunkSize)
		}
		s.chunks = append(s.chunks, make([]byte, 0, max(size, len(name))))
		last++
	}
	offset := len(s.chunks[last])
	s.chunks[last] = append(s.chunks[last], name...)
	return ref(last)<<(lengthBits+offsetBits) | ref(offset)<<lengthBits | ref(len(name))
}

package standby

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"
)

// entry is the content of one object: a record of the log, or a snapshot of the state after the
// record with its number.
//
//	"superstep-log" 2    format (a byte), also of the contained records
//	CRC-32C of the rest  4 bytes, big-endian
//	kind, number, term, lease in ms                     uvarints
//	writer, address                                     texts: length (uvarint), bytes
//	number of changes; for each 1 or 0, key, [data]     0 removes
type entry struct {
	kind         kind
	number, term uint64
	lease        time.Duration
	// Unique among all processes that ever write to the log, so no two processes write the same
	// bytes.
	writer  string
	address string
	changes []Change
}

// Change is an update of one key: its new value, or a deletion if Data is nil.
type Change struct {
	Key  string
	Data []byte // nil: delete the key
}

type kind uint64

const (
	takeOver kind = 1 + iota
	changed       // changes; or, without changes, a renewal of the lease
	released
	snapshot
)

const (
	magic    = "superstep-log"
	format   = 2
	maxEntry = 256 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("it is damaged, or of another version")
)

func (e *entry) encode() []byte {
	b := append(make([]byte, 0, 256), magic...)
	b = append(b, format, 0, 0, 0, 0)
	for _, n := range []uint64{uint64(e.kind), e.number, e.term, uint64(e.lease.Milliseconds())} {
		b = binary.AppendUvarint(b, n)
	}
	text := func(s []byte) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	text([]byte(e.writer))
	text([]byte(e.address))
	b = binary.AppendUvarint(b, uint64(len(e.changes)))
	for _, c := range e.changes {
		if c.Data == nil {
			b = append(b, 0)
			text([]byte(c.Key))
			continue
		}
		b = append(b, 1)
		text([]byte(c.Key))
		text(c.Data)
	}
	binary.BigEndian.PutUint32(b[len(magic)+1:], crc32.Checksum(b[len(magic)+5:], castagnoli))
	return b
}

// decode reads an entry with a number. b may be any bytes.
func decode(b []byte, number uint64) (*entry, error) {
	if len(b) < len(magic)+5 || string(b[:len(magic)]) != magic {
		return nil, errDamaged
	}
	if found := b[len(magic)]; found != format {
		return nil,
			fmt.Errorf("found format %d, expected %d: another version of superstep has written it",
				found, format)
	}
	sum, rest := binary.BigEndian.Uint32(b[len(magic)+1:]), b[len(magic)+5:]
	if crc32.Checksum(rest, castagnoli) != sum {
		return nil, errDamaged
	}
	r := reader{rest: rest}
	e := &entry{kind: kind(r.number()), number: r.number(), term: r.number()}
	lease := r.number()
	e.writer, e.address = string(r.text()), string(r.text())
	for range r.number() {
		if r.failed {
			break
		}
		c := Change{}
		has := r.number()
		c.Key = string(r.text())
		if has == 1 {
			c.Data = append([]byte{}, r.text()...)
		}
		r.failed = r.failed || has > 1
		e.changes = append(e.changes, c)
	}
	if r.failed || len(r.rest) > 0 || e.kind < takeOver || e.kind > snapshot ||
		lease > uint64((24*time.Hour).Milliseconds()) {
		return nil, errDamaged
	}
	if e.number != number {
		return nil, fmt.Errorf("found the record %d: %w", e.number, errDamaged)
	}
	e.lease = time.Duration(lease) * time.Millisecond
	return e, nil
}

// reader parses an entry. After an error it returns nothing more.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() []byte {
	n := r.number()
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// apply applies changes to a state.
func apply(state map[string][]byte, changes []Change) {
	for _, c := range changes {
		if c.Data == nil {
			delete(state, c.Key)
		} else {
			state[c.Key] = c.Data
		}
	}
}

// changesOf returns the changes that make a state from an empty one.
func changesOf(state map[string][]byte) (all []Change) {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		all = append(all, Change{key, state[key]})
	}
	return all
}

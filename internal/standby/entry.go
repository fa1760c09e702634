package standby

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// entry is the content of one object: a record of the log, or a snapshot of the state after the
// record with its number. It is stored as a sealed JSON object (store.Encode).
type entry struct {
	Format int           `json:"format"` // also of the contained records
	Kind   kind          `json:"kind"`
	Number uint64        `json:"number"`
	Term   uint64        `json:"term"`
	Lease  time.Duration `json:"lease"` // in nanoseconds
	// Unique among all processes that ever write to the log, so no two processes write the same
	// bytes.
	Writer  string `json:"writer"`
	Address string `json:"address"`
	// The new values of changed keys; nil means that the key is deleted.
	Changes map[string][]byte `json:"changes,omitempty"`
}

type kind string

const (
	takeOver kind = "take over"
	changed  kind = "changed" // or, without changes, a renewal of the lease
	released kind = "released"
	snapshot kind = "snapshot"
)

const (
	format   = 3
	maxEntry = 256 << 20
	maxLease = 24 * time.Hour
)

// encode returns the stored form of an entry, unless it is too large to be read.
func (e *entry) encode() (data []byte, err error) {
	e.Format = format
	size := 0
	for key, value := range e.Changes {
		size += len(key) + len(value)/3*4 // JSON has bytes in base64
	}
	if size <= maxEntry {
		data, err = store.Encode(e)
		size = len(data)
	}
	if size > maxEntry {
		err = fmt.Errorf("a record has %d bytes, expected at most %d", size, maxEntry)
	}
	return data, err
}

// decode reads an entry with a number. b may be any bytes.
func decode(b []byte, number uint64) (*entry, error) {
	if bytes.HasPrefix(b, []byte("superstep-log")) { // format 2 and before
		return nil, store.ErrOld
	}
	e := &entry{}
	if err := store.Decode(b, e); err != nil {
		return nil, err
	}
	kinds := []kind{takeOver, changed, released, snapshot}
	switch {
	case e.Format != format:
		return nil,
			fmt.Errorf("found format %d, expected %d: another version of superstep has written it",
				e.Format, format)
	case e.Number != number:
		return nil, fmt.Errorf("found the record %d: %w", e.Number, store.ErrDamaged)
	case !slices.Contains(kinds, e.Kind) || e.Lease < 0 || e.Lease > maxLease:
		return nil, store.ErrDamaged
	}
	return e, nil
}

package mem

import "sync/atomic"

// Meter counts the bytes that the arenas it is given to take together, and the most they took. A
// nil *Meter counts nothing.
type Meter struct{ now, peak atomic.Int64 }

// Now returns how many bytes the arenas take, and Peak the most they took at a time.
func (m *Meter) Now() int64  { return m.now.Load() }
func (m *Meter) Peak() int64 { return m.peak.Load() }

// add counts bytes that are taken, or given back.
func (m *Meter) add(bytes int64) {
	if m == nil {
		return
	}
	now := m.now.Add(bytes)
	for {
		peak := m.peak.Load()
		if now <= peak || m.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

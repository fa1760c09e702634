package mem

import (
	"os"
	"slices"
	"sync"
	"unsafe"
)

// slabs has the huge pages whose parts are small arrays. The first touch of a huge page takes 120
// microseconds, which is 30 for an array of 512 KiB. With pages of 4 KiB the array takes 1.3
// milliseconds on a virtual machine with shadow page tables, and these are also slow to free.
var slabs slabList

// slab is a huge page. It is freed when none of its parts is in use.
type slab struct {
	data []byte
	used int // number of parts in use
}

// part is a part of a slab.
type part struct {
	of    *slab
	data  []byte
	dirty bool // has been in use, so it may not be zero
}

// slabList has the parts of all slabs. Parts are not joined: they end with their slab.
type slabList struct {
	mu   sync.Mutex
	used map[*byte]part // by first byte
	free []part
}

// take returns zeroed memory: the smallest free part that is large enough, or its beginning.
func (l *slabList) take(total int) ([]byte, error) {
	page := os.Getpagesize()
	total = (total + page - 1) &^ (page - 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for i, p := range l.free {
		if len(p.data) >= total && (best < 0 || len(p.data) < len(l.free[best].data)) {
			best = i
		}
	}
	if best < 0 {
		data, err := reserve(hugePage, true)
		if err != nil {
			return nil, err
		}
		best, l.free = len(l.free), append(l.free, part{of: &slab{data: data}, data: data})
	}
	p := l.free[best]
	if len(p.data) == total {
		l.free = slices.Delete(l.free, best, best+1)
	} else {
		l.free[best].data = p.data[total:]
	}
	p.data = p.data[:total:total]
	if p.dirty {
		clear(p.data)
	}
	if l.used == nil {
		l.used = map[*byte]part{}
	}
	l.used[unsafe.SliceData(p.data)] = p
	p.of.used++
	return p.data, nil
}

// leave frees a part. It returns the slab if none of its parts is in use any more, else nil. It
// returns data if that is not a part.
func (l *slabList) leave(data []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.used[unsafe.SliceData(data)]
	if !ok {
		return data
	}
	delete(l.used, unsafe.SliceData(data))
	if p.of.used--; p.of.used > 0 {
		l.free = append(l.free, part{p.of, p.data, true})
		return nil
	}
	l.free = slices.DeleteFunc(l.free, func(q part) bool { return q.of == p.of })
	return p.of.data
}

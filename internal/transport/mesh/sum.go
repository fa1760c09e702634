package mesh

import "github.com/zeebo/xxh3"

// sumBlock is how many bytes of a payload are summed up at once: few enough to be in a cache still when they have come.
const sumBlock = 64 << 10

// A chunk's payload has a sum of 64 bits by XXH3, which is three times as fast as CRC32-C with the processor's help. The
// parts of the chunk that are presence and values are each summed up in blocks of sumBlock bytes, the last of which may be
// shorter; the sum of a block has the one of the block before as its seed, the first 0.

// sumOf returns the sum of a chunk whose parts are a and b.
func sumOf(a, b []byte) uint64 {
	return sumOn(sumOn(0, a), b)
}

func sumOn(sum uint64, part []byte) uint64 {
	for len(part) > 0 {
		n := min(len(part), sumBlock)
		sum = xxh3.HashSeed(part[:n], sum)
		part = part[n:]
	}
	return sum
}

// summing is the sum of a chunk that is coming.
type summing struct {
	sum   uint64
	split int // bytes of its first part
	size  int
	done  int // bytes that are in sum: whole blocks
}

// next returns where the block ends that is to be summed up next.
func (s *summing) next() int {
	if s.done < s.split {
		return min(s.done+sumBlock, s.split)
	}
	return min(s.done+sumBlock, s.size)
}

// add sums up the next block.
func (s *summing) add(block []byte) {
	s.sum = xxh3.HashSeed(block, s.sum)
	s.done += len(block)
}

// upTo sums up the whole blocks among the first have bytes of the payload.
func (s *summing) upTo(payload []byte, have int) {
	for s.done < have {
		end := s.next()
		if end > have {
			return
		}
		s.add(payload[s.done:end])
	}
}

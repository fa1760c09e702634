package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Frames of a log on their way to another process, one after the other; numbers are little-endian:
//
//	0      4    8      9          10      18         22     26
//	+------+----+------+----------+-------+----------+------+----------+-----+
//	| from | to | kind | encoding | count | presence | raw  | presence | raw |
//	+------+----+------+----------+-------+----------+------+----------+-----+
//	                                        bytes      bytes
const frameHead = 26

// AppendFrames appends the encodings of frames that have a raw form.
func AppendFrames(b []byte, frames []*Frame) []byte {
	for _, f := range frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.From))
		b = binary.LittleEndian.AppendUint32(b, uint32(f.To))
		b = append(b, uint8(f.Kind), f.Encoding)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Count))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Presence)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Raw)))
		b = append(append(b, f.Presence...), f.Raw...)
	}
	return b
}

var errFrames = errors.New("they are no frames of a log, or are broken")

// DecodeFrames returns frames of a superstep among so many partitions, whose buffers are b's. It bears any bytes.
func DecodeFrames(b []byte, superstep, partitions int) (frames []*Frame, err error) {
	for len(b) > 0 {
		if len(b) < frameHead {
			return nil, fmt.Errorf("%w: %d bytes at their end", errFrames, len(b))
		}
		from, to, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[10:])
		presence, raw := uint64(binary.LittleEndian.Uint32(b[18:])), uint64(binary.LittleEndian.Uint32(b[22:]))
		f := &Frame{From: int(from), To: int(to), Superstep: superstep, Kind: Kind(b[8]), Encoding: b[9], Count: int(count)}
		if b = b[frameHead:]; uint64(from) >= uint64(partitions) || uint64(to) >= uint64(partitions) || f.Kind >= kinds || count > math.MaxInt32 || presence+raw > uint64(len(b)) {
			return nil, fmt.Errorf("%w: a frame of kind %d from partition %d to %d of %d, with %d values in %d and %d bytes of %d",
				errFrames, f.Kind, from, to, partitions, count, presence, raw, len(b))
		}
		f.Presence, f.Raw = b[:presence:presence], b[presence:presence+raw:presence+raw]
		b = b[presence+raw:]
		frames = append(frames, f)
	}
	return frames, nil
}

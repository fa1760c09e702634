package mesh

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// A credit goes the other way on the connection. One is of the connection: how many bytes of frames' chunks the receiver
// has made room for since the beginning. It is repeated as a sign of life. The other is of messages under a tag: for how
// many bytes more of their chunks there is room. Neither counts pings.
//
//	0  magic "SSCR"  4 | bytes  8 | CRC32-C of bytes 0 to 11  4
//	0  magic "SSCM"  4 | bytes  8 | job  8 | epoch  4 | tag  4 | CRC32-C of bytes 0 to 27  4
const (
	creditMagic     = "SSCR"
	laneCreditMagic = "SSCM"
	creditSize      = 16
	laneCreditSize  = 32
)

// credit is one of either kind.
type credit struct {
	lane bool
	laneKey
	bytes uint64
}

func appendCredit(b []byte, c credit) []byte {
	le, n := binary.LittleEndian, len(b)
	if c.lane {
		b = le.AppendUint64(append(b, laneCreditMagic...), c.bytes)
		b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, c.job), c.epoch), c.tag)
	} else {
		b = le.AppendUint64(append(b, creditMagic...), c.bytes)
	}
	return le.AppendUint32(b, crc32.Checksum(b[n:], castagnoli))
}

func readCredit(r io.Reader) (credit, error) {
	var b [laneCreditSize]byte
	if _, err := io.ReadFull(r, b[:creditSize]); err != nil {
		return credit{}, err
	}
	le, c, n := binary.LittleEndian, credit{}, creditSize
	if string(b[:4]) == laneCreditMagic {
		n = laneCreditSize
		if _, err := io.ReadFull(r, b[creditSize:]); err != nil {
			return c, cut(err)
		}
		c = credit{lane: true, laneKey: laneKey{key{le.Uint64(b[12:]), le.Uint32(b[20:])}, le.Uint32(b[24:])}}
	} else if string(b[:4]) != creditMagic {
		return c, fmt.Errorf("%w: a credit that is none", errCorrupt)
	}
	if crc32.Checksum(b[:n-4], castagnoli) != le.Uint32(b[n-4:]) {
		return c, fmt.Errorf("%w: a credit's checksum", errCorrupt)
	}
	c.bytes = le.Uint64(b[4:])
	return c, nil
}

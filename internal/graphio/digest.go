package graphio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// Digest describes an input file as one process sees it. All processes that see the same file get
// equal digests.
type Digest struct {
	Path    string
	Size    int64
	Version string // of a snapshot, or of an object, whose content is not read
	Sum     uint32 // of the sampled blocks
	Err     string // why it could not be read; reading the graph reports it too
}

// Differs describes how two processes see different files, or returns "". Both have read the file.
func (d Digest) Differs(other Digest) string {
	switch {
	case d.Size != other.Size:
		return fmt.Sprintf("%d and %d bytes", d.Size, other.Size)
	case d.Version != other.Version:
		return fmt.Sprintf("versions %.80s and %.80s", d.Version, other.Version)
	case d.Sum != other.Sum:
		return fmt.Sprintf("checksums %08x and %08x", d.Sum, other.Sum)
	}
	return ""
}

// A digest reads one of every sampledOf blocks of a file.
const (
	digestBlock = 64 << 10
	sampledOf   = 16
	// Smaller files are read completely, which takes some milliseconds.
	wholeSize = 4 << 20
)

// Digests returns the digests of the files of a graph, given by a name as Files takes it. key
// selects one of every sampledOf blocks, unless all blocks are read.
func Digests(
	ctx context.Context, name string, format Format, vertices string, key uint64, all bool,
	team *parallel.Team,
) []Digest {
	_, files, err := inputs(ctx, name, format)
	if err != nil {
		files = nil
	}
	if vertices != "" {
		files = append(files, vertices)
	}
	var found []Digest
	for _, path := range files {
		d, err := digest(ctx, path, key, all, team)
		if d.Path = path; err != nil {
			d.Err = err.Error()
		}
		found = append(found, d)
	}
	if err != nil {
		found = append(found, Digest{Path: name, Err: err.Error()})
	}
	return found
}

// digest returns the digest of a file.
func digest(
	ctx context.Context, path string, key uint64, all bool, team *parallel.Team,
) (d Digest, err error) {
	f, err := openInput(ctx, path)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return d, err // reading the graph refuses a pipe
	}
	d.Size = info.Size()
	if o, ok := f.(*object); ok && o.object.Version != "" {
		d.Version = o.object.Version
		return d, nil
	}
	blocks := sampled(d.Size, key, all)
	sums := make([]byte, 4*len(blocks))
	var once sync.Once
	team.For(len(blocks), sampledOf, func(_, lo, hi int) {
		buffer := make([]byte, digestBlock)
		for i := lo; i < hi; i++ {
			var sum store.Sum
			n, failed := f.ReadAt(buffer, blocks[i]*digestBlock)
			if failed != nil && !errors.Is(failed, io.EOF) || ctx.Err() != nil {
				once.Do(func() { err = errors.Join(failed, ctx.Err()) })
				return
			}
			_, _ = sum.Write(buffer[:n])
			binary.LittleEndian.PutUint32(sums[4*i:], sum.CRC32C)
		}
	})
	var whole store.Sum
	_, _ = whole.Write(sums)
	d.Sum = whole.CRC32C
	return d, err
}

// sampled returns the numbers of the blocks to read.
func sampled(size int64, key uint64, all bool) (blocks []int64) {
	n, each := (size+digestBlock-1)/digestBlock, int64(sampledOf)
	random := rand.New(rand.NewPCG(key, uint64(size)))
	if all || size <= wholeSize {
		each = 1
	}
	for from := int64(0); from < n; from += each {
		blocks = append(blocks, from+random.Int64N(min(each, n-from)))
	}
	return blocks
}

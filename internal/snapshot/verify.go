package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/store"
)

// Verify compares the SHA-256 of all files with those of the manifest, and opens the snapshot.
func Verify(ctx context.Context, s store.Store, m *Manifest, o Options) error {
	var done atomic.Int64
	total := 2 * m.Bytes
	jobs := []func(ctx context.Context) error{}
	for _, f := range m.files() {
		jobs = append(jobs, func(ctx context.Context) error {
			h, piece := sha256.New(), make([]byte, min(requestSize, f.Size))
			for from := int64(0); from < f.Size; from += int64(len(piece)) {
				piece = piece[:min(int64(len(piece)), f.Size-from)]
				if err := s.GetRange(ctx, store.Object{Name: f.Name}, from, piece); err != nil {
					return err
				}
				_, _ = h.Write(piece)
				if now := done.Add(int64(len(piece))); o.Progress != nil {
					o.Progress(now, total)
				}
			}
			if sum := hex.EncodeToString(h.Sum(nil)); sum != f.SHA256 {
				return fmt.Errorf("%s: found SHA-256 %s, expected %s: it was damaged", nameOf(s, f.Name), sum, f.SHA256)
			}
			return nil
		})
	}
	if err := together(ctx, max(o.Team.Size(), 2), jobs); err != nil {
		return err
	}
	progress := o.Progress
	if progress != nil {
		o.Progress = func(now, _ int64) { progress(m.Bytes+now, total) }
	}
	g, err := Open(ctx, s, m, s.String(), o)
	if err != nil {
		return err
	}
	if len(g.Parts) != m.Partitions {
		err = errors.New("some partitions are missing")
	}
	g.Close()
	return err
}

package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
)

// seenFiles are the files of a graph as a worker of a group sees them.
type seenFiles struct {
	Worker string
	Files  []graphio.Digest
}

// sameFiles fails on all workers of a group, with the same error, if two of them see different
// files by the names of a graph.
func sameFiles(ctx context.Context, group *collective.Group, worker string, l *control.Load, r load.Request) error {
	if group.Link().Size() == 1 || l.Source().TrustFiles {
		return nil
	}
	return group.Together(ctx, forComparing, func(ctx context.Context) error {
		key := fnv.New64a()
		fmt.Fprintln(key, l.Graph, l.Master, l.Number)
		data, err := json.Marshal(seenFiles{worker, r.Digests(ctx, key.Sum64(),
			l.Source().CheckFiles)})
		if err != nil {
			return err
		}
		gathered, err := group.Allgather(ctx, collective.Call{Tag: forComparing + 1}, data)
		if err != nil {
			return err
		}
		var first seenFiles
		for rank, data := range gathered {
			var seen seenFiles
			if err := json.Unmarshal(data, &seen); err != nil {
				return fmt.Errorf("the files that rank %d sees: %w", rank, err)
			}
			if rank == 0 {
				first = seen
			}
			if path, differs := first.differs(seen); differs != "" {
				return fmt.Errorf("%s: workers %s and %s see different files: %s: "+
					"each must see the same one by this name (--trust-files compares nothing)",
					cmp.Or(path, r.Name), first.Worker, seen.Worker, differs)
			}
		}
		return nil
	})
}

// differs says of which file another worker sees something else, and what.
func (s seenFiles) differs(other seenFiles) (path, differs string) {
	unread := func(d graphio.Digest) bool { return d.Err != "" } // which reading it tells
	if slices.ContainsFunc(s.Files, unread) || slices.ContainsFunc(other.Files, unread) {
		return "", ""
	}
	if len(s.Files) != len(other.Files) {
		return "", fmt.Sprintf("%d and %d of them", len(s.Files), len(other.Files))
	}
	for i, f := range s.Files {
		if differs := f.Differs(other.Files[i]); differs != "" {
			return f.Path, differs
		}
	}
	return "", ""
}

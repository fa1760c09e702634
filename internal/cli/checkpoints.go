package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/store"
)

// checkpoints is `superstep checkpoints`.
func (a *app) checkpoints() *cobra.Command {
	about := func(use, short, example string) *cobra.Command {
		var f struct {
			JSON bool `flag:"json" help:"print JSON"`
		}
		return flagsOf(&cobra.Command{
			Use: use + " PLACE", Short: short, Args: exactly(1, aPlace),
			Example: fmt.Sprintf("  superstep checkpoints %s\n  superstep checkpoints %[1]s --json",
				example),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.listCheckpoints(cmd.Context(), args[0], f.JSON, use == "verify")
			},
		}, &f)
	}
	return family(&cobra.Command{
		Use:   "checkpoints list|verify|remove",
		Short: "List, verify and remove the checkpoints of a place",
		Long: `List, verify and remove the checkpoints that superstep run --checkpoint
stored at a place, a directory or s3://BUCKET/PREFIX. superstep resume continues from one.`,
		Example: `  superstep checkpoints list ckpt
  superstep checkpoints verify s3://runs/pagerank
  superstep checkpoints remove ckpt --keep 1`,
	},
		about("list", "List the checkpoints of a place, the newest first", "list ckpt"),
		about("verify", "Read the checkpoints of a place, or one, and compare all checksums",
			"verify ckpt"),
		a.removeCheckpoints(),
	)
}

// checkpointListed describes a checkpoint.
type checkpointListed struct {
	Checkpoint string    `json:"checkpoint"`
	Program    string    `json:"program,omitempty"`
	Superstep  int       `json:"superstep"` // superstep that follows it
	Parts      int       `json:"parts"`
	Bytes      int64     `json:"bytes"`
	Taken      time.Time `json:"taken,omitzero"`
	Error      string    `json:"error,omitempty"`
}

type checkpointsListed struct {
	Place       string             `json:"place"`
	Checkpoints []checkpointListed `json:"checkpoints"`
}

// checkpointsAt opens a place and lists its checkpoints, or only the one named in place.
func checkpointsAt(ctx context.Context, place string) (store.Store, []checkpoint.Listed, error) {
	s, name, err := openPlace(place)
	if err != nil {
		return nil, nil, err
	}
	all, err := checkpoint.List(ctx, s)
	if name != "" {
		all = slices.DeleteFunc(all, func(l checkpoint.Listed) bool { return l.Name != name })
	}
	switch {
	case err == nil && len(all) > 0:
		return s, all, nil
	case err == nil && name != "":
		err = fmt.Errorf("%s: it has no %s", s, name)
	case err == nil:
		err = fmt.Errorf("%s: %w", s, checkpoint.ErrNone)
	}
	store.Close(s)
	return nil, nil, err
}

// listCheckpoints lists checkpoints. With verify it also reads them. It returns an error at the end
// if one is broken.
func (a *app) listCheckpoints(ctx context.Context, place string, asJSON, verify bool) error {
	s, all, err := checkpointsAt(ctx, place)
	if err != nil {
		return err
	}
	defer store.Close(s)
	var list listing
	list.table.WriteString("CHECKPOINT\tPROGRAM\tBEFORE SUPERSTEP\tPARTS\tSIZE\tTAKEN\n")
	report := checkpointsListed{Place: s.String()}
	for _, l := range all {
		if l.Err == nil && verify {
			l.Err = (&checkpoint.Reader{Store: s, Manifest: l.Manifest}).Verify(ctx)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := checkpointListed{Checkpoint: l.Name}
		if m := l.Manifest; m != nil {
			r.Program, r.Superstep, r.Parts, r.Bytes, r.Taken = m.Name(), m.Superstep, len(m.Parts),
				m.Bytes(), m.Created
		}
		r.Error = list.add(l.Name, l.Err, "%s\t%d\t%d\t%s\t%s", r.Program, r.Superstep, r.Parts,
			mem.Text(r.Bytes), r.Taken.Format(time.DateTime))
		report.Checkpoints = append(report.Checkpoints, r)
	}
	return list.print(a, asJSON, report, s, "checkpoint")
}

func (a *app) removeCheckpoints() *cobra.Command {
	var f struct {
		Keep int `flag:"keep" range:"0.." help:"keep the newest {N} undamaged ones"`
	}
	return flagsOf(&cobra.Command{
		Use:   "remove PLACE",
		Short: "Remove the checkpoints of a place",
		Long: `Remove the checkpoints at a place, a directory or s3://BUCKET/PREFIX, and
the parts of incomplete ones. A run that is still storing checkpoints there loses the earlier ones
and stores new ones.`,
		Example: `  superstep checkpoints remove ckpt
  superstep checkpoints remove s3://runs/pagerank --keep 1`,
		Args: exactly(1, "the place of checkpoints"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, name, err := openPlace(args[0])
			if err != nil {
				return err
			}
			defer store.Close(s)
			if name != "" {
				return usagef(
					"found %s of a place, expected the place: the newest stay with --keep N", name)
			}
			return a.prune(cmd.Context(), s, f.Keep)
		},
	}, &f)
}

// prune removes all checkpoints of a place except the newest, and prints their number.
func (a *app) prune(ctx context.Context, s store.Store, keep int) error {
	before, err := checkpoint.List(ctx, s)
	if err == nil {
		err = checkpoint.Prune(ctx, s, keep, math.MaxInt, true)
	}
	if err != nil {
		return err
	}
	after, err := checkpoint.List(ctx, s)
	if err != nil {
		return err
	}
	escape.Printf(a.out, "%s: %s removed, %d left\n", s.String(),
		graphio.Counted(len(before)-len(after), "checkpoint"), len(after))
	return nil
}

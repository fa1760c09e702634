package master

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/store"
)

// placeCheckpoints finds where checkpoints are kept, and how such places are opened: those on the
// master's disk are in a directory of Data.
func (o *Config) placeCheckpoints() error {
	open := o.Stores
	o.Stores = func(place string) (store.Store, error) {
		if !objects.Is(place) {
			return open(place)
		}
		dir, err := filepath.Localize(strings.TrimPrefix(place, objects.Scheme))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		all := filepath.Join(o.Data, checkpointsName)
		if _, err := os.Stat(all); err != nil { // who removed it may bring it back
			return nil, err
		}
		return store.OpenDir(filepath.Join(all, dir))
	}
	switch {
	case o.Checkpoints == noCheckpoints || o.Checkpoints == "" && o.Data == "":
		o.Checkpoints = noCheckpoints
		return nil
	case o.Checkpoints == "" || objects.Is(o.Checkpoints):
		if o.Checkpoints = objects.Scheme; o.Data == "" {
			return fmt.Errorf("the place of checkpoints: %s is a directory of --data, which is not given", objects.Scheme)
		}
		return nil
	}
	s, err := open(o.Checkpoints)
	if err != nil {
		return fmt.Errorf("the place of checkpoints: %w", err)
	}
	o.Checkpoints = s.String() // of a directory the full path
	store.Close(s)
	return nil
}

// noCheckpoints is the place of those who want none, and checkpointsName the directory of Data for
// those who name no place.
const (
	noCheckpoints   = "off"
	checkpointsName = "checkpoints"
)

// newObjects makes the store for workers that have no other.
func newObjects(o *Config) (*objects.Server, error) {
	if !objects.Is(o.Checkpoints) {
		return &objects.Server{}, nil
	}
	dir, err := store.OpenDir(filepath.Join(o.Data, checkpointsName))
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return objects.NewServer(dir), nil
}

// placed says where a job keeps its checkpoints, if the master has a place for them. What a client
// says of that is forgotten, but for the place of a job that it goes on from, which is one of the
// master's.
func (s *server) placed(spec *jobspec.Spec) error {
	spec.Checkpoints = ""
	none := s.options.Checkpoints == noCheckpoints
	all := strings.TrimSuffix(s.options.Checkpoints, "/") + "/"
	if from := spec.GoOn; from != "" {
		name, ok := strings.CutPrefix(from, all)
		if none || !ok || !fs.ValidPath(name) || strings.Contains(name, "/") {
			return invalid("there are no checkpoints of a job at %.150q", from)
		}
	}
	if kindOf(spec) != &programKind {
		return nil
	}
	if none && spec.KeepWhen != nil {
		return invalid("the job says when it takes checkpoints, and this master keeps none: superstep master --checkpoints PLACE, or --data DIR, has it keep them")
	}
	if none {
		return nil
	}
	spec.Checkpoints = all + strings.ToLower(spec.Program+"-"+rand.Text()[:12])
	return nil
}

// hasStored refuses to go on from the place of a job, called what, that has stored no checkpoint.
// If the place cannot be listed, the run says why.
func (s *server) hasStored(ctx context.Context, place, what string) error {
	at, err := s.options.Stores(place)
	if err != nil {
		return nil
	}
	defer store.Close(at)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	all, err := checkpoint.List(ctx, at)
	if d, ok := at.(*store.Dir); ok {
		d.RemoveEmpty(".") // which looking there may have made
	}
	if err == nil && len(all) == 0 {
		return unready("%s has stored no checkpoint: run it again", what)
	}
	return nil
}

// removeWithin is how long the place of a job's checkpoints may take to remove them.
const removeWithin = time.Minute

// keeping says which checkpoints the attempt keeps, and which one it goes on from: the newest of an
// attempt before, or else of the job that this one goes on from.
func (r *run) keeping(ctx context.Context, c *control.Run) (err error) {
	o := r.server.options
	ctx, cancel := context.WithTimeout(ctx, checkpoint.StoreWithin) // the newest is read whole
	defer cancel()
	var from *checkpoint.Manifest
	if place := r.spec.Checkpoints; place != "" {
		about, err := resolve.Later(r.spec, false)
		if err != nil {
			return err
		}
		c.Keep = &control.Keep{
			Began: r.server.stamp(r.job.started), Place: place,
			Run: strings.ToLower(rand.Text()[:10]), Spec: about,
			WhenJson: jobspec.Text(resolve.When(r.spec.KeepWhen, checkpoint.Policy{
				Every: o.CheckpointEvery, Interval: o.CheckpointInterval, MTBF: o.MTBF,
				Strict: o.CheckpointStrict,
			})),
		}
		from, err = r.newest(ctx, place)
		switch {
		case err == nil:
			c.GoOn = &control.GoOn{Place: place, Manifest: checkpoint.ManifestName(from.Superstep)}
		case !errors.Is(err, checkpoint.ErrNone):
			r.say(fmt.Sprintf("warning: it begins from the start: %v", err))
		}
	}
	if from == nil && r.spec.GoOn != "" {
		if from, err = r.newest(ctx, r.spec.GoOn); err != nil {
			return err
		}
		c.GoOn = &control.GoOn{Place: r.spec.GoOn, Manifest: checkpoint.ManifestName(from.Superstep)}
	}
	if from == nil {
		return nil
	}
	before, _ := history.Before(from.Account)
	r.set(func(a *control.Job) { a.Before, a.RunSeconds = from.Account, before.Times.Total })
	text := "goes on from " + c.GoOn.Manifest
	if from.Plan != nil {
		text += ", before " + from.Where()
	}
	r.say(text)
	return nil
}

// newest finds the newest checkpoint of a place.
func (r *run) newest(ctx context.Context, place string) (*checkpoint.Manifest, error) {
	s, err := r.server.options.Stores(place)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	defer store.Close(s)
	m, err := checkpoint.Find(ctx, s, "", func(line string) { r.say("warning: " + line) })
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return m, nil
}

// say adds a line to the job's log.
func (r *run) say(line string) {
	r.server.append(r.id, said(control.Text(line, control.MaxText)))
}

// complete reports whether the run of a job that is done came to an end of its own. The lock is
// held.
func (s *server) complete(id string) bool {
	r := s.runs[id]
	return r == nil || r.figures().Complete()
}

// forget removes the checkpoints of a job that is done, or no longer remembered: one that failed or
// was cancelled can be gone on with until then.
func (s *server) forget(place string) {
	ctx, cancel := context.WithTimeout(s.ctx, removeWithin)
	defer cancel()
	at, err := s.options.Stores(place)
	if err == nil {
		err = checkpoint.Prune(ctx, at, 0, math.MaxInt, false)
		if d, ok := at.(*store.Dir); ok && err == nil {
			err = os.RemoveAll(d.String()) // with what a worker that was killed had begun to write
		}
		store.Close(at)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("checkpoints that nobody wants stay", "place", place, "error", err)
	}
}

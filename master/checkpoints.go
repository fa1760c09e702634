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

// placeCheckpoints determines where checkpoints are stored, and makes Stores open places on the
// master's disk as directories of Data.
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
		// a removed directory is not recreated: its owner may restore it
		if _, err := os.Stat(all); err != nil {
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
			return fmt.Errorf("the place of checkpoints: %s needs --data", objects.Scheme)
		}
		return nil
	}
	s, err := open(o.Checkpoints)
	if err != nil {
		return fmt.Errorf("the place of checkpoints: %w", err)
	}
	o.Checkpoints = s.String() // the full path, if it is a directory
	store.Close(s)
	return nil
}

// noCheckpoints is the value of Checkpoints that turns them off. checkpointsName is the directory
// of Data for checkpoints if no other place is given.
const (
	noCheckpoints   = "off"
	checkpointsName = "checkpoints"
)

// newObjects makes the object store on the master's disk, for workers without a shared store.
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

// placed chooses the place of a job's checkpoints. A client cannot choose it, but may name a place
// to resume from, which must belong to this master.
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
	if kindOf(spec) != &programKind || none && spec.KeepWhen == nil {
		return nil
	}
	if none {
		return invalid("the job asks for checkpoints, and this master stores none: " +
			"superstep master --checkpoints PLACE or --data DIR does")
	}
	spec.Checkpoints = all + strings.ToLower(spec.Program+"-"+rand.Text()[:12])
	return nil
}

// hasStored fails if a place has no checkpoint; what names the job for the error. If the place
// cannot be listed, it returns nil, and the run will report the error.
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
		d.RemoveEmpty(".") // looking there may have made the directory
	}
	if err == nil && len(all) == 0 {
		return unready("%s has stored no checkpoint: run it again", what)
	}
	return nil
}

// removeWithin bounds the time to remove the checkpoints of a job.
const removeWithin = time.Minute

// keeping fills in when and where an attempt stores checkpoints, and from which it resumes: the
// newest of earlier attempts, or else of the job that the spec's GoOn names.
func (r *run) keeping(ctx context.Context, c *control.Run) (err error) {
	o := r.server.options
	// the whole newest checkpoint is read
	ctx, cancel := context.WithTimeout(ctx, checkpoint.StoreWithin)
	defer cancel()
	var from *checkpoint.Manifest
	if place := r.spec.Checkpoints; place != "" {
		about, err := resolve.Later(r.spec, false, nil)
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
			c.GoOn = &control.GoOn{Place: place}
		case !errors.Is(err, checkpoint.ErrNone):
			r.say(fmt.Sprintf("warning: it begins from the start: %v", err))
		}
	}
	if from == nil && r.spec.GoOn != "" {
		if from, err = r.newest(ctx, r.spec.GoOn); err != nil {
			return err
		}
		c.GoOn = &control.GoOn{Place: r.spec.GoOn}
	}
	if from == nil {
		return nil
	}
	c.GoOn.Manifest = checkpoint.ManifestName(from.Superstep)
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
func (r *run) say(line string) { r.server.append(r.id, said(control.Text(line, control.MaxText))) }

// forget removes the checkpoints at a place, once the job is done or no longer remembered. Until
// then a failed or cancelled job can be resumed.
func (s *server) forget(place string) {
	ctx, cancel := context.WithTimeout(s.ctx, removeWithin)
	defer cancel()
	at, err := s.options.Stores(place)
	if err == nil {
		err = checkpoint.Prune(ctx, at, 0, math.MaxInt, false)
		if d, ok := at.(*store.Dir); ok && err == nil {
			err = os.RemoveAll(d.String()) // also removes partial files of a killed worker
		}
		store.Close(at)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("unneeded checkpoints cannot be removed", "place", place, "error", err)
	}
}

package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"connectrpc.com/connect"

	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// column finds a column in the place.
func (f *sharedFiles) column(ctx context.Context, id string) (store.Object, error) {
	return within(ctx, f, 0, func(ctx context.Context) (store.Object, error) { return store.Stat(ctx, f.store, sharedColumns+id) })
}

// columns lists the columns in the place.
func (f *sharedFiles) columns(ctx context.Context) ([]store.Object, error) {
	return within(ctx, f, 0, func(ctx context.Context) (all []store.Object, err error) {
		for o, err := range f.store.List(ctx, sharedColumns) {
			if err != nil {
				return nil, err
			}
			if columnID.MatchString(path.Base(o.Name)) {
				all = append(all, o)
			}
		}
		return all, nil
	})
}

// open opens a column, which gives store.ErrDamaged in place of its end if it is not as its client
// sent it.
func (c *sentColumns) open(ctx context.Context, data *jobspec.ColumnData) (io.ReadCloser, error) {
	if err := c.fetch(ctx, data); err != nil {
		return nil, err
	}
	file := path.Join(columnsName, data.ID)
	name := path.Join(resultsName, file)
	f, err := openSummed(c.root, file, name, *data.Sum)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{data.Sum.Check(name, f), f}, nil
}

// fetch makes the file of a column that is in the place that masters share alone.
func (c *sentColumns) fetch(ctx context.Context, data *jobspec.ColumnData) error {
	if c.shared == nil {
		return nil
	}
	id := data.ID
	name := path.Join(columnsName, id)
	release, err := c.turns.take(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	if _, err := c.root.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o, err := c.shared.column(ctx, id)
	if err != nil {
		return err
	}
	fresh := path.Join(columnsName, fetchedName+id)
	if err = c.root.MkdirAll(columnsName, 0o700); err == nil {
		err = withinErr(ctx, c.shared, o.Size, func(ctx context.Context) error { return c.shared.copy(ctx, c.root, o, fresh, data.Sum) })
	}
	if err == nil {
		err = c.root.Rename(fresh, name)
	}
	return err
}

// learn finds what a job names and was sent to a master before this one.
func (c *sentColumns) learn(ctx context.Context, spec *jobspec.Spec) error {
	if c.shared == nil {
		return nil
	}
	for name, data := range spec.ColumnData {
		id := data.ID
		c.mu.Lock()
		known := c.all[id] != nil
		c.mu.Unlock()
		if known || !columnID.MatchString(id) {
			continue
		}
		o, err := c.shared.column(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // hold refuses it
		}
		if err != nil {
			return connect.NewError(connect.CodeUnavailable, fmt.Errorf("column %.150s: %w", name, err))
		}
		c.enter(o)
	}
	return nil
}

// learnAll finds all that was sent to masters before. What no job names goes when it is old.
func (c *sentColumns) learnAll(ctx context.Context) error {
	all, err := c.shared.columns(ctx)
	for _, o := range all {
		c.enter(o)
	}
	return err
}

// enter counts a column that is in the place.
func (c *sentColumns) enter(o store.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := path.Base(o.Name)
	if s := c.all[id]; s != nil {
		return
	}
	c.all[id] = &sentColumn{name: path.Join(columnsName, id), bytes: o.Size, whole: true, touched: c.now()}
	c.bytes += o.Size
}

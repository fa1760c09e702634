package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
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

// open opens the file of a column, and fetches it first if it is in the place that masters share alone.
func (c *sentColumns) open(ctx context.Context, id string) (*os.File, error) {
	name := path.Join(columnsName, id)
	f, err := c.root.Open(name)
	if c.shared == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	release, err := c.turns.take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer release()
	if f, err := c.root.Open(name); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	o, err := c.shared.column(ctx, id)
	if err != nil {
		return nil, err
	}
	fresh := path.Join(columnsName, fetchedName+id)
	if err = c.root.MkdirAll(columnsName, 0o700); err == nil {
		err = withinErr(ctx, c.shared, o.Size, func(ctx context.Context) error { return c.shared.copy(ctx, c.root, o, fresh) })
	}
	if err == nil {
		err = c.root.Rename(fresh, name)
	}
	if err != nil {
		return nil, err
	}
	return c.root.Open(name)
}

// learn finds what a job names and was sent to a master before this one.
func (c *sentColumns) learn(ctx context.Context, spec *control.JobSpec) error {
	if c.shared == nil {
		return nil
	}
	for name, data := range spec.ColumnData {
		id := data.GetId()
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

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Roots are the directories that names of others are confined to: nothing outside is opened, by whatever name or link. None confine nothing.
type Roots []string

// ErrOutside is that a name leads out of all roots.
var ErrOutside = errors.New("outside of what may be read here")

// NewRoots returns roots, each of which must be a directory.
func NewRoots(dirs []string) (Roots, error) {
	var all Roots
	for _, dir := range dirs {
		full, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(full)
		if err != nil {
			return nil, err
		}
		if err := root.Close(); err != nil {
			return nil, err
		}
		all = append(all, full)
	}
	return all, nil
}

// confined is where a context has roots.
type confined struct{}

// Confine returns a context in which files are opened below roots alone.
func Confine(ctx context.Context, roots Roots) context.Context {
	if len(roots) == 0 {
		return ctx
	}
	return context.WithValue(ctx, confined{}, roots)
}

// RootsOf returns what confines a context.
func RootsOf(ctx context.Context) Roots {
	roots, _ := ctx.Value(confined{}).(Roots)
	return roots
}

// outside is the error of a name that leads out.
func (r Roots) outside(path string) error {
	return fmt.Errorf("%s: %w: below %s alone (--data-root)", path, ErrOutside, strings.Join(r, ", "))
}

// in does something with the root that a name is below, and with what it is called there. What it returns does not need the root to be open.
func (r Roots) in(path string, do func(root *os.Root, name string) error) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for _, dir := range r {
		name, err := filepath.Rel(dir, full)
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		err = do(root, name)
		if escapes(err) {
			err = r.outside(path)
		}
		return errors.Join(err, root.Close())
	}
	return r.outside(path)
}

// escapes reports whether os.Root says of a name that it leads out: it has no error for that which others could know.
func escapes(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && strings.Contains(failed.Err.Error(), "escapes")
}

// OpenFile is os.OpenFile to read.
func (r Roots) OpenFile(path string, flag int) (f *os.File, err error) {
	if len(r) == 0 {
		return os.OpenFile(path, flag, 0)
	}
	err = r.in(path, func(root *os.Root, name string) (err error) {
		f, err = root.OpenFile(name, flag, 0)
		return err
	})
	return f, err
}

// Stat is os.Stat.
func (r Roots) Stat(path string) (info fs.FileInfo, err error) {
	if len(r) == 0 {
		return os.Stat(path)
	}
	err = r.in(path, func(root *os.Root, name string) (err error) {
		info, err = root.Stat(name)
		return err
	})
	return info, err
}

// Check refuses a name that leads out; whether there is anything by it does not matter.
func (r Roots) Check(path string) error {
	if _, err := r.Stat(path); len(r) > 0 && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Open returns the store in a place, as the function Open does; a directory is below the roots, and there.
func (r Roots) Open(place string) (s Store, err error) {
	if len(r) == 0 || IsS3(place) {
		return Open(place)
	}
	return r.dir(place, (*os.Root).Stat)
}

// Make is Open, but makes a directory that is not there.
func (r Roots) Make(place string) (s Store, err error) {
	if len(r) == 0 || IsS3(place) {
		return Open(place)
	}
	return r.dir(place, func(root *os.Root, name string) (fs.FileInfo, error) { return nil, root.MkdirAll(name, 0o777) })
}

// dir returns the store in a directory below the roots, after first.
func (r Roots) dir(place string, first func(root *os.Root, name string) (fs.FileInfo, error)) (s Store, err error) {
	err = r.in(place, func(root *os.Root, name string) error {
		if _, err := first(root, name); err != nil {
			return err
		}
		inner, err := root.OpenRoot(name)
		if err == nil {
			s = &Dir{path: place, root: inner}
		}
		return err
	})
	return s, err
}

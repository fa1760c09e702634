package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Roots restrict the names that clients may use: to files below directories, and to objects below
// places in S3. Nothing else can be opened, under any name or link. Roots without a place allow
// nothing. Nil roots allow everything.
type Roots struct {
	dirs    []string // absolute, as given and with links resolved
	objects []string // s3://BUCKET/ or s3://BUCKET/PREFIX/

	mu     sync.Mutex
	hidden []string // files and places that can never be opened
}

// ErrOutside means that a name is outside of all roots.
var ErrOutside = errors.New("outside of what jobs may read and write here")

// NewRoots returns roots. Each place must be a directory, s3://BUCKET or s3://BUCKET/PREFIX.
func NewRoots(places []string) (*Roots, error) {
	r := &Roots{}
	for _, place := range places {
		if IsS3(place) {
			r.objects = append(r.objects, strings.TrimRight(place, "/")+"/")
			continue
		}
		full, err := absolute(place)
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
		r.dirs = append(r.dirs, full)
		if led := realPath(full); led != full {
			r.dirs = append(r.dirs, led)
		}
	}
	return r, nil
}

// absolute returns the absolute path of a name, which may be file:///PATH.
func absolute(name string) (string, error) {
	path, err := Local(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Local returns the path of a name, which may be file:///PATH. It returns an error for other URLs,
// which would otherwise be created as directories.
func Local(name string) (string, error) {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || scheme == "" || strings.Trim(scheme,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+") != "" {
		return name, nil
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", fmt.Errorf("found %.150q, expected a path, file:///PATH or s3://BUCKET/NAME",
			name)
	}
	return filepath.FromSlash(u.Path), nil
}

// realPath resolves the links in a path, as far as it exists.
func realPath(full string) string {
	if led, err := filepath.EvalSymlinks(full); err == nil || full == filepath.Dir(full) {
		return led
	}
	return filepath.Join(realPath(filepath.Dir(full)), filepath.Base(full))
}

// below reports whether a path is a directory's path, or below it.
func below(path, dir string) bool {
	name, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(name)
}

// Hide hides files and places, so that they can no longer be opened. It ignores empty and hidden
// ones.
func (r *Roots) Hide(places ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, place := range places {
		if full, err := absolute(place); err == nil && place != "" && !IsS3(place) {
			place = full
		}
		if place != "" && !slices.Contains(r.hidden, place) {
			r.hidden = append(r.hidden, place)
		}
	}
}

// Hold returns an error if a file of secrets is below a root, where jobs could read it.
func (r *Roots) Hold(secret string) error {
	full, err := absolute(secret)
	if err != nil || secret == "" {
		return err
	}
	for _, dir := range r.dirs {
		if below(realPath(full), dir) {
			return fmt.Errorf("%s lies in the data root %s, whose files jobs may read: give --data-root another directory", secret, dir)
		}
	}
	return nil
}

// hides reports whether a path is hidden, or below something hidden, through any links. With above
// it also reports whether something hidden is below the path.
func (r *Roots) hides(full string, above bool) bool {
	r.mu.Lock()
	hidden := slices.Clone(r.hidden)
	r.mu.Unlock()
	full = realPath(full)
	var infos []fs.FileInfo
	for _, h := range hidden {
		if info, err := os.Stat(h); err == nil {
			infos = append(infos, info)
		}
		if led := realPath(h); below(full, led) || above && below(led, full) {
			return true
		}
	}
	// Files have other names by hard links, and directories by mounts.
	for at := full; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil &&
			slices.ContainsFunc(infos, func(h fs.FileInfo) bool { return os.SameFile(info, h) }) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// confined is the context key of roots.
type confined struct{}

// Confine returns a context in which files and objects can be opened only below roots.
func Confine(ctx context.Context, roots *Roots) context.Context {
	return context.WithValue(ctx, confined{}, roots)
}

// RootsOf returns the roots of a context, or nil.
func RootsOf(ctx context.Context) *Roots {
	roots, _ := ctx.Value(confined{}).(*Roots)
	return roots
}

// outside returns the error for a name outside of the roots.
func (r *Roots) outside(path string) error {
	if len(r.dirs)+len(r.objects) == 0 {
		return fmt.Errorf("%s: %w: no files are allowed without --data-root", path, ErrOutside)
	}
	return fmt.Errorf("%s: %w: only files below %s are allowed (--data-root)", path, ErrOutside,
		strings.Join(append(slices.Clone(r.dirs), r.objects...), ", "))
}

// Path returns the absolute path of a name. A relative name is below the first root.
func (r *Roots) Path(name string) (string, error) {
	path, err := Local(name)
	if err == nil && r != nil && len(r.dirs) > 0 && !filepath.IsAbs(path) {
		path = filepath.Join(r.dirs[0], path)
	}
	return filepath.Clean(path), err
}

// in calls do with the root that contains a path, and the path's name in it. The results of do must
// not need an open root.
func (r *Roots) in(path string, above bool, do func(root *os.Root, name string) error) error {
	full, err := r.Path(path)
	if err != nil {
		return err
	}
	for _, dir := range r.dirs {
		if !below(full, dir) {
			continue
		}
		if r.hides(full, above) {
			return fmt.Errorf("%s: %w: it has keys, checkpoints or results", path, ErrOutside)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, full)
		if err == nil {
			err = do(root, name)
		}
		failed, ok := errors.AsType[*fs.PathError](err)
		if ok {
			failed.Op, failed.Path = strings.TrimSuffix(failed.Op, "at"), path
		}
		// os.Root has no exported error for a name that is outside.
		if closed := root.Close(); !ok || !strings.Contains(failed.Err.Error(), "escapes") {
			return errors.Join(err, closed)
		}
		// It may be in another root, which is below this one behind a link.
	}
	return r.outside(path)
}

// OpenFile is os.OpenFile for reading.
func (r *Roots) OpenFile(path string, flag int) (f *os.File, err error) {
	if r == nil {
		if path, err = Local(path); err != nil {
			return nil, err
		}
		return os.OpenFile(path, flag, 0)
	}
	err = r.in(path, false, func(root *os.Root, name string) (err error) {
		f, err = root.OpenFile(name, flag, 0)
		return err
	})
	return f, err
}

// Stat is os.Stat.
func (r *Roots) Stat(path string) (info fs.FileInfo, err error) {
	if r == nil {
		if path, err = Local(path); err != nil {
			return nil, err
		}
		return os.Stat(path)
	}
	err = r.in(path, false, func(root *os.Root, name string) (err error) {
		info, err = root.Stat(name)
		return err
	})
	return info, err
}

// Check returns an error for a name outside of the roots. The name need not exist.
func (r *Roots) Check(path string) error {
	if r == nil {
		return nil
	}
	if IsS3(path) {
		return r.object(path, false)
	}
	if _, err := r.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// object returns an error for the name of an object outside of the roots. With above it also
// returns an error if something hidden is below the name.
func (r *Roots) object(path string, above bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	within := func(path, dir string) bool {
		return strings.HasPrefix(strings.TrimRight(path, "/")+"/", strings.TrimRight(dir, "/")+"/")
	}
	begins := func(place string) bool { return within(path, place) }
	hides := func(h string) bool { return IsS3(h) && (begins(h) || above && within(h, path)) }
	_, name := SplitS3(path)
	if name = strings.TrimSuffix(name, "/"); name != "" && !fs.ValidPath(name) ||
		!slices.ContainsFunc(r.objects, begins) ||
		slices.ContainsFunc(r.hidden, hides) {
		return r.outside(path)
	}
	return nil
}

// Open returns the store of a place, as the function Open does. A directory must exist, below the
// roots.
func (r *Roots) Open(place string) (s Store, err error) { return r.store(place, false) }

// Make is Open, but creates a missing directory.
func (r *Roots) Make(place string) (s Store, err error) { return r.store(place, true) }

// store returns the store of a place below the roots. With create it creates a missing directory.
func (r *Roots) store(place string, create bool) (s Store, err error) {
	switch {
	case r == nil && !IsS3(place):
		if place, err = Local(place); err != nil {
			return nil, err
		}
		return opened(openDir(&Dir{shared: true}, place))
	case IsS3(place):
		if r != nil {
			err = r.object(place, true)
		}
		if err != nil {
			return nil, err
		}
		return Open(place)
	}
	err = r.in(place, true, func(root *os.Root, name string) error {
		if create {
			if err := root.MkdirAll(name, 0o777); err != nil {
				return err
			}
		}
		inner, err := root.OpenRoot(name)
		if err == nil {
			s = &Dir{path: place, root: inner, shared: true}
		}
		return err
	})
	return s, err
}

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

// Roots bound what clients name: to files below directories, and objects below places of S3.
// Nothing else is opened, by whatever name or link. Roots without a place open nothing, and nil
// bounds nothing.
type Roots struct {
	dirs    []string // absolute, each as it was given and as links lead there
	objects []string // s3://BUCKET/ or s3://BUCKET/PREFIX/

	mu     sync.Mutex
	hidden []string // files and places that are not opened, wherever they lie
}

// ErrOutside is that a name leads out of all roots.
var ErrOutside = errors.New("outside of what jobs may read and write here")

// NewRoots returns roots, each of which must be a directory, s3://BUCKET or s3://BUCKET/PREFIX.
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

// absolute returns the full path of a name, which may be file:///PATH.
func absolute(name string) (string, error) {
	path, err := Local(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Local returns the path of a name, which may be file:///PATH. It refuses what other URLs name:
// they would be made as directories.
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

// realPath returns where links in a path lead, as far as there is something.
func realPath(full string) string {
	if led, err := filepath.EvalSymlinks(full); err == nil || full == filepath.Dir(full) {
		return led
	}
	return filepath.Join(realPath(filepath.Dir(full)), filepath.Base(full))
}

// below reports whether a path is a directory's, or leads into it.
func below(path, dir string) bool {
	name, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(name)
}

// Hide has files and places opened no more. Those that are empty or hidden already do not matter.
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

// Hold refuses to begin with a file of secrets that lies below a root, where jobs could read it.
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

// hides reports whether a path is that of something hidden, or below it, by whatever links; with
// above also if something hidden is below the path.
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
		if err == nil && slices.ContainsFunc(infos, func(h fs.FileInfo) bool { return os.SameFile(info, h) }) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// confined is where a context has roots.
type confined struct{}

// Confine returns a context in which files and objects are opened below roots alone.
func Confine(ctx context.Context, roots *Roots) context.Context {
	return context.WithValue(ctx, confined{}, roots)
}

// RootsOf returns what confines a context; nil is nothing.
func RootsOf(ctx context.Context) *Roots {
	roots, _ := ctx.Value(confined{}).(*Roots)
	return roots
}

// outside is the error of a name that leads out.
func (r *Roots) outside(path string) error {
	if len(r.dirs)+len(r.objects) == 0 {
		return fmt.Errorf("%s: %w: no file is, until --data-root says which", path, ErrOutside)
	}
	return fmt.Errorf("%s: %w: below %s alone (--data-root)", path, ErrOutside,
		strings.Join(append(slices.Clone(r.dirs), r.objects...), ", "))
}

// Path returns the full path of a name; a relative one is below the first root.
func (r *Roots) Path(name string) (string, error) {
	path, err := Local(name)
	if err == nil && r != nil && len(r.dirs) > 0 && !filepath.IsAbs(path) {
		path = filepath.Join(r.dirs[0], path)
	}
	return filepath.Clean(path), err
}

// in does something with the root that a name is below, and with what it is called there. What it
// returns does not need the root to be open.
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
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			failed.Op, failed.Path = strings.TrimSuffix(failed.Op, "at"), path
		}
		if closed := root.Close(); !escapes(err) {
			return errors.Join(err, closed)
		}
		// It may be in another root, which lies in this one behind a link.
	}
	return r.outside(path)
}

// escapes reports whether os.Root says of a name that it leads out: it has no error for that which
// others could know.
func escapes(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && strings.Contains(failed.Err.Error(), "escapes")
}

// OpenFile is os.OpenFile to read.
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

// Check refuses a name that leads out; whether there is anything by it does not matter.
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

// object refuses the name of an object that leads out; with above also one that something hidden is
// below.
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

// Open returns the store in a place, as the function Open does; a directory is below the roots, and
// there.
func (r *Roots) Open(place string) (s Store, err error) {
	return r.store(place, (*os.Root).Stat)
}

// Make is Open, but makes a directory that is not there.
func (r *Roots) Make(place string) (s Store, err error) {
	return r.store(place, func(root *os.Root, name string) (fs.FileInfo, error) { return nil, root.MkdirAll(name, 0o777) })
}

// store returns the store in a place below the roots, after first for a directory.
func (r *Roots) store(place string, first func(root *os.Root,
	name string) (fs.FileInfo, error),
) (s Store, err error) {
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
		if _, err := first(root, name); err != nil {
			return err
		}
		inner, err := root.OpenRoot(name)
		if err == nil {
			s = &Dir{path: place, root: inner, shared: true}
		}
		return err
	})
	return s, err
}

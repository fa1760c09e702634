package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/faults"
)

// Dir is a store in a directory. Nothing outside of it is read or written, also by links in it.
// What it makes is its user's alone, or as the process has it (umask) if it is shared.
type Dir struct {
	path   string
	shared bool
	root   *os.Root
	made   string // the uppermost directory that OpenDir has made; "" is none

	swept sync.Map // directories, once something is written there
}

// temporary begins the names of files that are being written. Those that a process left behind when
// it was killed are removed a day later.
const (
	temporary = ".new-"
	left      = 24 * time.Hour
)

// Modes of what is made.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// mode is the mode of what is made; what is shared is for the group and others too.
func (d *Dir) mode(own fs.FileMode) fs.FileMode {
	if d.shared {
		return own | own>>3 | own>>6
	}
	return own
}

// OpenDir returns the store in a directory, which is made if there is none.
func OpenDir(dir string) (*Dir, error) { return openDir(&Dir{}, dir) }

func openDir(d *Dir, dir string) (*Dir, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	made, err := MakeDir(full, d.mode(dirMode))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return nil, err
	}
	d.path, d.root, d.made = full, root, made
	return d, nil
}

// MakeDir makes a directory, and those above it that are missing, which outlive the machine when it
// returns, unless their user may not read the directory that they are in. It returns the uppermost
// that it has made, or "".
func MakeDir(dir string, mode fs.FileMode) (made string, err error) {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = at
	}
	err = os.MkdirAll(dir, mode)
	for at := dir; err == nil && made != "" && at != filepath.Dir(made); {
		at = filepath.Dir(at)
		// Who may not read a directory may make others in it, and cannot sync it.
		if f, opened := os.Open(at); !errors.Is(opened, fs.ErrPermission) {
			err = syncOpened(f, opened)
		}
	}
	return made, err
}

// String returns the directory's path.
func (d *Dir) String() string { return d.path }

// Root is the directory.
func (d *Dir) Root() *os.Root { return d.root }

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// sweep removes what was being written to a directory of the store a day ago, when something is
// written there first.
func (d *Dir) sweep(dir string) {
	if _, before := d.swept.LoadOrStore(dir, true); before {
		return
	}
	all, _ := fs.ReadDir(d.root.FS(), dir) // what cannot be read is not ours
	for _, e := range all {
		if info, err := e.Info(); err == nil && !e.IsDir() &&
			strings.HasPrefix(e.Name(), temporary) && time.Since(info.ModTime()) > left {
			_ = d.root.Remove(path.Join(dir, e.Name()))
		}
	}
}

// Put is Store.Put. The data are on the disk when it returns.
func (d *Dir) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	return d.Copy(ctx, name, io.NewSectionReader(data, 0, size), size)
}

// Copy is Put for data that can be read once.
func (d *Dir) Copy(ctx context.Context, name string, data io.Reader, size int64) error {
	return d.write(ctx, name, data, size, d.root.Rename)
}

// PutIfAbsent is Store.PutIfAbsent.
func (d *Dir) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return d.write(ctx, name, strings.NewReader(string(data)), int64(len(data)),
		func(temp, name string) error {
			err := d.root.Link(temp, name)
			// It is committed, or not, all the same; a name that is left is swept.
			_ = d.root.Remove(temp)
			return err
		})
}

// write writes a new file, which place then gives its name.
func (d *Dir) write(ctx context.Context, name string, data io.Reader, size int64, place func(temp,
	name string) error,
) error {
	if err := Named(d, name); err != nil {
		return err
	}
	dir := path.Dir(name)
	if err := d.root.MkdirAll(dir, d.mode(dirMode)); err != nil {
		return Failed("write", d, name, err)
	}
	d.sweep(dir)
	temp := path.Join(dir, temporary+rand.Text())
	err := d.fill(ctx, temp, data, size)
	if err == nil {
		err = faults.At(faults.Renaming, "")
	}
	if err == nil {
		err = place(temp, name)
		// a name counts, whoever gave it, when it outlives the machine
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = cmp.Or(SyncDir(d.root, dir), err)
		}
	}
	if err != nil {
		_ = d.root.Remove(temp)
	}
	return Failed("write", d, name, err)
}

// fill writes a file of so many bytes, to the disk.
func (d *Dir) fill(ctx context.Context, name string, data io.Reader, size int64) (err error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.mode(fileMode))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	n, err := io.Copy(f, &until{ctx, data})
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("found %d bytes to write, expected %d", n, size)
	}
	return f.Sync()
}

// until is a reader that ends with a context.
type until struct {
	ctx  context.Context
	from io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(p)
}

// SyncDir makes the names in a directory of a root, and in those above it, outlive the machine.
func SyncDir(root *os.Root, dir string) error {
	for ; ; dir = path.Dir(dir) {
		if err := syncOpened(root.Open(dir)); err != nil || dir == "." {
			return err
		}
	}
}

// syncFile is replaced in tests.
var syncFile = (*os.File).Sync

func syncOpened(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(syncFile(f), f.Close())
}

// GetRange is Store.GetRange.
func (d *Dir) GetRange(ctx context.Context, o Object, off int64, p []byte) error {
	if err := Named(d, o.Name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return Failed("read", d, o.Name, d.read(o, off, p))
}

func (d *Dir) read(o Object, off int64, p []byte) (err error) {
	f, err := d.root.Open(o.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if o.Version != "" && version(info) != o.Version {
		return ErrChanged
	}
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("found %d bytes, expected %d from byte %d on: %w", info.Size(), len(p),
			off, io.ErrUnexpectedEOF)
	}
	return err
}

// version tells a file from the one that was there before it: files are replaced and not written
// to.
func version(info fs.FileInfo) string {
	return fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
}

// List is Store.List.
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		var found []Object
		err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
				return nil
			case err != nil:
				return err
			case e.IsDir():
				if name != "." && !strings.HasPrefix(name+"/", prefix) &&
					!strings.HasPrefix(prefix, name+"/") {
					return fs.SkipDir
				}
				return nil
			case !strings.HasPrefix(name, prefix) || strings.HasPrefix(e.Name(), temporary) ||
				!e.Type().IsRegular():
				return nil
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				found = append(found, Object{name, info.Size(), version(info), info.ModTime()})
			}
			return err
		})
		if err != nil {
			yield(Object{}, Failed("list", d, prefix, err))
			return
		}
		slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// RemoveEmpty removes a directory of the store, and then the store's own and those above as far as
// OpenDir has made them, each if nothing is in it. Nothing may be written to the store after that.
func (d *Dir) RemoveEmpty(dir string) {
	_ = d.root.Remove(dir) // something is in it, or it is not there
	for at := d.path; d.made != "" && os.Remove(at) == nil && at != d.made; {
		at = filepath.Dir(at)
	}
}

// Delete is Store.Delete.
func (d *Dir) Delete(ctx context.Context, name string) error {
	if err := Named(d, name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Failed("delete", d, name, err)
	}
	return nil
}

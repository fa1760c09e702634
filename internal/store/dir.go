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

// Dir is a store in a directory. It never reads or writes outside of the directory, even through
// links. Only its user can access what it creates, or, if it is shared, whom the umask permits.
type Dir struct {
	path   string
	shared bool
	// Temporary means that what it stores need not survive a crash of the machine. It is set before
	// the first use.
	Temporary bool
	root      *os.Root
	made      string // the uppermost directory that OpenDir has created, or ""

	swept sync.Map // the directories that were swept
}

// temporary is the prefix of files that are being written. Those left by a killed process are
// removed a day later.
const (
	temporary = ".new-"
	left      = 24 * time.Hour
)

// Modes of created files and directories.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// mode returns the mode for a new file or directory; in a shared store it includes the group and
// others.
func (d *Dir) mode(own fs.FileMode) fs.FileMode {
	if d.shared {
		return own | own>>3 | own>>6
	}
	return own
}

// OpenDir returns the store in a directory, which it creates if missing.
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

// MakeDir creates a directory and the missing directories above it. When it returns they survive a
// crash of the machine, unless the user may not read the directory that contains them. It returns
// the uppermost one that it created, or "".
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
		// A user may create a directory in one that the user cannot read, and so cannot sync.
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

// sweep removes temporary files older than a day from a directory of the store, at the first write
// there.
func (d *Dir) sweep(dir string) {
	if _, before := d.swept.LoadOrStore(dir, true); before {
		return
	}
	all, _ := fs.ReadDir(d.root.FS(), dir) // ignore unreadable directories
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

// Copy is Put for data that can be read once. A size of -1 means all data until io.EOF.
func (d *Dir) Copy(ctx context.Context, name string, data io.Reader, size int64) error {
	return d.write(ctx, name, data, size, d.root.Rename)
}

// PutIfAbsent is Store.PutIfAbsent.
func (d *Dir) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return d.write(ctx, name, strings.NewReader(string(data)), int64(len(data)),
		func(temp, name string) error {
			err := d.root.Link(temp, name)
			// The result does not depend on it; sweep removes a remaining name.
			_ = d.root.Remove(temp)
			return err
		})
}

// write writes a new file. place then gives the file its name.
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
	if size >= 0 { // each result has a directory of its own
		d.sweep(dir)
	}
	temp := path.Join(dir, temporary+rand.Text())
	err := d.fill(ctx, temp, data, size)
	if err == nil {
		err = faults.At(faults.Renaming, "")
	}
	if err == nil {
		err = place(temp, name)
		// a name counts, whoever made it, only if it survives a crash of the machine
		if !d.Temporary && (err == nil || errors.Is(err, fs.ErrExist)) {
			err = cmp.Or(SyncDir(d.root, dir), err)
		}
	}
	if err != nil {
		_ = d.root.Remove(temp)
	}
	return Failed("write", d, name, err)
}

// fill writes a file of size bytes, or all data if size is -1, and syncs it.
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
	switch {
	case n != size && size >= 0:
		return fmt.Errorf("found %d bytes to write, expected %d", n, size)
	case d.Temporary:
		return nil
	}
	return f.Sync()
}

// until is a reader that fails when its context ends.
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

// SyncDir syncs a directory of a root and the directories above it, so that names in them survive a
// crash of the machine.
func SyncDir(root *os.Root, dir string) error {
	for ; ; dir = path.Dir(dir) {
		if err := syncOpened(root.Open(dir)); err != nil || dir == "." {
			return err
		}
	}
}

// syncFile can be replaced in tests.
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

// version distinguishes a file from an earlier one with the same name: files are replaced, never
// modified.
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

// RemoveEmpty removes a directory of the store, and then the store's own directory and those above
// it that OpenDir has created, each only if it is empty. The store must not be written afterwards.
func (d *Dir) RemoveEmpty(dir string) {
	_ = d.root.Remove(dir) // fails if it is not empty or does not exist
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

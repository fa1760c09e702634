// Package store keeps objects, which are runs of bytes with names, in a directory or in a bucket of
// S3: what must outlive a process, and what others must reach. An object appears whole or not at
// all.
package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"
)

// Store is a place for objects. Their names are paths as of package fs: elements parted by slashes,
// none of them "." or "..". Errors say which object they are about; those of fs, ErrNotExist and
// ErrExist, and ErrChanged are told by errors.Is. Methods may be called by several goroutines at
// once.
type Store interface {
	// Put stores the first so many bytes of data, which are read again when a request has to be
	// sent again, in place of what has that name.
	Put(ctx context.Context, name string, data io.ReaderAt, size int64) error
	// PutIfAbsent stores an object if there is none of that name, else it fails with fs.ErrExist.
	// Of several callers, also in other processes, one succeeds, so that this commits what the
	// object names. Their data must differ, or all that bring the same succeed: a request whose
	// answer was lost is sent again, and then finds what it stored.
	PutIfAbsent(ctx context.Context, name string, data []byte) error
	// GetRange fills p with the bytes of an object from off on. It fails with ErrChanged if that is
	// no longer the object that was listed, where o has a version.
	GetRange(ctx context.Context, o Object, off int64, p []byte) error
	// List returns the objects whose names begin with prefix, which need not end an element, in the
	// order of their names' bytes. It ends at the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete removes an object. That there is none is no error.
	Delete(ctx context.Context, name string) error
	// String names the place, as Open takes it.
	String() string
}

// Object is what a store has under a name.
type Object struct {
	Name string
	Size int64
	// Another one when other data are put under the name, as far as the store can tell.
	Version string
	// Modified is when it was put; zero where the store does not tell.
	Modified time.Time
}

// ErrChanged says that an object is no longer the one that was listed.
var ErrChanged = errors.New("it has changed since")

// ErrNoBucket says that the bucket of a place is not there.
var ErrNoBucket = fmt.Errorf("there is no such bucket: %w", fs.ErrNotExist)

// S3 begins the names of places in S3.
const S3 = "s3://"

// IsS3 reports whether a place is in S3.
func IsS3(place string) bool { return strings.HasPrefix(place, S3) }

// SplitS3 cuts s3://BUCKET/NAME into the store of the bucket and the name of an object in it.
func SplitS3(place string) (bucket, name string) {
	bucket, name, _ = strings.Cut(strings.TrimPrefix(place, S3), "/")
	return S3 + bucket, name
}

// drivers open places, by what their names begin with.
var drivers = map[string]func(place string) (Store, error){}

// Register has places whose names begin so opened by a driver. It is for init functions.
func Register(scheme string, open func(place string) (Store, error)) { drivers[scheme] = open }

// Open returns the store of a place: s3://BUCKET or s3://BUCKET/PREFIX, or else a directory, which
// is made if there is none.
func Open(place string) (Store, error) {
	if IsS3(place) {
		open := drivers[S3]
		if open == nil {
			return nil, fmt.Errorf("%s: this program has no driver for S3: import _ %q", place,
				"github.com/superstep-go/superstep/drivers/s3")
		}
		return open(place)
	}
	place, err := Local(place)
	if err != nil {
		return nil, err
	}
	return opened(OpenDir(place))
}

// opened is a directory as a Store, which is nil if there is none.
func opened(d *Dir, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Existing is Open of a place that is there already: a directory is not made.
func Existing(place string) (Store, error) {
	if !IsS3(place) {
		path, err := Local(place)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is a file, expected a directory", place)
		}
	}
	return Open(place)
}

// Close closes a store that Open has opened; nil is none.
func Close(s Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // of a directory that was read and written by name
	}
}

// Stat returns the object of a name, or fs.ErrNotExist.
func Stat(ctx context.Context, s Store, name string) (Object, error) {
	for o, err := range s.List(ctx, name) {
		if err != nil {
			return Object{}, err
		}
		if o.Name == name {
			return o, nil
		}
		break // it would have come first
	}
	return Object{}, Failed("stat", s, name, fs.ErrNotExist)
}

// Get returns a whole object, of at most so many bytes.
func Get(ctx context.Context, s Store, name string, most int64) ([]byte, error) {
	o, err := Stat(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return Fetch(ctx, s, o, most)
}

// Fetch is Get of an object that was listed.
func Fetch(ctx context.Context, s Store, o Object, most int64) ([]byte, error) {
	if o.Size > most {
		err := fmt.Errorf("found %d bytes, expected at most %d", o.Size, most)
		return nil, Failed("read", s, o.Name, err)
	}
	data := make([]byte, o.Size)
	return data, s.GetRange(ctx, o, 0, data)
}

// Reader reads an object that was listed, so many bytes at a time. It is damaged if it has changed
// since.
func Reader(ctx context.Context, s Store, o Object, piece int) io.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(&ranges{ctx, s, o}, 0, o.Size), piece)
}

// ranges is an object as an io.ReaderAt.
type ranges struct {
	ctx context.Context
	Store
	Object
}

func (r *ranges) ReadAt(p []byte, off int64) (int, error) {
	err := r.GetRange(r.ctx, r.Object, off, p)
	if errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// NameOf is what errors call an object of a store.
func NameOf(s Store, name string) string { return strings.TrimSuffix(s.String(), "/") + "/" + name }

// Failed is an error about an object of a store, or nil.
func Failed(what string, s Store, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, NameOf(s, name), err)
}

// Sizes are the bytes of objects, by their names.
type Sizes map[string]int64

// SizesOf lists the objects whose names begin with a prefix.
func SizesOf(ctx context.Context, s Store, prefix string) (Sizes, error) {
	all := Sizes{}
	for o, err := range s.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		all[o.Name] = o.Size
	}
	return all, nil
}

// Check returns an error unless there is an object of this name, of so many bytes.
func (all Sizes) Check(name string, size int64) error {
	switch found, ok := all[name]; {
	case !ok:
		return fmt.Errorf("%s is missing", name)
	case found != size:
		return fmt.Errorf("%s has %d bytes, expected %d", name, found, size)
	}
	return nil
}

// Named returns an error if no object of a store can have this name.
func Named(s Store, name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\\") || len(name) > 900 {
		return Failed("store", s, name, fmt.Errorf("%q cannot name an object: %w", name,
			fs.ErrInvalid))
	}
	return nil
}

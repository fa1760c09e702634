// Package store has the interface to a store of objects, which are named byte strings, and its
// implementation in a directory. Package s3 implements it in a bucket of S3. It holds what must
// outlive a process, and what other processes must reach. An object appears completely or not at
// all. Read store.go first.
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

// Store is a store of objects. Names are paths as in package fs: elements separated by slashes,
// none of them "." or "..". Errors name the object. errors.Is detects fs.ErrNotExist, fs.ErrExist
// and ErrChanged. Several goroutines may call the methods at once.
type Store interface {
	// Put stores the first size bytes of data under a name, and replaces an existing object. It may
	// read data again, to repeat a request.
	Put(ctx context.Context, name string, data io.ReaderAt, size int64) error
	// PutIfAbsent stores an object if the name is free, else it returns fs.ErrExist. Of several
	// callers, even in different processes, one succeeds, so it can commit what the object names.
	// Callers must have different data, otherwise all with the same data succeed: a request whose
	// answer was lost is repeated, and then finds its own object.
	PutIfAbsent(ctx context.Context, name string, data []byte) error
	// GetRange fills p with the bytes of an object from off on. If o has a version, it returns
	// ErrChanged if the object is no longer the listed one.
	GetRange(ctx context.Context, o Object, off int64, p []byte) error
	// List returns the objects whose names begin with prefix, which may end inside an element, in
	// the byte order of their names. It ends at the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete removes an object. It is no error if the object does not exist.
	Delete(ctx context.Context, name string) error
	// String returns the place, as Open takes it.
	String() string
}

// Object is an entry of a list of objects.
type Object struct {
	Name string
	Size int64
	// changes when other data are stored under the name, as far as the store can tell
	Version string
	// Modified is the time of the last Put; zero if unknown.
	Modified time.Time
}

// ErrChanged means that an object is no longer the listed one.
var ErrChanged = errors.New("it has changed since")

// ErrNoBucket means that the bucket of a place does not exist.
var ErrNoBucket = fmt.Errorf("there is no such bucket: %w", fs.ErrNotExist)

// S3 is the prefix of places in S3.
const S3 = "s3://"

// IsS3 reports whether a place is in S3.
func IsS3(place string) bool { return strings.HasPrefix(place, S3) }

// SplitS3 splits s3://BUCKET/NAME into the bucket's store and the name of an object in it.
func SplitS3(place string) (bucket, name string) {
	bucket, name, _ = strings.Cut(strings.TrimPrefix(place, S3), "/")
	return S3 + bucket, name
}

// drivers open places, by the prefix of their names.
var drivers = map[string]func(place string) (Store, error){}

// Register sets the driver for places whose names begin with scheme. It is for init functions.
func Register(scheme string, open func(place string) (Store, error)) { drivers[scheme] = open }

// Open returns the store of a place: s3://BUCKET or s3://BUCKET/PREFIX, or a directory, which it
// creates if missing.
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

// opened returns a directory as a Store; nil becomes a nil interface.
func opened(d *Dir, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Existing is Open for an existing place: it does not create a directory.
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

// Close closes a store that Open has opened, if it is not nil.
func Close(s Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // nothing to lose: the directory's files are closed
	}
}

// Stat returns the object with a name, or fs.ErrNotExist.
func Stat(ctx context.Context, s Store, name string) (Object, error) {
	for o, err := range s.List(ctx, name) {
		if err != nil || o.Name == name {
			return o, err
		}
		break // the object would have come first
	}
	return Object{}, Failed("stat", s, name, fs.ErrNotExist)
}

// Get returns a whole object of at most most bytes.
func Get(ctx context.Context, s Store, name string, most int64) ([]byte, error) {
	o, err := Stat(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return Fetch(ctx, s, o, most)
}

// Fetch is Get for a listed object.
func Fetch(ctx context.Context, s Store, o Object, most int64) ([]byte, error) {
	if o.Size > most {
		err := fmt.Errorf("found %d bytes, expected at most %d", o.Size, most)
		return nil, Failed("read", s, o.Name, err)
	}
	data := make([]byte, o.Size)
	return data, s.GetRange(ctx, o, 0, data)
}

// Reader reads a listed object, piece bytes at a time. It returns an error if the object has
// changed.
func Reader(ctx context.Context, s Store, o Object, piece int) io.Reader {
	size := int(min(int64(piece), o.Size))
	return bufio.NewReaderSize(io.NewSectionReader(&ranges{ctx, s, o}, 0, o.Size), size)
}

// ranges is an io.ReaderAt for an object.
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

// NameOf returns the name of a store's object for errors.
func NameOf(s Store, name string) string { return strings.TrimSuffix(s.String(), "/") + "/" + name }

// At adds an object's name to an error, unless it is nil.
func At(s Store, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", NameOf(s, name), err)
}

// Failed returns the error for an operation on a store's object, or nil if err is nil.
func Failed(what string, s Store, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, NameOf(s, name), err)
}

// Sizes are the sizes of objects in bytes, by name.
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

// Check returns an error unless an object of this name and size exists.
func (all Sizes) Check(name string, size int64) error {
	switch found, ok := all[name]; {
	case !ok:
		return fmt.Errorf("%s is missing", name)
	case found != size:
		return fmt.Errorf("%s has %d bytes, expected %d", name, found, size)
	}
	return nil
}

// Named returns an error if a name is invalid for objects of a store.
func Named(s Store, name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\\") || len(name) > 900 {
		return Failed("store", s, name, fmt.Errorf("%q cannot name an object: %w", name,
			fs.ErrInvalid))
	}
	return nil
}

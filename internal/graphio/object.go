package graphio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// input is an open input file: a file in the file system, or an object in S3.
type input interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
	SetReadDeadline(t time.Time) error
}

// stat is os.Stat for files and for objects in S3. ctx may restrict the files (store.RootsOf).
func stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if !store.IsS3(path) {
		return store.RootsOf(ctx).Stat(path)
	}
	_, o, err := find(ctx, path)
	if err != nil {
		return nil, err
	}
	return objectInfo{o}, nil
}

// Absolute returns a name with which a process in another directory can open an input file.
func Absolute(path string) (string, error) {
	if path == Stdin {
		return "", fileFault(stdinName, "a graph for processes that run elsewhere",
			"a file that they can read: standard input is read by one process alone")
	}
	parts := Split(context.Background(), path)
	for i, part := range parts {
		if part == "" || store.IsS3(part) {
			continue
		}
		part, err := store.Local(part)
		if err != nil {
			return "", err
		}
		if parts[i], err = filepath.Abs(part); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, ","), nil
}

// find returns the object named s3://BUCKET/NAME, and its store.
func find(ctx context.Context, path string) (store.Store, store.Object, error) {
	if err := store.RootsOf(ctx).Check(path); err != nil {
		return nil, store.Object{}, err
	}
	bucket, name := store.SplitS3(path)
	s, err := store.Open(bucket)
	if err != nil {
		return nil, store.Object{}, err
	}
	if !fs.ValidPath(name) || name == "." {
		return nil, store.Object{},
			fileFault(path, "a bucket, or an invalid name", "s3://BUCKET/NAME of a file")
	}
	o, err := store.Stat(ctx, s, name)
	return s, o, err
}

// objectInfo is the fs.FileInfo of an object.
type objectInfo struct{ object store.Object }

func (i objectInfo) Name() string       { return path.Base(i.object.Name) }
func (i objectInfo) Size() int64        { return i.object.Size }
func (i objectInfo) Mode() fs.FileMode  { return 0o444 }
func (i objectInfo) ModTime() time.Time { return time.Time{} }
func (i objectInfo) IsDir() bool        { return false }
func (i objectInfo) Sys() any           { return nil }

// object is an open object as an input file. Each ReadAt is a request, so several can run in
// parallel. Read requests requestSize bytes at a time. Reading fails if the object has been
// replaced since it was opened.
type object struct {
	ctx    context.Context // the opener's context, which cancels requests
	cancel context.CancelFunc
	store  store.Store
	object store.Object
	at     int64
}

// requestSize is the size of a request of sequential reading.
const requestSize = 4 << 20

// openInput opens a file or an object.
func openInput(ctx context.Context, path string) (input, error) {
	if path == Stdin {
		path = "/dev/stdin"
	}
	if !store.IsS3(path) {
		return store.RootsOf(ctx).OpenFile(path, toRead)
	}
	s, o, err := find(ctx, path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &object{ctx: ctx, cancel: cancel, store: s, object: o}, nil
}

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), max(o.object.Size-off, 0)))
	if n > 0 {
		if err := o.store.GetRange(o.ctx, o.object, off, p[:n]); err != nil {
			return 0, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (o *object) Read(p []byte) (int, error) {
	n, err := o.ReadAt(p, o.at)
	o.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (o *object) Close() error {
	o.cancel()
	return nil
}

func (o *object) Stat() (fs.FileInfo, error) { return objectInfo{o.object}, nil }

// SetReadDeadline does nothing: it is for pipes, whose reads a context cannot cancel.
func (o *object) SetReadDeadline(time.Time) error { return nil }

// upload stores a finished file as an object.
func upload(ctx context.Context, file, path string) (err error) {
	bucket, name := store.SplitS3(path)
	s, err := store.Open(bucket)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return s.Put(ctx, name, f, info.Size())
}

// writable checks that the bucket of an object that is to be written exists and can be accessed.
func writable(ctx context.Context, path string) error {
	_, _, err := find(ctx, path)
	if err != nil && (errors.Is(err, store.ErrNoBucket) || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

package graphio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// output is a file being written. It gets a temporary name in the same directory, and its own name
// when it is complete.
type output struct {
	ctx     context.Context
	path    string // the final path: symbolic links are resolved
	temp    string // "" if path is a device or a pipe, which is written in place
	f       *os.File
	encoder io.WriteCloser
	cancel  func() bool // stops watching ctx, whose end ends a write to a pipe; nil for a file
}

// WriteFile creates a file with the data that fill writes. It compresses if the name ends in .gz or
// .zst. The file appears complete or not at all. A pipe is written in place; waiting for its reader
// ends with ctx. mode limits the permissions: an existing file's permissions are not extended, and
// a new file gets those that the umask allows.
func WriteFile(
	ctx context.Context, path string, mode fs.FileMode, threads int, fill func(w io.Writer) error,
) error {
	_, c := splitCodec(path)
	o, err := create(ctx, path, mode, c, threads)
	if err != nil {
		return err
	}
	defer o.discard()
	if err := fill(o); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := o.finish(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return o.place()
}

// Writable checks before long work whether a file can be written. It creates a temporary file in
// the same directory and removes it.
func Writable(path string) error {
	if _, c := splitCodec(path); c == bzipped || c == xzipped {
		return errUnwritten(c)
	}
	if store.IsS3(path) {
		return writable(context.Background(), path)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil // opening a pipe would wait for its reader
	}
	o, err := create(context.Background(), path, 0o600, plain, 1)
	if err == nil {
		o.discard()
	}
	return err
}

// create begins a file. A future object is begun in the directory of temporary files.
func create(
	ctx context.Context, path string, mode fs.FileMode, c codec, threads int,
) (*output, error) {
	far := store.IsS3(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && !far {
		path = real
	}
	o := &output{ctx: ctx, path: path}
	info, err := os.Stat(path)
	switch replaces := err == nil; {
	case far:
		o.f, err = os.CreateTemp("", "superstep-output-*")
	case replaces && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a directory", path)
	case replaces && !info.Mode().IsRegular():
		if info.Mode()&fs.ModeNamedPipe != 0 {
			o.f, err = openPipe(ctx, path)
		} else {
			o.f, err = os.OpenFile(path, os.O_WRONLY, 0)
		}
		if err == nil {
			f := o.f
			// no effect for a device
			o.cancel = context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
		}
	default:
		if o.f, err = createBeside(path, mode); err == nil && replaces {
			err = o.f.Chmod(info.Mode().Perm() & mode) // do not extend the permissions
		}
	}
	if o.f != nil && o.cancel == nil {
		o.temp = o.f.Name()
	}
	if err != nil {
		o.discard()
		return nil, fmt.Errorf("cannot write %s: %w", path, reason(err))
	}
	if o.encoder, err = compressor(o.f, c, threads); err != nil {
		o.discard()
		return nil, err
	}
	return o, nil
}

// errNoReader is the error of a pipe without a reader, if waiting is not possible.
var errNoReader = errors.New("it is a pipe that nobody reads")

// Create creates or truncates a file that is written in place. A pipe without a reader is an error.
func Create(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.Create(path)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNoReader)
	f, err := openPipe(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, reason(err))
	}
	return f, nil
}

// reason returns the error without the name of the temporary file.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// createBeside creates a file in the directory of path. Unlike os.CreateTemp it applies the umask
// to the permissions.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	dir, name := filepath.Split(path)
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.%08x.part", dir, name, rand.Uint32()),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.encoder.Write(p)
	return n, o.cause(err)
}

// cause replaces the error of an expired deadline by the reason for which ctx ended.
func (o *output) cause(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return err
}

// finish completes the file under its temporary name.
func (o *output) finish() error {
	err := o.encoder.Close()
	o.encoder = nopCloser{io.Discard}
	return errors.Join(o.cause(err), o.close())
}

// close closes the file.
func (o *output) close() error {
	if o.cancel != nil {
		o.cancel()
	}
	err := o.f.Close()
	o.f = nil
	return err
}

// place gives the finished file its final name.
func (o *output) place() error {
	if o.temp == "" {
		return nil
	}
	if store.IsS3(o.path) {
		return upload(o.ctx, o.temp, o.path) // discard removes the temporary file
	}
	if err := os.Rename(o.temp, o.path); err != nil {
		return err
	}
	o.temp = ""
	return nil
}

// discard removes a file that has not got its final name.
func (o *output) discard() {
	if o.f != nil {
		if o.encoder != nil {
			_ = o.encoder.Close() // ends the encoder's goroutines
		}
		_ = o.close()
	}
	if o.temp != "" {
		_ = os.Remove(o.temp)
		o.temp = ""
	}
}

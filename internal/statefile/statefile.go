// Package statefile keeps small files that outlive a process and that processes of one user share: a lock, a counter, a key.
package statefile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrLocked is that another process has a lock.
var ErrLocked = errors.New("another process has it locked")

// UserDir returns the user's own directory for such files, superstep in the user's cache directory, or where there is none in
// the temporary one. It makes it, and refuses one that others own or can write to.
func UserDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "superstep")
		err = os.MkdirAll(cache, 0o700)
	}
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("superstep-%d", os.Geteuid()))
		if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("a directory of the user's own: %w", err)
		}
	}
	info, err := os.Lstat(cache)
	switch {
	case err != nil:
		return "", fmt.Errorf("a directory of the user's own: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s: expected a directory", cache)
	}
	return cache, private(cache, info, 0o022)
}

// Lock locks a file, which it makes if it is not there, until it is closed or the process ends. The error is ErrLocked if
// another has it.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := TryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// patience is how long to wait for a lock that is held for a moment.
const patience = 10 * time.Second

// locked does something while nobody else does anything with the file at path.
func locked(path string, do func() error) error {
	end := time.Now().Add(patience)
	for {
		f, err := Lock(path + ".lock")
		if err == nil {
			return errors.Join(do(), f.Close())
		}
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return err
		}
		<-time.After(5 * time.Millisecond)
	}
}

// maxSmall bounds files that hold a number, a key, a token or certificates.
const maxSmall = 1 << 20

// ReadSmall reads a file of 1 MiB at most, and refuses a larger one, or one without an end, such as /dev/zero.
func ReadSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err = errors.Join(err, f.Close()); err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%s: found more than %d bytes, expected a small file", path, maxSmall)
	}
	return data, err
}

// Next adds one to the number in a file and returns it, from 1 on: no two calls return the same, whatever the clock says and
// whenever a process or the machine ends.
func Next(path string) (uint64, error) {
	var n uint64
	err := locked(path, func() error {
		data, err := ReadSmall(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			if n, err = strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err != nil {
				return fmt.Errorf("%s: found %.40q, expected a number", path, data)
			}
		}
		n++
		return write(path, strconv.FormatUint(n, 10))
	})
	return n, err
}

// Key returns the secret in a file, so many bytes in hexadecimal digits, which it makes if it is not there. A file that others
// own or can read is refused.
func Key(path string, size int) ([]byte, error) {
	var key []byte
	err := locked(path, func() error {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			key = make([]byte, size)
			_, _ = rand.Read(key) // it never fails
			return write(path, hex.EncodeToString(key))
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: expected a regular file", path)
		}
		if err := private(path, info, 0o077); err != nil {
			return err
		}
		data, err := ReadSmall(path)
		if err != nil {
			return err
		}
		if key, err = hex.DecodeString(strings.TrimSpace(string(data))); err != nil || len(key) != size {
			return fmt.Errorf("%s: expected %d hexadecimal digits: remove it, and another is made", path, 2*size)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return key, nil
}

// write replaces a file as a whole, and returns when it would outlive a crash of the machine.
func write(path, line string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-new-") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

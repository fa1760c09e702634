// Package statefile has small files that outlive a process and are shared by the processes of one
// user: a lock, a counter, a key.
package statefile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("another process has it locked")

// UserDir returns the user's own directory for such files: superstep in $XDG_STATE_HOME, or in
// ~/.local/state, or, without a home, in the temporary directory. It creates the directory. It
// returns an error if others own it or can write to it.
func UserDir() (string, error) {
	dir, err := stateDir()
	if err == nil {
		dir = filepath.Join(dir, "superstep")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("superstep-%d", os.Geteuid()))
	}
	return dir, ownDir(dir, 0o022)
}

// stateDir returns the directory where the user's programs keep their state.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}

// PrivateDir returns a directory in UserDir that only the user can open. It creates the directory,
// and returns an error if others can open it.
func PrivateDir(name string) (string, error) {
	dir, err := UserDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, name)
	return dir, ownDir(dir, 0o077)
}

// ownDir creates a directory. It returns an error if the name exists and is not a directory of the
// user, or gives others one of the permissions.
func ownDir(dir string, others fs.FileMode) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a directory of the user's own: %w", err)
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: expected a directory", dir)
	}
	if err != nil {
		return fmt.Errorf("a directory of the user's own: %w", err)
	}
	return private(dir, info, others)
}

// Lock locks a file until it is closed or the process ends. It creates a missing file. The error is
// ErrLocked if another process has the lock.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = TryLock(f); err == nil {
		locked, _ := f.Stat()
		if there, gone := os.Stat(path); gone == nil && os.SameFile(locked, there) {
			return f, nil
		}
		err = ErrLocked // another process had it until it removed the file just now
	}
	_ = f.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

// patience is the time to wait for a lock that is held briefly.
const patience = 10 * time.Second

// Locked calls do while no other caller of Locked has the file at path.
func Locked(path string, do func() error) error {
	for end := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		f, err := Lock(path + ".lock")
		if err == nil {
			return errors.Join(do(), f.Close())
		}
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return err
		}
	}
}

// maxSmall bounds files with a number, a key, a token or certificates.
const maxSmall = 1 << 20

// ReadSmall reads a file of at most 1 MiB. It returns an error for a larger one, or one without an
// end, such as /dev/zero.
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

// Next adds one to the number in a file and returns the sum, from 1 on. No two calls return the
// same number, even if a process or the machine crashes.
func Next(path string) (uint64, error) {
	var n uint64
	err := Locked(path, func() (err error) {
		if n, err = ReadNumber(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: "+Renew, err)
		}
		n++
		return WriteNumber(path, n)
	})
	return n, err
}

// Renew is the advice for a lost number of Next.
const Renew = "write a line into it with a number larger than all before, such as 1000000"

// ReadNumber returns the number in a file of Next, WriteNumber or NoteNumber. It is a line with the
// number and the CRC-32 of its digits. A line with only a number is from an earlier version, or
// from a user who repaired the file.
func ReadNumber(path string) (uint64, error) {
	data, err := ReadSmall(path)
	if err != nil {
		return 0, err
	}
	line, ended := strings.CutSuffix(string(data), "\n")
	digits, _, sealed := strings.Cut(line, " ")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !ended || sealed && line != numberLine(n) {
		return 0, fmt.Errorf("%s is damaged: found %.40q, expected a sealed number", path, data)
	}
	return n, nil
}

func numberLine(n uint64) string {
	digits := strconv.AppendUint(nil, n, 10)
	return fmt.Sprintf("%s crc32=%08x", digits, crc32.ChecksumIEEE(digits))
}

// WriteNumber writes a number to a file. When it returns, the number survives a crash of the
// machine.
func WriteNumber(path string, n uint64) error { return write(path, numberLine(n)) }

// NoteNumber writes a number, which must never fall, to a file without waiting for the disk. It
// survives the end of the process. After a crash of the machine the file may be empty, or have an
// earlier number.
func NoteNumber(path string, n uint64) error { return overwrite(path, numberLine(n), os.O_CREATE) }

// Key returns the secret in a file, size bytes in hexadecimal digits. It creates a missing file. It
// returns an error for a link, or if others own or can read the file.
func Key(path string, size int) ([]byte, error) {
	var key []byte
	err := Locked(path, func() (err error) {
		if key, err = ReadKey(path, size); errors.Is(err, fs.ErrNotExist) {
			key = make([]byte, size)
			_, _ = rand.Read(key) // never fails
			err = write(path, hex.EncodeToString(key))
		}
		return err
	})
	return key, err
}

// ReadKey is Key for an existing file.
func ReadKey(path string, size int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // of the opened file, whatever has its name now
		return nil, err
	}
	if err := private(path, info, 0o077); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("%s: expected %d hexadecimal digits: remove it, and another is made",
			path, 2*size)
	}
	return key, nil
}

// write replaces a file atomically. When it returns, the file survives a crash of the machine. If
// the disk is full it overwrites an existing file in place, within its block.
func write(path, line string) error {
	err := replace(path, line)
	if full(err) && overwrite(path, line, os.O_SYNC) == nil {
		return nil
	}
	return err
}

// overwrite writes a line, which is no shorter than the one before, within the file's block.
func overwrite(path, line string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func replace(path, line string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-new-") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no effect after the rename
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

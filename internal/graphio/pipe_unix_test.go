//go:build unix

package graphio

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipe reads pipes.
func TestPipe(t *testing.T) {
	for _, text := range []string{"1 2\n3 4\n", gz("1 2\n3 4\n"), "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n3 4\n"} {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		done := make(chan error)
		go func() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = io.WriteString(f, text)
				_ = f.Close()
			}
			done <- err
		}()
		in := mustRead(t, path, ReadOptions{})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		same(t, plainly(t, in), graph{[]uint64{1, 2, 3, 4}, [][2]uint64{{1, 2}, {3, 4}}, nil})
	}
}

// TestSilentPipe: reading stops when the context ends, even if the pipe's writer writes nothing.
func TestSilentPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(errEnough)
	if _, err := Read(ctx, path, ReadOptions{}); !errors.Is(err, errEnough) {
		t.Error(err)
	}
	_, err = Read(t.Context(), path, ReadOptions{Format: Graph500})
	wantError(t, err, path,
		"pipe: found a pipe or device, expected a regular file: it is read from several places at once")
}

var errEnough = errors.New("enough")

// TestFileOfUnknownSize reads a regular file that reports size 0 but has content, as in /proc.
func TestFileOfUnknownSize(t *testing.T) {
	const path = "/proc/self/environ"
	if _, err := os.Stat(path); err != nil || os.Getenv("PATH") == "" {
		t.Skip("there is none")
	}
	_, err := Read(t.Context(), path, ReadOptions{})
	var bad *fault
	if !errors.As(err, &bad) || bad.found == "no edges" {
		t.Errorf("error %v", err)
	}
}

// TestPipeWithoutWriter: reading a pipe without a writer stops when the context ends.
func TestPipeWithoutWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, format := range []Format{"", EL, MatrixMarket, Graph500} {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := Read(ctx, path, ReadOptions{Format: format})
			done <- err
		}()
		cancel(errEnough)
		select {
		case err := <-done:
			if !errors.Is(err, errEnough) {
				t.Errorf("format %q: %v", format, err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it waits for a writer for ever")
		}
	}
}

// TestPipeWithoutReader: writing stops when the context ends, if nobody opens the pipe for reading,
// or nobody reads from it.
func TestPipeWithoutReader(t *testing.T) {
	for _, name := range []string{"pipe", "pipe.gz", "pipe.zst"} {
		for _, opened := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), name)
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Skip(err)
			}
			if opened {
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				random := rand.NewChaCha8([32]byte{}) // incompressible
				done <- WriteFile(ctx, path, 0o666, 2, func(w io.Writer) error {
					_, err := io.CopyN(w, random, 8<<20)
					return err
				})
			}()
			cancel(errEnough)
			select {
			case err := <-done:
				if !errors.Is(err, errEnough) {
					t.Errorf("%s, opened %t: %v", name, opened, err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s, opened %t: it waits for a reader for ever", name, opened)
			}
		}
	}
}

// TestPipeWithReader writes to a pipe. The reader comes later and gets the data.
func TestPipeWithReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Create(path); err == nil || err.Error() != "cannot write "+path+
		": it is a pipe that nobody reads" {
		t.Error(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- WriteFile(t.Context(), path, 0o666, 1, func(w io.Writer) error {
			_, err := w.Write(make([]byte, 1<<20))
			return err
		})
	}()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(io.Discard, f); n != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
}

// TestSharesOfPipes: parts can be read only from a regular file, even if one worker reads all of
// it. A pipe is refused without waiting for a writer.
func TestSharesOfPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, format := range []Format{"", EL, MatrixMarket, Graph500} {
		for ranks := 1; ranks <= 2; ranks++ {
			_, err := ReadRank(ctx, path, 0, ranks, ReadOptions{Format: format})
			wantError(t, err, path,
				"pipe: found a pipe or device, expected a regular file, which all workers can read")
		}
	}
}

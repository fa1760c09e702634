package store_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

func openDir(t *testing.T, dir string) *store.Dir {
	t.Helper()
	d, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openDir(t, filepath.Join(t.TempDir(), "new", "place")) })
}

// TestLinksOut: a symbolic link in the directory cannot lead out of it.
func TestLinksOut(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	secret := filepath.Join(out, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"file": secret, "dir": out, "up": "../" + filepath.Base(out)} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	d := openDir(t, in)
	for _, name := range []string{"file", "dir/secret", "up/secret"} {
		if err := d.GetRange(t.Context(), store.Object{Name: name}, 0,
			make([]byte, 1)); err == nil {
			t.Errorf("%s was read", name)
		}
		if err := d.Put(t.Context(), name, strings.NewReader("mine"), 4); err == nil &&
			name != "file" {
			t.Errorf("%s was written", name)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "s" {
		t.Errorf("found %q, %v", data, err)
	}
	for o := range d.List(t.Context(), "") {
		if o.Name != "file" { // the link was replaced
			t.Errorf("found %q in the list", o.Name)
		}
	}
}

// TestLeftBehind: an incomplete file of a killed process is not an object. It is removed a day
// later.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	young, old := filepath.Join(dir, "a", ".new-young"), filepath.Join(dir, "a", ".new-old")
	if err := os.Mkdir(filepath.Dir(old), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{young, old} {
		if err := os.WriteFile(name, []byte("part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	if err := d.PutIfAbsent(t.Context(), "a/b", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %v, expected no file", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	for o := range d.List(t.Context(), "a/.") {
		t.Errorf("found %q in the list", o.Name)
	}
}

// TestFailedWritesLeaveNoFile: incomplete writes, and writes that lost to another, leave no file.
func TestFailedWritesLeaveNoFile(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 2 {
		if err := d.Put(ctx, "a/put", strings.NewReader("short"), 10); err == nil {
			t.Error("data that end too early were put")
		}
		if err := d.Copy(ctx, "a/copied", io.MultiReader(strings.NewReader("part"),
			iotest.ErrReader(errors.New("gone"))), 10); err == nil {
			t.Error("data that break off were put")
		}
		if err := d.Put(ctx, "a", strings.NewReader("x"), 1); err == nil {
			t.Error("an object was put in the place of a directory")
		}
		if err := d.PutIfAbsent(ctx, "a/once", []byte("mine")); (err == nil) != (i == 0) {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
	cancel()
	if err := d.Put(ctx, "a/put", strings.NewReader("late"), 4); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "once" {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNamesOutliveTheMachine: new directories and objects are synced in their parent directory, or
// there is an error. An object is reported only after the sync.
func TestNamesOutliveTheMachine(t *testing.T) {
	base := t.TempDir()
	var synced []string
	broken := errors.New("the disk is broken")
	var fails error
	defer store.SetSync(func(f *os.File) error {
		name, _ := filepath.Rel(base, f.Name())
		synced = append(synced, name)
		return fails
	})()
	fails = broken
	if _, err := store.OpenDir(filepath.Join(base, "x", "y")); !errors.Is(err, broken) {
		t.Errorf("a directory whose name may be lost: %v", err)
	}
	fails, synced = nil, nil
	d := openDir(t, filepath.Join(base, "a", "b"))
	if want := []string{"a", "."}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, expected %q", synced, want)
	}
	fails = broken
	for range 2 {
		if err := d.PutIfAbsent(t.Context(), "once", []byte("mine")); !errors.Is(err, broken) {
			t.Errorf("an object whose name may be lost: %v", err)
		}
	}
	fails = nil
	if err := d.PutIfAbsent(t.Context(), "once", []byte("mine")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an object that is there: %v", err)
	}
}

// TestModes: files of a store are private to its user. Snapshots, which roots open, get the default
// permissions of the process.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes here")
	}
	base := t.TempDir()
	places := map[string]fs.FileMode{}
	put := func(s store.Store, err error) {
		if err == nil {
			err = s.Put(t.Context(), "sub/a", strings.NewReader("x"), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		store.Close(s)
	}
	roots, err := store.NewRoots([]string{base})
	if err != nil {
		t.Fatal(err)
	}
	put(store.Open(filepath.Join(base, "own/place")))
	put(roots.Make("shared/place"))
	put((*store.Roots)(nil).Make(filepath.Join(base, "here/place")))
	places["own"] = 0o700
	places["shared"], places["here"] = 0o777, 0o777
	file := filepath.Join(base, "umask")
	if err := os.WriteFile(file, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range places {
		mode &= info.Mode().Perm()
		for _, path := range []string{name, name + "/place", name + "/place/sub", name + "/place/sub/a"} {
			want := mode
			if strings.HasSuffix(path, "/a") {
				want &= 0o666
			}
			if info, err := os.Stat(filepath.Join(base, path)); err != nil ||
				info.Mode().Perm() != want {
				t.Errorf("%s: found %v, %v, expected %v", path, info.Mode(), err, want)
			}
		}
	}
}

// TestNoDriver: a program without the S3 driver gets an error with the package to import.
func TestNoDriver(t *testing.T) {
	if _, err := store.Open("s3://bucket"); err == nil ||
		!strings.Contains(err.Error(), "superstep/drivers/s3") {
		t.Errorf("found %v", err)
	}
}

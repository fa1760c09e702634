package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRoots: names that lead out of the roots, by dots or links, cannot be opened. Names inside
// can.
func TestRoots(t *testing.T) {
	base := t.TempDir()
	put := func(path, text string) {
		full := filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("graphs/a.el", "1 2\n")
	put("graphs/deep/b.el", "1 2\n")
	put("more/c.el", "1 2\n")
	put("graphs2/d.el", "secret\n")
	put("secret", "secret\n")
	for link, to := range map[string]string{
		"graphs/within": "a.el", "graphs/up": "../secret", "graphs/abs": filepath.Join(base,
			"secret"), "graphs/dir": "..", "graphs/twice": "deep/../../secret",
		"graphs/to-more": filepath.Join(base, "more"),
	} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skip("there are no links here:", err)
		}
	}
	roots, err := NewRoots([]string{filepath.Join(base, "graphs"), filepath.Join(base, "more")})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"graphs/a.el": nil, "graphs/deep/b.el": nil, "graphs/deep/../a.el": nil, "more/c.el": nil,
		"graphs/within": nil, "graphs/../more/c.el": nil,
		"secret": ErrOutside, "graphs/../secret": ErrOutside, "graphs/up": ErrOutside,
		"graphs/abs": ErrOutside, "graphs/dir/secret": ErrOutside,
		"graphs/twice": ErrOutside, "graphs2/d.el": ErrOutside, "graphs/to-more/c.el": ErrOutside,
		"graphs/none": fs.ErrNotExist,
	} {
		path := filepath.Join(base, "x")[:len(base)+1] + name // not cleaned
		f, err := roots.OpenFile(path, os.O_RDONLY)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, expected %v", name, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
		if _, err := roots.Stat(path); !errors.Is(err, want) {
			t.Errorf("stat %s: %v, expected %v", name, err, want)
		}
		if err := roots.Check(path); (err != nil) != errors.Is(want, ErrOutside) {
			t.Errorf("check %s: %v", name, err)
		}
	}
	for _, name := range []string{"/etc/passwd", "../secret", "file:///etc/passwd", "/proc/self/environ", "/dev/zero", base, "deep/../../secret"} {
		if _, err := roots.OpenFile(name, os.O_RDONLY); !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := roots.Open(filepath.Join(base, "graphs/dir")); !errors.Is(err, ErrOutside) {
		t.Errorf("a store outside: %v", err)
	}
	if _, err := roots.Open(filepath.Join(base, "graphs/nowhere")); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	for name, want := range map[string]error{"graphs/new/place": nil, "graphs/dir/new": ErrOutside, "new": ErrOutside, "graphs/../new": ErrOutside, "graphs/to-more/new": ErrOutside} {
		made, err := roots.Make(filepath.Join(base, "x")[:len(base)+1] + name)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("make %s: %v, expected %v", name, err, want)
		}
		if err == nil {
			_ = made.(*Dir).Close()
		}
		if _, err := os.Stat(filepath.Join(base, "new")); err == nil {
			t.Errorf("%s was made outside", name)
		}
	}
	// relative to the first root
	for _, name := range []string{"a.el", "deep/b.el", "file://" + base + "/graphs/a.el", "file://localhost" + base + "/more/c.el"} {
		if err := roots.Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := roots.Stat(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"http://host/a.el", "file://host/a.el", "ftp://h/x", "master://checkpoints/x"} {
		if _, err := roots.Make(name); err == nil ||
			!strings.Contains(err.Error(), "expected a path, file:///PATH or s3://BUCKET/NAME") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Open(name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	s, err := roots.Open(filepath.Join(base, "graphs/deep"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.(*Dir).Close()
	if _, err := Stat(t.Context(), s, "b.el"); err != nil {
		t.Error(err)
	}
	if got := RootsOf(Confine(context.Background(), roots)); got != roots {
		t.Error(got)
	}
	if _, err := NewRoots([]string{filepath.Join(base, "secret")}); err == nil &&
		runtime.GOOS == "linux" {
		t.Error("a file is a root")
	}
}

// TestRootsInRoots: a root may be inside another one behind a symbolic link. Its files can be
// opened by both names.
func TestRootsInRoots(t *testing.T) {
	base := t.TempDir()
	for path, text := range map[string]string{"graphs/a.el": "1 2", "elsewhere/inner/b.el": "1 2", "elsewhere/c.el": "secret"} {
		full := filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../elsewhere", filepath.Join(base, "graphs/link")); err != nil {
		t.Skip("there are no links here:", err)
	}
	roots, err := NewRoots([]string{filepath.Join(base, "graphs"), filepath.Join(base,
		"graphs/link/inner")})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"graphs/a.el": nil, "graphs/link/inner/b.el": nil, "elsewhere/inner/b.el": nil,
		"graphs/link/inner/none": fs.ErrNotExist,
		"graphs/link/c.el":       ErrOutside, "elsewhere/c.el": ErrOutside,
		"graphs/link/inner/../c.el": ErrOutside,
	} {
		if _, err := roots.Stat(filepath.Join(base, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v, expected %v", name, err, want)
		}
	}
}

// TestRootsUnderARace: a file is replaced by a link that leads out while it is opened. The target
// of the link is never opened.
func TestRootsUnderARace(t *testing.T) {
	base := t.TempDir()
	dir, secret := filepath.Join(base, "graphs"), filepath.Join(base, "secret")
	for path, text := range map[string]string{secret: "secret", filepath.Join(dir,
		"good"): "good"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := NewRoots([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "name")
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			to := "good"
			if i%2 == 0 {
				to = secret
			}
			next := filepath.Join(dir, "next")
			if os.Symlink(to, next) == nil {
				_ = os.Rename(next, name)
			}
		}
	}()
	opened := 0
	for range 3000 {
		f, err := roots.OpenFile(name, os.O_RDONLY)
		if err != nil {
			continue
		}
		text := make([]byte, 10)
		n, _ := f.Read(text)
		if string(text[:n]) != "good" {
			t.Errorf("found %q", text[:n])
		}
		opened++
		_ = f.Close()
	}
	close(done)
	<-ended
	t.Logf("opened %d times", opened)
}

// TestHidden: hidden files cannot be opened by any name: by symbolic or hard links, below a hidden
// directory, or as a store above it.
func TestHidden(t *testing.T) {
	base := t.TempDir()
	for path, text := range map[string]string{"own/results/1/part": "1 2", "own/key": "k", "graphs/a.el": "1 2"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"graphs/link": "../own/results", "graphs/deeper": "../own/results/1"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skip("there are no links here:", err)
		}
	}
	if err := os.Link(filepath.Join(base, "own/key"),
		filepath.Join(base, "graphs/hard.el")); err != nil {
		t.Skip("there are no hard links here:", err)
	}
	roots, err := NewRoots([]string{base})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"own/results/1/part", "graphs/hard.el", "graphs/link/1/part", "graphs/deeper/part"} {
		if _, err := roots.Stat(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Chdir(base)
	roots.Hide("", filepath.Join(base, "own/results"), filepath.Join(base, "own/key"),
		filepath.Join(base, "own/later"))
	for _, name := range []string{
		"own/results", "own/results/1/part", "own/results/1", "graphs/hard.el", "own/key",
		"graphs/link/1/part", "graphs/deeper/part",
		"own/results/none", "own/later/none", "graphs/../own/key",
	} {
		if _, err := roots.OpenFile(name, os.O_RDONLY); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
		if err := roots.Check(name); !errors.Is(err, ErrOutside) {
			t.Errorf("check %s: %v", name, err)
		}
	}
	for _, name := range []string{"own", "own/later", "own/later/new", "own/results", "graphs/link/new", "."} {
		if _, err := roots.Make(name); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(base, "own/later")); err == nil {
		t.Error("own/later was made")
	}
	if _, err := roots.Stat("graphs/a.el"); err != nil {
		t.Error(err)
	}
	for secret, want := range map[string]bool{"own/key": true, "graphs/hard.el": true, "nowhere": true, "../key": false} {
		if err := roots.Hold(filepath.Join(base, secret)); (err != nil) != want {
			t.Errorf("%s: %v", secret, err)
		}
	}
}

// TestRootsOfObjects: objects can be opened only below the listed places, by whole elements of
// names. Hidden ones cannot.
func TestRootsOfObjects(t *testing.T) {
	roots, err := NewRoots([]string{"s3://all", "s3://some/graphs/"})
	if err != nil {
		t.Fatal(err)
	}
	roots.Hide("s3://all/checkpoints/")
	for name, want := range map[string]bool{
		"s3://all/x": true, "s3://all": true, "s3://all/": true, "s3://some/graphs/x": true,
		"s3://some/graphs": true, "s3://all/checkpoints2/x": true,
		"s3://some/graphs2/x": false, "s3://some/x": false, "s3://some": false,
		"s3://all2/x": false, "s3://some/graphs/../x": false,
		"s3://all/checkpoints/x": false, "s3://all/checkpoints": false,
		"s3://all/checkpoints/": false, "/etc/passwd": false, "x": false,
	} {
		if err := roots.Check(name); (err == nil) != want || err != nil &&
			!errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]bool{
		"s3://all": false, "s3://all/": false, "s3://all/checkpoints": false,
		"s3://all/checkpoints/x": false, "s3://some": false,
		"s3://all/check": true, "s3://all/other": true, "s3://some/graphs": true,
	} { // a store contains everything below it
		for does, open := range map[string]func(string) (Store, error){"open": roots.Open, "make": roots.Make} {
			if _, err := open(name); errors.Is(err, ErrOutside) == want {
				t.Errorf("%s %s: %v", does, name, err)
			}
		}
	}
	none, err := NewRoots(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s3://all/x", "/etc/passwd", "x", "/"} {
		if err := none.Check(name); !errors.Is(err, ErrOutside) ||
			!strings.Contains(err.Error(), "--data-root") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

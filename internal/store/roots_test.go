package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestRoots: names that lead out of the roots, by dots, links or links of directories, open nothing; those within do.
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
		"graphs/within": "a.el", "graphs/up": "../secret", "graphs/abs": filepath.Join(base, "secret"), "graphs/dir": "..", "graphs/twice": "deep/../../secret",
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
		"graphs/a.el": nil, "graphs/deep/b.el": nil, "graphs/deep/../a.el": nil, "more/c.el": nil, "graphs/within": nil, "graphs/../more/c.el": nil,
		"secret": ErrOutside, "graphs/../secret": ErrOutside, "graphs/up": ErrOutside, "graphs/abs": ErrOutside, "graphs/dir/secret": ErrOutside,
		"graphs/twice": ErrOutside, "graphs2/d.el": ErrOutside, "graphs/to-more/c.el": ErrOutside, "graphs/none": fs.ErrNotExist,
	} {
		path := filepath.Join(base, "x")[:len(base)+1] + name // as it is, not cleaned
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
	for _, name := range []string{"/etc/passwd", "etc/passwd", "file:///etc/passwd", "/proc/self/environ", "/dev/zero", "", ".", base} {
		if _, err := roots.OpenFile(name, os.O_RDONLY); !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := roots.Open(filepath.Join(base, "graphs/dir")); !errors.Is(err, ErrOutside) {
		t.Errorf("a store outside: %v", err)
	}
	if _, err := roots.Open(filepath.Join(base, "graphs/nowhere")); !errors.Is(err, fs.ErrNotExist) {
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
	s, err := roots.Open(filepath.Join(base, "graphs/deep"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.(*Dir).Close()
	if _, err := Stat(t.Context(), s, "b.el"); err != nil {
		t.Error(err)
	}
	if got := RootsOf(Confine(context.Background(), roots)); len(got) != 2 {
		t.Error(got)
	}
	if got := RootsOf(Confine(context.Background(), nil)); got != nil {
		t.Error(got)
	}
	if _, err := NewRoots([]string{filepath.Join(base, "secret")}); err == nil && runtime.GOOS == "linux" {
		t.Error("a file is a root")
	}
}

// TestRootsUnderARace swaps a file for a link that leads out while it is opened: what is opened is never what the link leads to.
func TestRootsUnderARace(t *testing.T) {
	base := t.TempDir()
	dir, secret := filepath.Join(base, "graphs"), filepath.Join(base, "secret")
	for path, text := range map[string]string{secret: "secret", filepath.Join(dir, "good"): "good"} {
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

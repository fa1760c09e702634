package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	files "github.com/superstep-go/superstep/internal/store"
)

// TestNamesWithCommas: object names may contain commas, even in a list. Each name is checked in the
// form in which it is opened.
func TestNamesWithCommas(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	files.Register(files.S3, func(place string) (files.Store, error) {
		d, err := files.OpenDir(filepath.Join(base, strings.TrimPrefix(place, files.S3)))
		return d, err
	})
	s, err := files.Open("s3://b")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close(s)
	for _, name := range []string{"x,y.el", "z.el"} {
		if err := s.Put(t.Context(), name, strings.NewReader("1 2\n"), 4); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := files.NewRoots([]string{dir, "s3://b"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := files.Confine(context.Background(), roots)
	for name, want := range map[string]string{
		"s3://b/x,y.el":                         "s3://b/x,y.el",
		"s3://b/z.el,s3://b/x,y.el":             "s3://b/z.el s3://b/x " + filepath.Join(dir, "y.el"),
		"s3://b/none,e.el":                      "s3://b/none " + filepath.Join(dir, "e.el"),
		"s3://c/x,y.el,s3://b/z.el":             "",
		"s3://b/x,y.el,/etc/passwd,s3://b/z.el": "",
	} {
		full, err := allowed(ctx, name)
		if got := strings.Join(graphio.Split(ctx, full), " "); err == nil && got != want ||
			(err != nil) != (want == "") {
			t.Errorf("%s: found %q, %v, expected %q", name, got, err, want)
		}
	}
}

// TestOwnTokensUnderOtherNames: the tokens that masters of this machine made are not served under
// other names of their files. A worker may know several masters.
func TestOwnTokensUnderOtherNames(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	o := Config{Worker: daemon.Worker{Process: daemon.Process{Registry: engine.Registry{}}}}
	o.Master, o.DataRoots = "127.0.0.1:7709, 127.0.0.1:7710,[::1]:7711", []string{t.TempDir()}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	for i, address := range control.Addresses(o.Master) {
		token, err := control.OwnFile(address)
		if err == nil && i > 0 { // the worker has made the first one
			err = os.WriteFile(token, []byte("secret"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(o.DataRoots[0], fmt.Sprintf("graph%d.el", i))
		if err := os.Link(token, other); err != nil {
			t.Skip("there are no hard links here:", err)
		}
		if _, err := o.roots.OpenFile(other, os.O_RDONLY); !errors.Is(err, files.ErrOutside) {
			t.Errorf("%s: found %v, expected that the token cannot be read", address, err)
		}
	}
}

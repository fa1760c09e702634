//go:build unix

package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMakeDirInWhatCannotBeRead: a user creates directories in one that this user can write but not
// read. Root can read everything, so it runs the test as another user.
func TestMakeDirInWhatCannotBeRead(t *testing.T) {
	const variable = "SUPERSTEP_TEST_UNREADABLE"
	in := os.Getenv(variable)
	if in == "" {
		in = filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(in, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(in, 0o333); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		for _, above := range []string{filepath.Dir(in), filepath.Dir(filepath.Dir(in))} {
			if err := os.Chmod(above, 0o711); err != nil {
				t.Fatal(err)
			}
		}
		self, err := os.Executable()
		var program []byte
		if err == nil {
			program, err = os.ReadFile(self)
		}
		copied := filepath.Join(filepath.Dir(in), "test")
		if err = errors.Join(err, os.WriteFile(copied, program, 0o755)); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(copied, "-test.run=^"+t.Name()+"$")
		c.Env, c.Dir = append(os.Environ(), variable+"="+in), "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("as another user: %v\n%s", err, text)
		}
		return
	}
	if _, err := os.Open(in); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("found %v, expected that %s cannot be read", err, in)
	}
	made, err := MakeDir(filepath.Join(in, "data", "state"), 0o700)
	if err != nil || made != filepath.Join(in, "data") {
		t.Errorf("found %q, %v", made, err)
	}
	defer func(was func(*os.File) error) { syncFile = was }(syncFile)
	for name, broken := range map[string]error{"other": errors.New("input/output error"), "denied": syscall.EPERM} {
		syncFile = func(*os.File) error { return broken }
		if _, err := MakeDir(filepath.Join(in, name, "state"), 0o700); !errors.Is(err, broken) {
			t.Errorf("found %v, expected the error of the sync", err)
		}
	}
}

package buildinfo

import (
	"debug/elf"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// knownID returns a binary's id from its ELF section. On other systems it asks the go command,
// which first compiles its tool buildid.
func knownID(path string) (string, error) {
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		note, err := f.Section(".note.go.buildid").Data()
		return strings.TrimRight(string(note[min(16, len(note)):]), "\x00"), err
	}
	out, err := exec.Command("go", "tool", "buildid", path).Output()
	return strings.TrimSpace(string(out)), err
}

// TestBuildID: the id equals the one of the go command. A file without an id has none.
func TestBuildID(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := knownID(path)
	if err != nil {
		t.Skip(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := buildID(data[:32<<10]); got == "" || got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
	line := "MZ and so on\xff Go build ID: \"a/b\"\n \xff"
	for head, want := range map[string]string{line: "a/b", "": "", "none": "", "\x04\x00\x00\x00\xff\x00\x00\x00\x04\x00\x00\x00Go\x00\x00cut": ""} {
		if got := buildID([]byte(head)); got != want {
			t.Errorf("%q: found %q, expected %q", head, got, want)
		}
	}
}

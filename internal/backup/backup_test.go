package backup_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/backup"
)

var header = backup.Header{Format: 3, Created: time.Unix(1e9,
	0).UTC(), Version: "v", Run: 7, Jobs: 1, Graphs: 2, Results: 3, Columns: 4}

// archive returns a backup of two files.
func archive(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a": "some text", "b/c": strings.Repeat("x", 2000)} {
		if err := w.Add(name, int64(len(text)), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRoundTrip extracts what was written.
func TestRoundTrip(t *testing.T) {
	data, dir := archive(t), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h, err := backup.Extract(bytes.NewReader(data), root, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*h, header) {
		t.Errorf("found %v, expected %v", *h, header)
	}
	for name, want := range map[string]string{"a": "some text", "b/c": strings.Repeat("x", 2000)} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: found %d bytes (%v), expected %d", name, len(got), err, len(want))
		}
	}
	if _, err := backup.Extract(bytes.NewReader(data), root, func(name string) bool { return name != "b/c" }); err == nil {
		t.Error("a name that does not belong there was taken")
	}
}

// TestWriterWantsAllBytes: a file with fewer bytes than announced is an error.
func TestWriterWantsAllBytes(t *testing.T) {
	w, err := backup.NewWriter(io.Discard, header)
	if err == nil {
		err = w.Add("a", 10, strings.NewReader("short"))
	}
	if err == nil {
		t.Error("a file that is cut short was added")
	}
}

// TestDamageIsFound changes a byte of a file, a name or a checksum, and cuts the archive at any
// block.
func TestDamageIsFound(t *testing.T) {
	data := archive(t)
	at := map[string]int{}
	for _, text := range []string{"some text", "xxxx", `"run": 7`, "a\n", "b/c"} {
		at[text] = bytes.Index(data, []byte(text))
		if at[text] < 0 {
			t.Fatalf("%q is not in it", text)
		}
	}
	for text, i := range at {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1
		if _, err := backup.Verify(bytes.NewReader(damaged)); err == nil {
			t.Errorf("a changed byte of %q is not found", text)
		}
	}
	end := bytes.LastIndex(data, []byte("SHA256SUMS"))
	for n := 0; n <= end; n += 97 {
		if _, err := backup.Verify(bytes.NewReader(data[:n])); err == nil {
			t.Errorf("a cut after %d of %d bytes is not found", n, len(data))
		}
	}
}

// TestFormatOfBefore: a backup in another form is refused at its header.
func TestFormatOfBefore(t *testing.T) {
	data := bytes.Replace(archive(t), []byte(`"format": 3`), []byte(`"format": 2`), 1)
	want := "found a backup of format 2, expected 3: use the version that wrote it"
	if _, err := backup.Verify(bytes.NewReader(data)); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("found %v, expected %s", err, want)
	}
}

// TestStrangers: entries other than files below the directory are refused, even with right
// checksums.
func TestStrangers(t *testing.T) {
	for _, e := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "../up"},
		{Typeflag: tar.TypeReg, Name: "/abs"},
		{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc"},
		{Typeflag: tar.TypeDir, Name: "dir"},
		{Typeflag: tar.TypeReg, Name: "a\nb"},
		{Typeflag: tar.TypeReg, Name: "superstep-backup.json"},
	} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		first := []byte(`{"format":3}`)
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "superstep-backup.json", Size: int64(len(first))})
		if err == nil {
			_, err = w.Write(first)
		}
		if err == nil {
			err = w.WriteHeader(&e)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Verify(&out); err == nil ||
			!strings.Contains(err.Error(), "found the entry") {
			t.Errorf("%s: found %v", e.Name, err)
		}
	}
}

// FuzzVerify: for any bytes, verification ends, and a complete archive has the written files.
func FuzzVerify(f *testing.F) {
	f.Add(archive(f), uint16(3), byte(1))
	f.Add([]byte("no archive"), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, by byte) {
		if len(data) > 0 {
			data[int(at)%len(data)] ^= by
		}
		seen := map[string]string{}
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		_, err = backup.Extract(bytes.NewReader(data), root,
			func(name string) bool { seen[name] = ""; return len(seen) < 5 })
		if err == nil && len(seen) > 5 {
			t.Error(fmt.Sprint(seen))
		}
	})
}

package graphio

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestTruncated cuts compressed files at every byte, including the first. No cut file may be read
// as a shorter graph.
func TestTruncated(t *testing.T) {
	text := ""
	for i := range 40 {
		text += fmt.Sprintf("%d %d\n", i, i*i%41)
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"a.el.gz": gz(text), "a.el.zst": zst(text)} {
		for n := range len(data) {
			path := putIn(t, dir, name, data[:n])
			if in, err := read(path, 64, ReadOptions{}); err == nil {
				t.Fatalf("%s: %d of %d bytes read as %d edges", name, n, len(data), in.Edges.Len())
			} else if !strings.HasPrefix(err.Error(), path+": found ") {
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(data), err)
			}
		}
		if _, err := read(putIn(t, dir, name, data), 64, ReadOptions{}); err != nil {
			t.Error(err)
		}
	}
	path := putIn(t, dir, "a.el.gz", gz(text)[:60])
	_, err := read(path, pieceSize, ReadOptions{})
	wantError(t, err, path,
		"a.el.gz: found the end of the file within gzip data, expected the rest of it")
	path = putIn(t, dir, "a.el.gz", "")
	_, err = read(path, pieceSize, ReadOptions{})
	wantError(t, err, path, "a.el.gz: found a file of 0 bytes, expected gzip data")
}

// TestFlipped flips each bit. The result is an error, or the same graph if the bit has no meaning,
// as in a time stamp.
func TestFlipped(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := strings.Repeat("1 2\n3 4\n1 9\n", 50)
	want := plainly(t, mustRead(t, put(t, "a.el", text), ReadOptions{}))
	dir := t.TempDir()
	for range 150 {
		data := []byte(gz(text))
		bit := rng.IntN(8 * len(data))
		data[bit/8] ^= 1 << (bit % 8)
		in, err := read(putIn(t, dir, "a.el.gz", string(data)), 64, ReadOptions{})
		if err == nil {
			same(t, plainly(t, in), want)
			in.Close()
		}
	}
	data := []byte(gz(text))
	data[len(data)-6] ^= 1
	path := putIn(t, dir, "a.el.gz", string(data))
	_, err := read(path, pieceSize, ReadOptions{})
	wantError(t, err, path,
		"a.el.gz: found corrupt gzip data (gzip: invalid checksum), expected a whole file")
}

func TestMembers(t *testing.T) {
	one, two := "1 2\n3 ", "4\n5 6"
	want := plainly(t, mustRead(t, put(t, "a.el", one+two), ReadOptions{}))
	skippable := "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
	for _, data := range []string{
		gz(one) + gz(two), gz(one) + gz("") + gz(two),
		gz(one) + strings.Repeat(gz(""), 200) + gz(two), zst(one) + zst(two), skippable + zst(one) +
			skippable + zst(two),
	} {
		for _, piece := range []int{1, 5, pieceSize} {
			in, err := read(put(t, "a.el", data), piece, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, plainly(t, in), want)
		}
	}
	path := put(t, "a.el", gz(one)+"trailing rubbish")
	_, err := read(path, pieceSize, ReadOptions{})
	wantError(t, err, path,
		"a.el: found something else after the gzip data, expected the end of the file, or more gzip data")
	other := "something else after the gzip data, expected the end of the file, or more gzip data"
	for extra, found := range map[string]string{
		"12345678901234567890": other, "x": other, "\x1f\x00": other, "\x00\x00\x00": other,
		gzipMagic + "xxxxxxxxx": other,
		// reported as truncated gzip data
		"\x1f":           "the end of the file within gzip data, expected the rest of it",
		gzipMagic + "\b": "the end of the file within gzip data, expected the rest of it",
	} {
		path := put(t, "a.el", gz(one)+gz(two)+extra)
		_, err := read(path, 5, ReadOptions{})
		wantError(t, err, path, "a.el: found "+found)
	}
	for data, want := range map[string]string{
		gzipMagic + "\x00" + gz(one)[3:]: "corrupt gzip data (gzip: invalid header)",
		xzMagic[:5] + "\x01 no stream":   "corrupt xz data (xz: file format not recognized)",
	} { // not after other data
		path = put(t, "a.el", data)
		_, err = read(path, pieceSize, ReadOptions{})
		wantError(t, err, path, "a.el: found "+want+", expected a whole file")
	}
	path = put(t, "a.el", gz(one)+gz(two)[:5])
	_, err = read(path, pieceSize, ReadOptions{})
	wantError(t, err, path,
		"a.el: found the end of the file within gzip data, expected the rest of it")
	path = put(t, "a.el", zst(one)+"trailing rubbish")
	_, err = read(path, pieceSize, ReadOptions{})
	wantError(t, err, path,
		"a.el: found something else after the zstd data, expected the end of the file, or more zstd data")
}

// TestBomb reads files that expand beyond the limit. They are refused before the memory is
// allocated.
func TestBomb(t *testing.T) {
	text := strings.Repeat("1 2\n", 1<<18)
	for name, data := range map[string]string{"a.el.gz": strings.Repeat(gz(text),
		200), "a.el.zst": strings.Repeat(zst(text), 200)} {
		path := put(t, name, data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(t.Context(), path, ReadOptions{MaxExpand: 100_000})
		runtime.ReadMemStats(&after)
		wantError(t, err, path,
			fmt.Sprintf("%s: found more than 100,000 bytes when expanded, expected at most that: the limit on expansion for a file of %s",
				name, Counted(len(data), "byte")))
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
			t.Errorf("%s: %d bytes allocated", name, grown)
		}
		path = put(t, name, data[:len(data)/200])
		if _, err := Read(t.Context(), path, ReadOptions{MaxExpand: int64(len(text))}); err != nil {
			t.Error(err)
		}
	}
	// requests a window of 2 TiB
	path := put(t, "window.zst", "\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00")
	_, err := Read(t.Context(), path, ReadOptions{})
	wantError(t, err, path,
		"window.zst: found corrupt zstd data (window size exceeded), expected a whole file")
}

// TestChangedFile changes a file while it is read.
func TestChangedFile(t *testing.T) {
	text := strings.Repeat("1 2\n", 1000)
	tests := []struct {
		name, text string
		change     func(path string) error
		want       string
	}{
		{"a.el", text, func(path string) error { return os.Truncate(path, 3000) }, "a.el: found 3,000 bytes while it was read, expected the 4,000 bytes it had when it was opened"},
		{"a.el", text, os.Remove, "a.el: found no file any more while it was read, expected the 4,000 bytes it had when it was opened"},
		{"a.el", text, func(path string) error { return os.Truncate(path, 5000) }, "a.el: found 5,000 bytes while it was read, expected the 4,000 bytes it had when it was opened"},
		{
			"a.el", text, func(path string) error {
				return os.Chtimes(path, time.Time{}, time.Unix(1e9, 0))
			},
			"a.el: found a new time of change while it was read, expected the 4,000 bytes it had when it was opened",
		},
		{
			"a.el", text, func(path string) error {
				return os.Rename(putIn(t, filepath.Dir(path), "b", text), path)
			},
			"a.el: found another file while it was read, expected the 4,000 bytes it had when it was opened",
		},
		{
			"a.el", gz(text) + gz(text),
			func(path string) error { return os.Truncate(path, int64(len(gz(text)))) },
			fmt.Sprintf("a.el: found %d bytes while it was read, expected the %d bytes it had when it was opened", len(gz(text)), 2*len(gz(text))),
		},
	}
	for _, test := range tests {
		path := put(t, test.name, test.text)
		calls, changed := 0, false
		r := newReader(ReadOptions{Progress: func(done, total int64) {
			if calls++; !changed && (calls == 2 || done == total) {
				changed = true
				if err := test.change(path); err != nil {
					t.Error(err)
				}
			}
		}}, 256)
		_, err := r.read(t.Context(), path)
		wantError(t, err, path, test.want)
	}
}

package graphio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDigest: a changed byte is found in any block if all blocks are read, and with some keys if
// not. In a file of a few blocks it is always found. One of every 16 blocks is read.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "g.el"), filepath.Join(dir, "other.el")
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digestOf := func(path string, size int, key uint64, all bool) Digest {
		t.Helper()
		found := Digests(t.Context(), path, "", "", key, all, nil)
		if len(found) != 1 || found[0].Err != "" || found[0].Size != int64(size) {
			t.Fatalf("found %+v", found)
		}
		return found[0]
	}
	for _, blocks := range []int{1, 16, 70} {
		text := bytes.Repeat([]byte("12 34567\n"), blocks*digestBlock/9)
		write(path, text)
		for _, at := range []int{0, len(text) / 2, len(text) - 2} {
			changed := bytes.Clone(text)
			changed[at] ^= 1
			write(other, changed)
			differs := func(key uint64, all bool) bool {
				return digestOf(path, len(text), key,
					all).Differs(digestOf(other, len(text), key, all)) != ""
			}
			found := 0
			const keys = 24
			for key := range uint64(keys) {
				if differs(key, false) {
					found++
				}
			}
			if blocks <= sampledOf && found < keys || found == 0 || blocks > sampledOf &&
				found == keys {
				t.Errorf("%d blocks, byte %d: %d of %d keys find it", blocks, at, found, keys)
			}
			if !differs(1, true) {
				t.Errorf("%d blocks, byte %d: it is not found though all are read", blocks, at)
			}
		}
		if n := len(sampled(int64(len(text)), 7, false)); blocks > sampledOf && n != 5 {
			t.Errorf("%d of %d blocks are read", n, blocks)
		}
	}
	for size, want := range map[int64]int{wholeSize: wholeSize / digestBlock, wholeSize + 1: 5} {
		if n := len(sampled(size, 7, false)); n != want {
			t.Errorf("of %d bytes %d blocks are read, expected %d", size, n, want)
		}
	}
	if found := Digests(t.Context(), path+"x", "", "", 1, false, nil); len(found) != 1 ||
		found[0].Err == "" {
		t.Errorf("of a file that is not there: %+v", found)
	}
}

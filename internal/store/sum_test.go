package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/superstep-go/superstep/internal/store"
)

// TestSum: truncated, extended or changed bytes are detected, whatever the size of reads.
func TestSum(t *testing.T) {
	const text = "31250 lines"
	var sum store.Sum
	_, _ = io.WriteString(&sum, text[:5])
	_, _ = io.WriteString(&sum, text[5:])
	for found, whole := range map[string]bool{text: true, "": false, text[:10]: false, text + "x": false, "31251 lines": false} {
		for _, from := range []io.Reader{strings.NewReader(found), iotest.OneByteReader(strings.NewReader(found)), iotest.DataErrReader(strings.NewReader(found))} {
			got, err := io.ReadAll(sum.Check("a/b", from))
			if whole && (err != nil || string(got) != text) || !whole &&
				(!errors.Is(err, store.ErrDamaged) ||
					!strings.HasPrefix(err.Error(), "a/b: found ")) {
				t.Errorf("%q: found %q, %v", found, got, err)
			}
		}
	}
}

// TestSeal: each changed or missing byte is detected.
func TestSeal(t *testing.T) {
	sealed := store.Seal([]byte(`{"what":"submit"}`))
	if err := store.Unseal(sealed); err != nil {
		t.Fatalf("%s: %v", sealed, err)
	}
	other := store.Seal([]byte(`{"what":"cancel"}`))
	at := bytes.LastIndexByte(sealed, ':')
	want := fmt.Sprintf("found CRC-32C %s, expected %s: it is damaged", other[at+2:at+10],
		sealed[at+1:at+11])
	err := store.Unseal(bytes.Replace(sealed, []byte("submit"), []byte("cancel"), 1))
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("found %v, expected %s", err, want)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		for _, damaged := range [][]byte{changed, sealed[:i]} {
			if err := store.Unseal(damaged); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: %v", damaged, err)
			}
		}
	}
}

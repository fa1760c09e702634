package master

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
)

// TestMergeLines distributes random lines to parts. Merging returns the sorted lines.
func TestMergeLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := random.IntN(200)
		parts := make([][]string, 1+random.IntN(6))
		var all []string
		for id := range n {
			line := fmt.Sprintf("%d %s\n", id*id, strings.Repeat("x", random.IntN(3)))
			if id == 7 {
				// larger than a buffer
				line = fmt.Sprintf("%d %s\n", id*id, strings.Repeat("long", 50_000))
			}
			all = append(all, line)
			p := random.IntN(len(parts))
			parts[p] = append(parts[p], line)
		}
		var readers []io.Reader
		for _, p := range parts {
			readers = append(readers, strings.NewReader(strings.Join(p, "")))
		}
		var out bytes.Buffer
		if err := mergeLines(&out, readers); err != nil || out.String() != strings.Join(all, "") {
			t.Fatalf("%d lines in %d parts: %v", n, len(parts), err)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"2 x\n1 y\n": "part 0 is not sorted: 1 follows 2", "2 x": "ends within a line",
		"x\n": "expected an id and a value", "\n": "expected an id",
		"1 " + strings.Repeat("y", maxLine) + "\n": "a line of more than",
	} {
		err := mergeLines(io.Discard, []io.Reader{strings.NewReader(text), strings.NewReader("")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: found %v, expected %q", text, err, want)
		}
	}
}

// TestDamageIsNamed: if a part changes after it was checked, the error reports damage, whatever the
// changed line is.
func TestDamageIsNamed(t *testing.T) {
	good, bad := "1 0.5\n3 0.5\n", "1 0.5\n3!0.5\n"
	var sum store.Sum
	_, _ = sum.Write([]byte(good))
	parts := []io.Reader{sum.Check("part-00000",
		strings.NewReader(bad)), strings.NewReader("2 0.5\n")}
	err := passLines(io.Discard, parts, linesByID)
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "part-00000") {
		t.Errorf("found %v", err)
	}
}

// TestResultOffset reads a result from every offset.
func TestResultOffset(t *testing.T) {
	r, err := newResults(t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	_, sums := r.made(t, "aaaa-1", "1 a\n4 d\n", "2 b\n3 c\n")
	f, err := r.local.result(t.Context(), "aaaa-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []partOrder{linesByID, linesByPart, asTheyAre} {
		want := "1 a\n2 b\n3 c\n4 d\n"
		if order != linesByID {
			want = "1 a\n4 d\n2 b\n3 c\n"
		}
		for from := range len(want) + 2 {
			var got []byte
			err := f.read(t.Context(), sums, order, &rest{
				uint64(from),
				func(data []byte) error { got = slices.Concat(got, data); return nil },
			})
			if err != nil || string(got) != want[min(from, len(want)):] {
				t.Errorf("from %d: %q, %v", from, got, err)
			}
		}
	}
}

// TestResultOfNames: lines are sorted by the ids before the names. The ids are removed.
func TestResultOfNames(t *testing.T) {
	r, err := newResults(t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	_, sums := r.made(t, "aaaa-1", "1\tAda\t0.5\n40\t東京\tRue de Rivoli\n", "",
		"2\t\"a\\tb\"\t3\n18446744073709551615\tz\t1\n")
	f, err := r.local.result(t.Context(), "aaaa-1")
	if err != nil {
		t.Fatal(err)
	}
	for order, want := range map[partOrder]string{
		linesByID:   "Ada\t0.5\n\"a\\tb\"\t3\n東京\tRue de Rivoli\nz\t1\n",
		linesByPart: "Ada\t0.5\n東京\tRue de Rivoli\n\"a\\tb\"\t3\nz\t1\n",
	} {
		for from := range len(want) + 1 {
			var got []byte
			err := f.read(t.Context(), sums, order, &rest{
				uint64(from),
				func(data []byte) error { got = slices.Concat(got, data); return nil },
			})
			if err != nil || string(got) != want[from:] {
				t.Errorf("order %d from %d: %q, %v", order, from, got, err)
			}
		}
	}
}

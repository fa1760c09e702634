package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	var out bytes.Buffer
	for _, ends := range [][2]string{{"cold", "warm"}, {"cold", "cold"}, {"éons", "eons"}, {"cold", "ends"}} {
		if err := run(context.Background(), "testdata/words", ends[0], ends[1], &out); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/words.golden"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("found:\n%s\nexpected:\n%s", &out, want)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"cold", "colds", "cold and colds are not of one length"},
		{"cold", "hotx", `testdata/words: "hotx" is not in the list`},
		{"Cord", "warm", `testdata/words: "Cord" is not in the list`},
	} {
		err := run(context.Background(), "testdata/words", c.from, c.to, &bytes.Buffer{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s to %s: found %v, expected %s", c.from, c.to, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"cold\nwarm cold\n", `list:2: found "warm cold", expected one word in UTF-8`},
		{"cold\n\n\xff\n", `list:3: found "\xff", expected one word in UTF-8`},
		{"cold\n" + strings.Repeat("x", 1<<20), "list:2: bufio.Scanner: token too long"},
	} {
		if _, err := readWords("list", strings.NewReader(c.text), 4); err == nil ||
			err.Error() != c.want {
			t.Errorf("found %v, expected %s", err, c.want)
		}
	}
}

// TestJoin compares join with a comparison of every pair.
func TestJoin(t *testing.T) {
	words := []string{"aab", "aac", "abb", "bab", "bbb", "cab", "éab"}
	joined := map[[2]uint64]int{}
	for _, e := range join(words) {
		joined[[2]uint64{e.From, e.To}]++
	}
	for i, a := range words {
		for j, b := range words[:i+1] {
			ra, rb, differ := []rune(a), []rune(b), 0
			for k := range ra {
				if ra[k] != rb[k] {
					differ++
				}
			}
			want := 0
			if differ < 2 {
				want = 1
			}
			if got := joined[[2]uint64{uint64(j), uint64(i)}]; got != want {
				t.Errorf("%s and %s: %d edges, expected %d", a, b, got, want)
			}
		}
	}
}

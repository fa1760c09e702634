package escape_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/escape"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"plain, ä, \u3000 and 漢字 e\u0301": "plain, ä, \u3000 and 漢字 e\u0301",
		"\x1b[31mEVIL\x1b]0;t\a":          `\x1b[31mEVIL\x1b]0;t\a`,
		"row\nforged\ttoo\r":              `row\nforged\ttoo\r`,
		"\u009b2J\x9b2J\x7f":              `\u009b2J\x9b2J\x7f`,
		"a\u202egnp.exe\u2066\u200d":      `a\u202egnp.exe\u2066\u200d`,
		"\u2028\u2029\ufeff\U000e0041":    `\u2028\u2029\ufeff\U000e0041`,
		"\ufffd":                          "\ufffd",
	} {
		if found := escape.Text(text, escape.Most); found != want {
			t.Errorf("%q: found %q, expected %q", text, found, want)
		}
	}
	if found := escape.Lines("plain\tand\nlines\r\x1b"); found != "plain\tand\nlines\\r\\x1b" {
		t.Errorf("found %q", found)
	}
}

// TestBound: a text of any length is shortened to the limit, without cutting an escape sequence.
func TestBound(t *testing.T) {
	for most := 3; most < 20; most++ {
		found := escape.Text(strings.Repeat("\x1b", 1<<20), most)
		if want := strings.Repeat(`\x1b`, (most-3)/4) + "..."; found != want {
			t.Errorf("%d: found %q, expected %q", most, found, want)
		}
	}
	if found := escape.Text("abcd", 4); found != "abcd" {
		t.Errorf("found %q", found)
	}
}

func TestPrintf(t *testing.T) {
	var b strings.Builder
	escape.Printf(&b, "%s\t%v\t%d\n", "a\nb", errors.New("c\td"), 7)
	escape.Printf(&b, "%s", strings.Repeat("x", 1<<20))
	if want := "a\\nb\tc\\td\t7\n" + strings.Repeat("x", escape.Most-3) +
		"..."; b.String() != want {
		t.Errorf("found %q", b.String())
	}
}

// FuzzWriter: however a text is split into writes, the terminal shows all of it and executes no
// escape sequence in it.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("a\x1b[31m\xe2\x80\xaeb\n\x9b"), 3)
	f.Add([]byte("\xf0\x9f\x98\x80\xf0\x9f"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		var b strings.Builder
		w := &escape.Writer{To: &b}
		for rest := text; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			if found, err := w.Write(rest[:n]); err != nil || found != n {
				t.Fatal(found, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.String() != escape.Lines(string(text)) || !utf8.ValidString(b.String()) {
			t.Errorf("found %q, expected %q", b.String(), escape.Lines(string(text)))
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("found %q", b.String())
		}
	})
}

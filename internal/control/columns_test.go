package control

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestColumnsFit: in a table that is too wide, words are shortened, but not names in the first
// column or numbers. Tables that fit, and texts without a limit, stay unchanged.
func TestColumnsFit(t *testing.T) {
	const text = "a remark that is longer than the terminal and no table\n" +
		"JOB\tPROGRAM\tGRAPH\tSUPERSTEPS\t\n" +
		"3f2a-1234\tpagerank\tkronecker:scale=18\t12345678\twhy it failed\n" +
		"3f2a-1235\tbfs\tg\t7\t\n" +
		"\nOWNER\tRUN\t\nme\t1 of 2\t\n"
	for width, want := range map[int]string{
		0: "a remark that is longer than the terminal and no table\n" +
			"JOB        PROGRAM   GRAPH               SUPERSTEPS\n" +
			"3f2a-1234  pagerank  kronecker:scale=18  12345678    why it failed\n" +
			"3f2a-1235  bfs       g                   7\n" +
			"\nOWNER  RUN\nme     1 of 2\n",
		40: "a remark that is longer than the terminal and no table\n" +
			"JOB        PROGRAM   GRAPH     SUPERST…\n" +
			"3f2a-1234  pagerank  kroneck…  12345678  why it failed\n" +
			"3f2a-1235  bfs       g         7\n" +
			"\nOWNER  RUN\nme     1 of 2\n",
	} {
		if got := Columns(text, width); got != want {
			t.Errorf("%d columns: found\n%s\nexpected\n%s", width, got, want)
		}
	}
	const wide = "NAME\tSTATE\t\n漢字\tready\t\ncafé\t漢字漢字\t\n"
	for width, want := range map[int]string{
		0:  "NAME  STATE\n漢字  ready\ncafé  漢字漢字\n",
		11: "NAME  STATE\n漢字  ready\ncafé  漢字…\n",
	} {
		if got := Columns(wide, width); got != want {
			t.Errorf("%d columns: found\n%s\nexpected\n%s", width, got, want)
		}
	}
	for line := range strings.Lines(Columns("A\tB\tC\t\na\t"+strings.Repeat("b", 500)+"\t"+
		strings.Repeat("c", 90)+"\t\n", 20)) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 20 {
			t.Errorf("found %d characters: %s", n, line)
		}
	}
}

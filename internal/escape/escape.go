// Package escape makes untrusted text, such as names, paths, reasons and log lines, safe to print:
// control characters become visible escapes, so that a terminal or a log does not obey them.
package escape

import (
	"fmt"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Most is the limit for the bytes of a text in a table, and within a line of other text.
const Most = 1024

// Text returns a text as one line of at most most bytes (at least 3). It replaces control
// characters, line ends, direction marks and invalid UTF-8 by Go's escapes.
func Text(s string, most int) string {
	var b []byte
	fits := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b, s = appendRune(b, r, s[:size], ""), s[size:]
		switch {
		case len(b) > most:
			return string(b[:fits]) + "..."
		case len(b) <= most-len("..."):
			fits = len(b)
		}
	}
	return string(b)
}

// Lines is Text for several lines. It keeps line ends and tabs, and does not shorten the text.
func Lines(s string) string {
	var b []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b, s = appendRune(b, r, s[:size], "\n\t"), s[size:]
	}
	return string(b)
}

// appendRune appends a character. It appends the escape instead, unless the character is printable
// or in stay.
func appendRune(b []byte, r rune, raw, stay string) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Appendf(b, `\x%02x`, raw[0])
	case len(stay) > 0 && (r == rune(stay[0]) || r == rune(stay[1])):
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		quoted := strconv.QuoteRuneToASCII(r)
		return append(b, quoted[1:len(quoted)-1]...)
	}
	return append(b, raw...)
}

// Printf is fmt.Fprintf, but applies Text with the limit [Most] to each argument that is a string
// or an error. It ignores errors in writing, as tabwriter does.
func Printf(w io.Writer, format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = Text(a, Most)
		case error:
			args[i] = Text(a.Error(), Most)
		}
	}
	fmt.Fprintf(w, format, args...)
}

// Writer escapes all that is written to it, except line ends and tabs, and writes it to To.
type Writer struct {
	To   io.Writer
	part []byte // the first bytes of an incomplete character
}

func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.part, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	w.part = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(w.To, Lines(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the bytes of a character that was never completed.
func (w *Writer) Close() error {
	_, err := io.WriteString(w.To, Lines(string(w.part)))
	w.part = nil
	return err
}

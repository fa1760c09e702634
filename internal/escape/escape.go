// Package escape writes text that came from others, such as names, paths, reasons and log lines, so
// that a terminal and a log show it and do not obey it.
package escape

import (
	"fmt"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Most bounds the bytes of a text in a table, and in a line of other text.
const Most = 1024

// Text returns a text in one line of at most so many bytes, 3 or more. Go's escapes stand for what
// a terminal obeys or does not show: control characters, ends of lines, marks of direction, and
// bytes that are no UTF-8.
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

// Lines is Text for a text of several lines, whose tabs stay, too. It is not cut.
func Lines(s string) string {
	var b []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b, s = appendRune(b, r, s[:size], "\n\t"), s[size:]
	}
	return string(b)
}

// appendRune appends a character, or its escape unless it is one of those that stay.
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

// Printf is fmt.Fprintf with the Text of each argument that is a string or an error, in at most
// [Most] bytes. An error in writing is lost, as that of a tabwriter.
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

// Writer is a terminal that obeys nothing of what is written to it but ends of lines and tabs.
type Writer struct {
	To   io.Writer
	part []byte // of a character
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

// Close writes what has come of a character that never ended.
func (w *Writer) Close() error {
	_, err := io.WriteString(w.To, Lines(string(w.part)))
	w.part = nil
	return err
}

package graphio

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonDepth is the maximum nesting of values that are skipped.
const jsonDepth = 64

// jsonCursor scans the JSON text of a line (RFC 8259) without building values. It keeps the first
// fault, and then reads nothing more.
type jsonCursor struct {
	text []byte // the rest
	all  []byte
	bad  *fault
}

// newJSONCursor begins to read a line. For a line of blanks the cursor has no text.
func newJSONCursor(line []byte) jsonCursor {
	text := trimLine(line)
	return jsonCursor{text: text, all: line[:offsetIn(line, text)+len(text)]}
}

// column returns the cursor's column in the text, from 1.
func (c *jsonCursor) column() int { return len(c.all) - len(c.text) + 1 }

// fail ends reading with a fault, unless there is one already.
func (c *jsonCursor) fail(bad *fault) {
	if c.bad == nil {
		c.bad, c.text = bad, nil
	}
}

// want fails with a fault at the cursor.
func (c *jsonCursor) want(expected string) {
	c.space()
	found := quote(c.text)
	if len(c.text) == 0 {
		found = "the end of the line after " + quote(tail(c.all))
	}
	c.fail(wrong(found, expected).inColumn(c.column()))
}

// tail returns the end of a text, for an error.
func tail(text []byte) []byte { return text[max(len(text)-40, 0):] }

func (c *jsonCursor) space() {
	for len(c.text) > 0 &&
		(c.text[0] == ' ' || c.text[0] == '\t' || c.text[0] == '\r' || c.text[0] == '\n') {
		c.text = c.text[1:]
	}
}

// next returns the next byte that is not a blank, or 0 at the end.
func (c *jsonCursor) next() byte {
	if len(c.text) > 0 && c.text[0] > ' ' {
		return c.text[0]
	}
	c.space()
	if len(c.text) == 0 {
		return 0
	}
	return c.text[0]
}

// take consumes a byte if it is the next that is not a blank.
func (c *jsonCursor) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.text = c.text[1:]
	return true
}

// expect consumes a byte, which must be the next that is not a blank.
func (c *jsonCursor) expect(b byte, expected string) {
	if !c.take(b) {
		c.want(expected)
	}
}

// more iterates over elements separated by commas, after the opening bracket. It reports whether
// there is another element. first must be true only in the first call. It consumes the closing
// bracket.
func (c *jsonCursor) more(closing byte, first bool) bool {
	if c.take(closing) {
		return false
	}
	if !first && !c.take(',') {
		c.want("a comma or " + string(closing))
	}
	return c.bad == nil
}

// string reads a string. The result is a part of the line or, if something in it is escaped, newly
// allocated.
func (c *jsonCursor) string() []byte {
	if c.next() != '"' {
		c.want("a string")
		return nil
	}
	body := c.text[1:]
	end := bytes.IndexByte(body, '"')
	plain := end >= 0
	for _, b := range body[:max(end, 0)] {
		if b == '\\' || b < ' ' || b >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		c.text = body[end+1:]
		return body[:end]
	}
	for end = 0; end < len(body) && body[end] != '"'; end++ {
		if body[end] == '\\' {
			end++
		}
	}
	if end >= len(body) {
		c.want("a string that ends")
		return nil
	}
	whole, found, text := c.text[:end+2], "", ""
	if !utf8.Valid(whole) {
		found = "bytes that are not UTF-8: "
	} else if json.Unmarshal(whole, &text) != nil {
		c.want("a string")
	}
	// The decoder replaces half a surrogate pair by U+FFFD, so different names would become equal.
	replaced := bytes.Count(whole, []byte("\uFFFD")) +
		bytes.Count(bytes.ToLower(whole), []byte(`\ufffd`))
	if strings.Count(text, "\uFFFD") > replaced {
		found = "half of a surrogate pair: "
	}
	if found != "" {
		c.fail(wrong(found+quote(whole), "text in UTF-8").inColumn(c.column()))
	}
	if c.bad == nil {
		c.text = body[end+1:]
	}
	return []byte(text)
}

// number reads a number and returns its text. expected describes the number.
func (c *jsonCursor) number(expected string) []byte {
	c.space()
	n := 0
	for n < len(c.text) && (c.text[n]-'0' <= 9 || strings.IndexByte("+-.eE", c.text[n]) >= 0) {
		n++
	}
	text := c.text[:n]
	if plain := n > 0 && countDigits(text) == n && !leadingZero(text); !plain && !json.Valid(text) {
		c.want(expected)
		return nil
	}
	c.text = c.text[n:]
	return text
}

// skip reads a value and ignores it.
func (c *jsonCursor) skip(depth int) {
	if depth > jsonDepth {
		c.fail(wrong(Counted(jsonDepth, "bracket")+" within each other",
			"fewer").inColumn(c.column()))
	}
	switch b := c.next(); b {
	case '"':
		c.string()
	case '{':
		c.object("", func([]byte, int) { c.skip(depth + 1) })
	case '[':
		c.take(b)
		for first := true; c.more(']', first); first = false {
			c.skip(depth + 1)
		}
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if rest, ok := bytes.CutPrefix(c.text, []byte(word)); ok {
				c.text = rest
				return
			}
		}
		c.want("a value")
	default:
		if b != '-' && b-'0' > 9 {
			c.want("a value")
		}
		c.number("a number")
	}
}

// object reads an object. It calls value with the name of each member and the name's column; value
// reads the member's value. expected describes the object for the error if there is none.
func (c *jsonCursor) object(expected string, value func(name []byte, column int)) {
	c.expect('{', expected)
	for first := true; c.more('}', first); first = false {
		c.space()
		column, name := c.column(), c.string()
		if c.expect(':', "a colon"); c.bad == nil {
			value(name, column)
		}
	}
}

// end fails unless the line ends after its value.
func (c *jsonCursor) end() {
	if c.next() != 0 || len(c.text) > 0 {
		c.want("the end of the line: one value a line")
	}
}

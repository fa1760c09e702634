package graphio

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonDepth is the maximum nesting of values that are skipped.
const jsonDepth = 64

// jsonCursor scans the JSON text of a line (RFC 8259) without building values.
type jsonCursor struct {
	text []byte // the rest
	all  []byte
}

// newJSONCursor begins to read a line. For a line of blanks the cursor has no text.
func newJSONCursor(line []byte) jsonCursor {
	text := trimLine(line)
	return jsonCursor{text: text, all: line[:offsetIn(line, text)+len(text)]}
}

// column returns the cursor's column in the text, from 1.
func (c *jsonCursor) column() int { return len(c.all) - len(c.text) + 1 }

// bad returns a fault at the cursor.
func (c *jsonCursor) bad(expected string) *fault {
	c.space()
	if len(c.text) == 0 {
		return wrong("the end of the line after "+quote(tail(c.all)), expected).inColumn(c.column())
	}
	return wrong(quote(c.text), expected).inColumn(c.column())
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

// list iterates over elements separated by commas, after the opening bracket. It reports whether
// there is another element. first must be true only in the first call. It consumes the closing
// bracket.
func (c *jsonCursor) list(closing byte, first bool) (more bool, bad *fault) {
	if c.take(closing) {
		return false, nil
	}
	if !first && !c.take(',') {
		return false, c.bad("a comma or " + string(closing))
	}
	return true, nil
}

// string reads a string. The result is a part of the line or, if something in it is escaped, newly
// allocated.
func (c *jsonCursor) string() ([]byte, *fault) {
	if c.next() != '"' {
		return nil, c.bad("a string")
	}
	body := c.text[1:]
	end := bytes.IndexByte(body, '"')
	if end < 0 {
		return nil, c.bad("a string that ends")
	}
	plain := true
	for _, b := range body[:end] {
		if b == '\\' || b < ' ' || b >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		c.text = body[end+1:]
		return body[:end], nil
	}
	for end = 0; end < len(body) && body[end] != '"'; end++ {
		if body[end] == '\\' {
			end++
		}
	}
	if end >= len(body) {
		return nil, c.bad("a string that ends")
	}
	whole := c.text[:end+2]
	if !utf8.Valid(whole) {
		return nil, wrong("bytes that are not UTF-8: "+quote(whole),
			"text in UTF-8").inColumn(c.column())
	}
	var text string
	if json.Unmarshal(whole, &text) != nil {
		return nil, c.bad("a string")
	}
	// The decoder replaces half a surrogate pair by U+FFFD, so different names would become equal.
	replaced := bytes.Count(whole, []byte("\uFFFD")) +
		bytes.Count(bytes.ToLower(whole), []byte(`\ufffd`))
	if strings.Count(text, "\uFFFD") > replaced {
		return nil, wrong("half of a surrogate pair: "+quote(whole),
			"text in UTF-8").inColumn(c.column())
	}
	c.text = body[end+1:]
	return []byte(text), nil
}

// number reads a number and returns its text.
func (c *jsonCursor) number() ([]byte, *fault) {
	c.space()
	n := 0
	for n < len(c.text) && (c.text[n]-'0' <= 9 || strings.IndexByte("+-.eE", c.text[n]) >= 0) {
		n++
	}
	text := c.text[:n]
	if plain := n > 0 && countDigits(text) == n && !leadingZero(text); !plain && !json.Valid(text) {
		return nil, c.bad("a number")
	}
	c.text = c.text[n:]
	return text, nil
}

// skip reads a value and ignores it.
func (c *jsonCursor) skip(depth int) *fault {
	if depth > jsonDepth {
		return wrong(counted(jsonDepth, "bracket")+" within each other",
			"fewer").inColumn(c.column())
	}
	switch b := c.next(); b {
	case '"':
		_, bad := c.string()
		return bad
	case '{':
		return c.object("", func([]byte, int) *fault { return c.skip(depth + 1) })
	case '[':
		c.take(b)
		for first := true; ; first = false {
			if more, bad := c.list(']', first); bad != nil || !more {
				return bad
			}
			if bad := c.skip(depth + 1); bad != nil {
				return bad
			}
		}
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if rest, ok := bytes.CutPrefix(c.text, []byte(word)); ok {
				c.text = rest
				return nil
			}
		}
		return c.bad("a value")
	default:
		if b != '-' && b-'0' > 9 {
			return c.bad("a value")
		}
		_, bad := c.number()
		return bad
	}
}

// object reads an object. It calls value with the name of each member and the name's column; value
// reads the member's value. expected describes the object for the error if there is none.
func (c *jsonCursor) object(expected string, value func(name []byte, column int) *fault) *fault {
	if !c.take('{') {
		return c.bad(expected)
	}
	for first := true; ; first = false {
		if more, bad := c.list('}', first); bad != nil || !more {
			return bad
		}
		c.space()
		column := c.column()
		name, bad := c.key()
		if bad == nil {
			bad = value(name, column)
		}
		if bad != nil {
			return bad
		}
	}
}

// key reads the name of a member of an object, and the colon after it.
func (c *jsonCursor) key() ([]byte, *fault) {
	name, bad := c.string()
	if bad != nil {
		return nil, bad
	}
	if !c.take(':') {
		return nil, c.bad("a colon")
	}
	return name, nil
}

// end returns a fault unless the line ends after its value.
func (c *jsonCursor) end() *fault {
	if c.next() != 0 || len(c.text) > 0 {
		return c.bad("the end of the line: one value a line")
	}
	return nil
}

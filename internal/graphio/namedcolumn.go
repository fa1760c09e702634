package graphio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// namedLine describes a line with a vertex's name and value, for errors.
const namedLine = "name<TAB>value"

// named returns a value of a vertex with a name.
func named(line int, name, text []byte) *Value {
	return &Value{Line: line, ID: NoNumber, Names: [2][]byte{name}, Text: text}
}

// namedLines reads the lines "name<TAB>value" of a text.
func namedLines(ctx context.Context, lines *lineReader, of *Column, each eachLine) error {
	for ctx.Err() == nil {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		name, text, ok := bytes.Cut(line, []byte{'\t'})
		fields := bytes.Split(text, []byte{'\t'})
		if all := bytes.Fields(line); !ok && of.Loose && len(all) > 1 {
			name, fields, ok = all[0], all[1:], true
			text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), name))
		}
		switch {
		case !ok || len(name) == 0:
			return wrong(quote(line), namedLine).onLine(lines.line, 0)
		case name[0] == '"':
			plain, err := strconv.Unquote(string(name))
			if err != nil {
				return wrong(quote(name),
					"a name quoted as Go does, or that begins with no quotation mark").onLine(lines.line, 0)
			}
			name = []byte(plain)
		}
		if column := of.Number; column > 0 {
			if column-2 >= len(fields) {
				return wrong(counted(len(fields)+1, "column"),
					fmt.Sprintf("%d or more", column)).onLine(lines.line, 0)
			}
			text = fields[column-2]
		}
		v := named(lines.line, name, text)
		if err := v.tell(each); err != nil {
			return err
		}
	}
	return nil
}

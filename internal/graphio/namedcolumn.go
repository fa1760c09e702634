package graphio

import (
	"bytes"
	"fmt"
	"strconv"
)

// namedLine describes a line with a vertex's name and value, for errors.
const namedLine = "name<TAB>value"

// parseNamed reads the name and the value of a line.
func (v *Value) parseNamed(line []byte, of *Column) *fault {
	name, text, ok := bytes.Cut(line, []byte{'\t'})
	fields := bytes.Split(text, []byte{'\t'})
	if all := bytes.Fields(line); !ok && of.Loose && len(all) > 1 {
		name, fields, ok = all[0], all[1:], true
		text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), name))
	}
	switch {
	case !ok || len(name) == 0:
		return wrong(quote(line), namedLine)
	case name[0] == '"':
		plain, err := strconv.Unquote(string(name))
		if err != nil {
			return wrong(quote(name),
				"a name quoted as Go does, or that begins with no quotation mark")
		}
		name = []byte(plain)
	}
	if column := of.Number; column > 0 {
		if column-2 >= len(fields) {
			return wrong(Counted(len(fields)+1, "column"), fmt.Sprintf("%d or more", column))
		}
		text = fields[column-2]
	}
	v.ID, v.Names[0], v.Text = NoNumber, name, text
	return nil
}

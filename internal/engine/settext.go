package engine

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Readable returns an error if a property's values cannot be read from text.
func Readable(c kernel.Property) error {
	if c.Type().Kind() == reflect.Slice || !settable(c.Type()) {
		return fmt.Errorf("values of type %v cannot be read from files, only strings, booleans, numbers, time.Duration and pregel.VertexID", c.Type())
	}
	return nil
}

// SetText sets a value from text in the format of AppendAs. If the text is wrong, it returns what
// was found and what was expected.
func SetText(to reflect.Value, text []byte, find Find) (found, expected string) {
	var err error
	trimmed := bytes.Trim(text, " \t")
	switch {
	case to.Kind() == reflect.String:
		err = setString(to, string(text))
	case to.Type() == vertexType && string(trimmed) == "-1":
		to.SetUint(uint64(pregel.None))
	default:
		err = setOne(to, string(trimmed), find)
	}
	if wrong := new(misfit); errors.As(err, &wrong) {
		return wrong.found, wrong.expected
	}
	if err != nil {
		return fmt.Sprintf("vertex %s as a value", trimmed), "one of the graph, or -1"
	}
	return "", ""
}

// setString sets a string. Text in quotes is unquoted.
func setString(to reflect.Value, text string) error {
	if strings.HasPrefix(text, `"`) {
		plain, err := strconv.Unquote(text)
		if err != nil {
			return unlike(text, "text quoted as in Go, or not beginning with a quotation mark")
		}
		text = plain
	}
	to.SetString(text)
	return nil
}

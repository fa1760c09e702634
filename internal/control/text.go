package control

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
)

// MaxText bounds the text of an error, so that it fits into a message.
const MaxText = 64 << 10

// Text converts s to valid UTF-8 of at most most bytes (at least 3), cut between characters.
func Text(s string, most int) string {
	const more = "..."
	// The rest is cut off anyway.
	s = strings.ToValidUTF8(s[:min(len(s), most+utf8.UTFMax)], "\uFFFD")
	if len(s) <= most {
		return s
	}
	end := most - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}

// TextError is the error of a text that is not UTF-8, which no message can contain.
type TextError struct{ Text string }

func (e *TextError) Error() string { return fmt.Sprintf("found %.80q, expected UTF-8", e.Text) }

// checkTexts returns a [TextError] if a message has an invalid text.
func checkTexts(m proto.Message) error {
	return protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		last := p.Index(-1)
		texts := []any{last.Value.Interface()}
		if last.Step.Kind() == protopath.MapIndexStep {
			texts = append(texts, last.Step.MapIndex().Interface())
		}
		for _, t := range texts {
			if s, ok := t.(string); ok && !utf8.ValidString(s) {
				return &TextError{s}
			}
		}
		return nil
	})
}

// CodecError means that a message could not be encoded or decoded. If it could not be encoded, the
// connection stays usable.
type CodecError struct{ Err error }

func (e *CodecError) Error() string { return e.Err.Error() }
func (e *CodecError) Unwrap() error { return e.Err }

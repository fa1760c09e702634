package trace

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Aggregates are the final values of a run's aggregators, as JSON by name.
type Aggregates map[string]json.RawMessage

// Bounds of these values in bytes of JSON: of one, and of all.
const (
	MaxAggregate  = 64 << 10
	maxAggregates = 256 << 10
)

// Add adds the value of an aggregator. It returns an error if the value is too large. A method of
// the value may panic.
func (a Aggregates) Add(name string, value any) error {
	data, all := ValueJSON(value), 0
	for _, other := range a {
		all += len(other)
	}
	if len(data) > MaxAggregate || all+len(data) > maxAggregates {
		return fmt.Errorf("it has %d bytes of text, and there is room for %d, and for %d of all aggregators", len(data), MaxAggregate, maxAggregates)
	}
	a[name] = data
	return nil
}

// ValueJSON returns the JSON of a value: by its own methods for text or JSON, else by json.Marshal.
// If json.Marshal fails, for example for an infinite number, ValueJSON returns the text of fmt. It
// does the same for a time.Duration, which json.Marshal writes as nanoseconds.
func ValueJSON(value any) json.RawMessage {
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	if data, err := json.Marshal(value); err == nil && (says(value) || string(data) != "{}") {
		return bytes.ToValidUTF8(data, []byte("\ufffd")) // a method of the value wrote it
	}
	data, _ := json.Marshal(fmt.Sprint(value)) // cannot fail for a string
	return data
}

// says reports whether the JSON {} represents a value correctly: the value is a map or has its own
// methods for JSON or text. The JSON {} of any other struct only means that it has no exported
// fields.
func says(value any) bool {
	switch value.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return reflect.ValueOf(value).Kind() == reflect.Map
}

// most is the greatest number of bytes of a value in texts for people.
const most = 80

// Texts returns the values as text for people, by name. Long values are shortened.
func (a Aggregates) Texts() map[string]string {
	texts := map[string]string{}
	for name, value := range a {
		text, summary := summaryText(name, value)
		if !summary {
			text = Text(value)
		}
		if len(text) > most && !summary {
			text = strings.ToValidUTF8(text[:most], "") + "..."
		}
		texts[name] = text
	}
	if by, ok := texts[TopByName]; ok && texts[TopName] != "" {
		texts[topByText+by] = texts[TopName]
		delete(texts, TopName)
		delete(texts, TopByName)
	}
	return texts
}

// Text returns an aggregator's value as text for people. It is JSON, but a string has no quotes if
// that is unambiguous, and a fraction has only the digits that are independent of rounding in sums.
func Text(value json.RawMessage) string {
	var text string
	var number float64
	if strings.ContainsAny(string(value), ".eE") && json.Unmarshal(value, &number) == nil {
		return strconv.FormatFloat(number, 'g', 10, 64)
	}
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text || text == "" {
		return quoted
	}
	return text
}

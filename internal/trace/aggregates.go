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

// Aggregates are the values that the aggregators of a run ended with, as JSON by name.
type Aggregates map[string]json.RawMessage

// Bounds on what is told of a run's aggregators, in bytes of JSON: of one, and of all.
const (
	MaxAggregate  = 64 << 10
	maxAggregates = 256 << 10
)

// Add adds the value of an aggregator, unless it is too large. A method of the value may panic.
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

// ValueJSON returns the JSON of a value: by its own methods if it has any for text or JSON, else as
// json.Marshal writes it. What has no JSON of its own, such as an infinite number, is the text that
// fmt makes of it; so is a time.Duration, of which JSON has the nanoseconds.
func ValueJSON(value any) json.RawMessage {
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	if data, err := json.Marshal(value); err == nil && (says(value) || string(data) != "{}") {
		return bytes.ToValidUTF8(data, []byte("\ufffd")) // a method of the value wrote it
	}
	data, _ := json.Marshal(fmt.Sprint(value)) // of a string it does not fail
	return data
}

// says reports whether a value without JSON keys has none to show: a map, or a value that has its
// own methods.
func says(value any) bool {
	switch value.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return reflect.ValueOf(value).Kind() == reflect.Map
}

// most is how many bytes of a value people are shown.
const most = 80

// Texts are the values for people, by name; what is long is cut.
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

// Text is an aggregator's value for people: JSON, but a string without quotes where it reads the
// same, and a fraction with the digits that rounding in sums leaves right.
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

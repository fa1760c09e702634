package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Version is the version of encoded descriptions, the value of the key "version" in their JSON.
const Version = 1

// Bounds of the texts of a description.
const (
	// MaxText bounds the bytes of a name, a path or another text.
	MaxText = 4 << 10
	// MaxMaps bounds the bytes of all parameters, and of other maps with names chosen by users.
	MaxMaps = 64 << 10
)

// Text encodes a description, or a part of one. If it contains a text that is not UTF-8, Text
// returns that text instead. Neither JSON nor a message can contain it, so the call fails with an
// error about the text.
func Text(v any) (text string) {
	eachText(v, func(_, t string, _ bool) {
		if !utf8.ValidString(t) {
			text = t
		}
	})
	if text != "" {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible for these types
	}
	version := fmt.Sprintf(`{"version":%d`, Version)
	if len(data) > len("{}") {
		version += ","
	}
	return version + string(data[1:])
}

// Read decodes the result of Text. It rejects other versions, unknown keys, and texts longer than
// MaxText.
func Read[T any](text string) (*T, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return nil, fmt.Errorf("found no description of version %d: another version of superstep has sent or stored it", Version)
	}
	if found := string(keys["version"]); found != strconv.Itoa(Version) {
		return nil, fmt.Errorf("found version %.20q of a description, expected %d: another version of superstep has sent or stored it",
			found, Version)
	}
	delete(keys, "version")
	data, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	v := new(T)
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err != nil {
		return nil, fmt.Errorf("%.200s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return v, Check(v)
}

// Check validates a description, given by a pointer: the words of its fields, texts up to MaxText,
// and maps up to MaxMaps in total. Texts in maps have no other bound.
func Check(v any) (err error) {
	maps := 0
	eachText(v, func(key, text string, ofMap bool) {
		switch {
		case ofMap:
			maps += len(text)
		case len(text) > MaxText:
			err = cmp.Or(err,
				fmt.Errorf("%s: found %d bytes, expected at most %d", key, len(text), MaxText))
		}
	})
	if err == nil && maps > MaxMaps {
		err = fmt.Errorf("found parameters of %d bytes, expected at most %d", maps, MaxMaps)
	}
	for _, f := range Fields(v) {
		text, ok := f.Value.Interface().(string)
		if words := f.Words(); words != nil && ok && text != "" && !slices.Contains(words, text) {
			err = cmp.Or(err, fmt.Errorf("%s: found %.50q, expected one of %s", f.Key, text,
				strings.Join(words, ", ")))
		}
	}
	return err
}

// eachText passes all texts of a description to each, with their keys and whether they are in a
// map.
func eachText(v any, each func(key, text string, ofMap bool)) {
	var walk func(key string, v reflect.Value, ofMap bool)
	walk = func(key string, v reflect.Value, ofMap bool) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(key, v.Elem(), ofMap)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(Key(v.Type().Field(i)), v.Field(i), false)
			}
		case reflect.Map:
			for at := v.MapRange(); at.Next(); {
				walk(key, at.Key(), true)
				walk(key, at.Value(), true)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(key, v.Index(i), false)
			}
		case reflect.String:
			each(key, v.String(), ofMap)
		}
	}
	walk("", reflect.ValueOf(v), false)
}

// Key returns the JSON key of a field; it is empty for an embedded struct.
func Key(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return key
}

package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/job"
)

var update = flag.Bool("update", false, "write openapi.json")

// schema returns the schema of those fields of a struct that users may set.
func schema(of any) map[string]any {
	properties := map[string]any{}
	for _, f := range job.Fields(of) {
		help := f.Tag.Get("help")
		if help == "" {
			continue
		}
		p, t := map[string]any{}, f.Value.Type()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		words := f.Words()
		if words != nil && words[0] == "auto" && f.Key != "delivery" {
			words = words[1:]
		}
		switch {
		case f.Key == "key":
			p["type"], p["maxLength"] = "string", 64
		case t.Kind() == reflect.Bool:
			p["type"] = "boolean"
		case words != nil:
			p["enum"] = words
		case t == reflect.TypeFor[job.Duration](), t == reflect.TypeFor[job.Size](),
			t.Kind() == reflect.String:
			p["type"] = "string"
		case t.Kind() == reflect.Map:
			p["type"], p["additionalProperties"] = "object", map[string]any{"type": "string"}
		case t.Kind() == reflect.Struct:
			p = schema(reflect.New(t).Interface())
			p["required"] = []string{"scale"}
		default:
			p["type"], p["minimum"] = "integer", 0
		}
		if n, err := strconv.Atoi(f.Tag.Get("default")); err == nil {
			p["default"] = n
		}
		p["description"] = plainHelp(help)
		properties[f.Key] = p
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// plainHelp returns the help text of a flag without the marks of its value.
func plainHelp(help string) string { return strings.NewReplacer("{", "", "}", "").Replace(help) }

// TestSchemaIsOfTheSpec: the schemas of submitted jobs and graphs in openapi.json match the fields
// of package job.
func TestSchemaIsOfTheSpec(t *testing.T) {
	var doc map[string]any
	check(t, json.Unmarshal(openapi, &doc))
	schemas := at(doc, "components", "schemas").(map[string]any)
	submission, loading := schema(new(Submission)), schema(new(Loading))
	submission["description"] = "A program on a graph, or graph500 alone"
	loading["description"], loading["required"] = "A graph for the catalog",
		[]string{"name", "graph"}
	for name, want := range map[string]any{"Submission": submission, "Loading": loading} {
		var plain any
		data, err := json.Marshal(want)
		check(t, err)
		check(t, json.Unmarshal(data, &plain))
		if *update {
			i := bytes.Index(openapi, []byte("\""+name+"\": {")) + len(name) + len(`"": `)
			in := json.NewDecoder(bytes.NewReader(openapi[i:]))
			check(t, in.Decode(new(any)))
			text, err := json.MarshalIndent(plain, "      ", "  ")
			check(t, err)
			openapi = slices.Concat(openapi[:i], text, openapi[i+int(in.InputOffset()):])
		} else if !reflect.DeepEqual(schemas[name], plain) {
			t.Errorf("%s is %v, expected %v: go test ./internal/web -run TestSchemaIsOfTheSpec -update", name, schemas[name], plain)
		}
	}
	if *update {
		check(t, os.WriteFile("openapi.json", openapi, 0o644))
	}
}

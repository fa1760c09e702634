package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/engine"
)

// inParts is a filler that writes text in small parts.
func inParts(text string) filler {
	return func(_ context.Context, w io.Writer) error {
		for part := range slices.Chunk([]byte(text), 3) {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestResultFormats writes lines as tables, which encoding/csv and encoding/json read again.
func TestResultFormats(t *testing.T) {
	hits := []engine.Field{{Name: "hub"}, {Name: "from", Vertex: true}}
	one := []engine.Field{{Name: "value"}}
	for _, test := range []struct {
		name, lines, csv, jsonl string
		form                    lineForm
	}{
		{"numbers", "1 0.5\n2 infinity\n3 -3\n", "vertex,value\n1,0.5\n2,infinity\n3,-3\n", `{"vertex":1,"value":0.5}` + "\n" + `{"vertex":2,"value":null}` + "\n" + `{"vertex":3,"value":-3}` + "\n", lineForm{fields: one}},
		{"text", "1 a, \"b\"\n2 \"c\\nd\"\n3 007\n4 true\n", "vertex,value\n1,\"a, \"\"b\"\"\"\n2,\"c\nd\"\n3,007\n4,true\n", `{"vertex":1,"value":"a, \"b\""}` + "\n" + `{"vertex":2,"value":"c\nd"}` + "\n" + `{"vertex":3,"value":"007"}` + "\n" + `{"vertex":4,"value":true}` + "\n", lineForm{fields: one}},
		{"fields", "1 2 3\n", "vertex,hub,from\n1,2,3\n", `{"vertex":1,"hub":2,"from":3}` + "\n", lineForm{fields: hits}},
		{"names", "Rue de\t2\t7\n\"a\\tb\"\t3\tRue <de>\n", "vertex,hub,from\nRue de,2,7\na\tb,3,Rue <de>\n", `{"vertex":"Rue de","hub":2,"from":"7"}` + "\n" + `{"vertex":"a\tb","hub":3,"from":"Rue <de>"}` + "\n", lineForm{true, hits}},
	} {
		for format, want := range map[string]string{"csv": test.csv, "jsonl": test.jsonl, "text": test.lines} {
			f := resultFormat{&oneOf{value: format}}
			var b strings.Builder
			if err := f.save("x", test.form, inParts(test.lines))(t.Context(), &b); err != nil || b.String() != want {
				t.Errorf("%s as %s: found %q %v, expected %q", test.name, format, b.String(), err, want)
			}
		}
		if rows, err := csv.NewReader(strings.NewReader(test.csv)).ReadAll(); err != nil || len(rows) != 1+strings.Count(test.lines, "\n") {
			t.Errorf("%s: %d rows, %v", test.name, len(rows), err)
		}
		for line := range strings.Lines(test.jsonl) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: no JSON: %s", test.name, line)
			}
		}
	}
	f := resultFormat{&oneOf{value: "auto"}}
	for path, want := range map[string]string{"a.CSV.gz": "csv", "a.jsonl.zst": "jsonl", "a.ndjson": "jsonl", "-": "text", "a.txt": "text", "csv": "text"} {
		if format := f.of(path); format != want {
			t.Errorf("%s: found %s, expected %s", path, format, want)
		}
	}
	if err := (&resultFormat{&oneOf{value: "csv"}}).save("x", lineForm{fields: hits}, inParts("1 2\n"))(t.Context(), io.Discard); err == nil {
		t.Error("a value with a field too few is written")
	}
}

// TestPick takes lines by their fields.
func TestPick(t *testing.T) {
	form := lineForm{true, []engine.Field{{Name: "hub"}, {Name: "authority"}}}
	text := "a b\t1\t9\nc\t3\t7\nd\t2\t8\ne\tnan\t6\n"
	for _, test := range []struct {
		flags      pickFlags
		want, fail string
	}{
		{flags: pickFlags{top: 2}, want: "c\t3\t7\nd\t2\t8\n"},
		{flags: pickFlags{top: 2, by: "authority"}, want: "a b\t1\t9\nd\t2\t8\n"},
		{flags: pickFlags{bottom: 1, by: "value2"}, want: "e\tnan\t6\n"},
		{flags: pickFlags{where: "hub>=2&&authority < 8"}, want: "c\t3\t7\n"},
		{flags: pickFlags{where: "value2!=9", top: 1}, want: "c\t3\t7\n"},
		{flags: pickFlags{where: "rank>1"}, fail: `found no field "rank", expected hub, authority`},
		{flags: pickFlags{top: 1, by: "value0"}, fail: "found no field"},
		{flags: pickFlags{top: 1, by: "value3"}, fail: "the values have 2 fields"},
		{flags: pickFlags{by: "hub"}, fail: "expected --top or --bottom"},
		{flags: pickFlags{where: "hub>x"}, fail: "expected a number after >"},
	} {
		var b strings.Builder
		p, err := test.flags.check()
		if err == nil {
			var fill filler
			if fill, err = p.save(form, inParts(text)); err == nil {
				err = fill(t.Context(), &b)
			}
		}
		switch {
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)):
			t.Errorf("%+v: found %v, expected %s", test.flags, err, test.fail)
		case test.fail == "" && (err != nil || b.String() != test.want):
			t.Errorf("%+v: found %q %v, expected %q", test.flags, b.String(), err, test.want)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// inParts returns a filler that writes text in small parts.
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

// TestResultFormats writes result lines as tables. encoding/csv and encoding/json read them back.
func TestResultFormats(t *testing.T) {
	hits := []resultlines.Field{{Name: "hub"}, {Name: "from", Vertex: true}}
	one := []resultlines.Field{{Name: "value"}}
	for _, test := range []struct {
		name, lines, csv, jsonl string
		form                    resultlines.Form
	}{
		{"numbers", "1 0.5\n2 infinity\n3 -3\n", "vertex,value\n1,0.5\n2,infinity\n3,-3\n", `{"vertex":1,"value":0.5}` + "\n" + `{"vertex":2,"value":null}` + "\n" + `{"vertex":3,"value":-3}` + "\n", resultlines.Form{Fields: one}},
		{"text", "1 a, \"b\"\n2 \"c\\nd\"\n3 007\n4 true\n", "vertex,value\n1,\"a, \"\"b\"\"\"\n2,\"c\nd\"\n3,007\n4,true\n", `{"vertex":1,"value":"a, \"b\""}` + "\n" + `{"vertex":2,"value":"c\nd"}` + "\n" + `{"vertex":3,"value":"007"}` + "\n" + `{"vertex":4,"value":true}` + "\n", resultlines.Form{Fields: one}},
		{"fields", "1 2 3\n", "vertex,hub,from\n1,2,3\n", `{"vertex":1,"hub":2,"from":3}` + "\n", resultlines.Form{Fields: hits}},
		{"names", "Rue de\t2\t7\n\"a\\tb\"\t3\tRue <de>\n", "vertex,hub,from\nRue de,2,7\na\tb,3,Rue <de>\n", `{"vertex":"Rue de","hub":2,"from":"7"}` + "\n" + `{"vertex":"a\tb","hub":3,"from":"Rue <de>"}` + "\n", resultlines.Form{Named: true, Fields: hits}},
	} {
		for format, want := range map[string]string{"csv": test.csv, "jsonl": test.jsonl, "text": test.lines} {
			f := resultFormat{strings.TrimPrefix(format, "auto")}
			var b strings.Builder
			if err := f.save("x", test.form, inParts(test.lines))(t.Context(), &b); err != nil ||
				b.String() != want {
				t.Errorf("%s as %s: found %q %v, expected %q", test.name, format, b.String(), err,
					want)
			}
		}
		if rows, err := csv.NewReader(strings.NewReader(test.csv)).ReadAll(); err != nil ||
			len(rows) != 1+strings.Count(test.lines, "\n") {
			t.Errorf("%s: %d rows, %v", test.name, len(rows), err)
		}
		for line := range strings.Lines(test.jsonl) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: no JSON: %s", test.name, line)
			}
		}
	}
	f := resultFormat{""}
	for path, want := range map[string]string{"a.CSV.gz": "csv", "a.jsonl.zst": "jsonl", "a.ndjson": "jsonl", "a.Parquet": "parquet", "a.pq": "parquet", "-": "text", "a.txt": "text", "csv": "text"} {
		if format := f.of(path); format != want {
			t.Errorf("%s: found %s, expected %s", path, format, want)
		}
	}
	for path, ok := range map[string]bool{"a.parquet": true, "a.csv.gz": true, "a.tsv": true, "-": true, "a": true, "a.parquet.gz": false, "a.PQ.zst": false, "a.xlsx": false, "a.json.gz": false, "a.tar.gz": false} {
		if err := f.check(path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := (&resultFormat{"text"}).check("a.xlsx"); err != nil {
		t.Errorf("with --output-format: %v", err)
	}
	if err := (&resultFormat{"csv"}).save("x", resultlines.Form{Fields: hits},
		inParts("1 2\n"))(t.Context(), io.Discard); err == nil {
		t.Error("a value with a field too few is written")
	}
}

// TestResultParquet writes results as Parquet. The library reads the columns with their types back.
func TestResultParquet(t *testing.T) {
	fields := []resultlines.Field{
		{Name: "rank", Kind: reflect.Float32},
		{Name: "steps", Kind: reflect.Int},
		{Name: "bits", Kind: reflect.Uint64},
		{Name: "in", Kind: reflect.Bool},
		{Name: "from", Vertex: true, Kind: reflect.Uint64},
		{Name: "vertex", Kind: reflect.Invalid},
	}
	for _, test := range []struct {
		form             resultlines.Form
		lines, want      string
		vertex, vertices string // column types
	}{
		{resultlines.Form{Named: false, Fields: fields}, "7 0.5 -3 18446744073709551615 true -1 x\n8 infinity 0 1 false 7 y\n", "7 0.5 -3 18446744073709551615 true -1 x; 8 +Inf 0 1 false 7 y", "INT(64,true)", "INT(64,true)"},
		{resultlines.Form{Named: true, Fields: fields}, "a b\t0.5\t-3\t1\ttrue\t-1\tx\n", "a b 0.5 -3 1 true -1 x", "STRING", "STRING"},
		{resultlines.Form{Named: false, Fields: fields}, "", "", "INT(64,true)", "INT(64,true)"},
	} {
		var b bytes.Buffer
		if err := (&resultFormat{"parquet"}).save("x", test.form,
			inParts(test.lines))(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var types, rows []string
		for _, c := range file.Root().Columns() {
			types = append(types, c.Name()+" "+c.Type().String())
		}
		want := "vertex " + test.vertex +
			", rank DOUBLE, steps INT(64,true), bits INT(64,false), in BOOLEAN, from " +
			test.vertices + ", value_vertex STRING"
		if got := strings.Join(types, ", "); got != want {
			t.Errorf("%s, expected %s", got, want)
		}
		reader := parquet.NewReader(bytes.NewReader(b.Bytes()))
		for {
			var some [1]parquet.Row
			n, err := reader.ReadRows(some[:])
			for _, row := range some[:n] {
				var values []string
				for i, v := range row {
					text := v.String()
					if i == 3 {
						text = fmt.Sprint(v.Uint64())
					}
					values = append(values, text)
				}
				rows = append(rows, strings.Join(values, " "))
			}
			if err != nil {
				break
			}
		}
		if got := strings.Join(rows, "; "); got != test.want {
			t.Errorf("%q, expected %q", got, test.want)
		}
	}
	bad := saveParquet(resultlines.Form{Named: false, Fields: fields[1:2]},
		inParts("1 9223372036854775808\n"))
	if err := bad(t.Context(), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--output-format csv") {
		t.Error(err)
	}
}

// TestPick selects lines by their fields.
func TestPick(t *testing.T) {
	form := resultlines.Form{Named: true, Fields: []resultlines.Field{{Name: "hub"}, {Name: "authority"}}}
	text := "a b\t1\t9\nc\t3\t7\nd\t2\t8\ne\tnan\t6\n"
	for _, test := range []struct {
		flags      pickFlags
		want, fail string
	}{
		{flags: pickFlags{Top: 2}, want: "c\t3\t7\nd\t2\t8\n"},
		{flags: pickFlags{Top: 2, By: "authority"}, want: "a b\t1\t9\nd\t2\t8\n"},
		{flags: pickFlags{Bottom: 1, By: "value2"}, want: "e\tnan\t6\n"},
		{flags: pickFlags{Where: "hub>=2&&authority < 8"}, want: "c\t3\t7\n"},
		{flags: pickFlags{Where: "value2!=9", Top: 1}, want: "c\t3\t7\n"},
		{flags: pickFlags{Where: "rank>1"}, fail: `found no field "rank", expected hub, authority`},
		{flags: pickFlags{Top: 1, By: "value0"}, fail: "found no field"},
		{flags: pickFlags{Top: 1, By: "value3"}, fail: "the values have 2 fields"},
		{flags: pickFlags{By: "hub"}, fail: "expected --top or --bottom"},
		{flags: pickFlags{Where: "hub>x"}, fail: "expected a number after >"},
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

package job

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/store"
)

// full returns a Spec with a value in every kind of field.
func full() *Spec {
	no := false
	return &Spec{
		Program: "bfs", Parameters: map[string]string{"source": "1"}, Rows: 2, Columns: 3,
		KeepResult: true, Queueing: Queueing{"low"},
		Source: &Source{Input: "/a.csv", Directed: &no, MaxExpand: 5e9, SkipBad: 3, SelfLoops: "drop", Header: &no, IDs: "name"},
		Options: Options{
			Delivery: "pull", MaxSupersteps: 7, SuperstepTimeout: Duration(90 * time.Second),
			Seed: 1<<64 - 1, Fork: true,
		},
		KeepWhen:   &checkpoint.Policy{Every: 7, MTBF: time.Hour, Strict: true},
		Graph500:   &Graph500{Scale: 12, EdgeFactor: 16, NoValidate: true},
		Netbench:   &Netbench{Sizes: []uint64{1, 1 << 30}, Collectives: []string{"allreduce"}},
		ColumnData: map[string]*ColumnData{"c": {ID: "X", File: "f", Named: true, Sum: &store.Sum{Bytes: 5, CRC32C: 1<<32 - 1}}},
		Inputs:     map[string]string{"d": "j-1"}, GoOn: "master:/x",
	}
}

func TestTextIsRead(t *testing.T) {
	for _, want := range []*Spec{full(), {}} {
		got, err := Read[Spec](Text(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("found %+v, %v, expected %+v", got, err, want)
		}
	}
	if text := Text(&Source{Input: "g", MaxExpand: 5e9}); text != `{"version":1,"graph":"g","max_expand":"5GB"}` {
		t.Errorf("found %s", text)
	}
}

// TestReadRefuses: text of another version, invalid text, and too long text are refused.
func TestReadRefuses(t *testing.T) {
	long := strings.Repeat("n", MaxText)
	for text, want := range map[string]string{
		``:                                  "another version of superstep",
		`7`:                                 "another version of superstep",
		`{}`:                                `found version "" of a description, expected 1: another version of superstep`,
		`{"version":2,"program":"bfs"}`:     `found version "2" of a description, expected 1: another version of superstep`,
		`{"version":1,"program":"bfs"}`:     "",
		`{"program":"bfs","version":1}`:     "",
		`{"version":1,"priority":"urgent"}`: `priority: found "urgent", expected one of normal, low, high`,
		`{"version":1,"grpah":"x"}`:         `unknown field "grpah"`,
		`{"version":1,"skip_bad":-1}`:       "skip_bad",
		`{"version":1,"max_expand":"xB"}`:   "max_expand",
		`{"version":1,"superstep_timeout":"-1s"}`: "superstep_timeout",
		`{"version":1,"catalog":"` + long +
			`"}`: "",
		`{"version":1,"catalog":"` + long +
			`n"}`: "catalog: found 4097 bytes, expected at most 4096",
		Text(&Spec{ColumnData: map[string]*ColumnData{"c": {File: long + "n"}}}): "file: found 4097 bytes",
		Text(&Spec{Parameters: map[string]string{"a": strings.Repeat("p",
			MaxMaps-1)}}): "",
		Text(&Spec{Parameters: map[string]string{"ab": strings.Repeat("p",
			MaxMaps-1)}}): "found parameters of 65537 bytes, expected at most 65536",
		Text(&Spec{Parameters: map[string]string{"a": strings.Repeat("p",
			40000), "b": strings.Repeat("p", 40000)}}): "found parameters of 80002 bytes",
	} {
		_, err := Read[Spec](text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: found %v, expected %q", text, err, want)
		}
	}
}

// TestTextsThatAreNoUTF8: they are kept unchanged, so that the call is refused.
func TestTextsThatAreNoUTF8(t *testing.T) {
	const bad = "/graphs/\xff"
	for _, v := range []any{&Spec{Source: &Source{Input: bad}}, &Spec{Parameters: map[string]string{"x": bad}}, Spec{Parameters: map[string]string{bad: "x"}}} {
		if text := Text(v); text != bad {
			t.Errorf("found %q", text)
		}
	}
}

// TestWords: the allowed words of fields are those of the packages that parse them.
func TestWords(t *testing.T) {
	want := map[string][]string{
		"duplicates": graph.DuplicateWords, "delivery": delivery.ChoiceWords,
		"ids": append([]string{auto}, graphio.IDKinds...),
	}
	for _, f := range Fields(&Spec{}) {
		if words, ok := want[f.Key]; ok && !slices.Equal(words, f.Words()) {
			t.Errorf("%s: found %q, expected %q", f.Key, f.Words(), words)
		}
		delete(want, f.Key)
	}
	if len(want) > 0 {
		t.Errorf("found no field %v", want)
	}
}

// TestSet sets fields from texts.
func TestSet(t *testing.T) {
	var s struct {
		Source
		Options
		Graph500
		N int
	}
	Complete(&s)
	if s.EdgeFactor != 16 || s.Roots != 64 || s.Seed2 != 3 {
		t.Errorf("found %+v", s.Graph500)
	}
	fields := map[string]Field{}
	for _, f := range Fields(&s) {
		fields[f.Key] = f
	}
	for _, c := range [][3]string{
		{"max_expand", "3GiB", ""},
		{"max_expand", "3XB", "expected a number of bytes, such as 500MB"},
		{"header", "no", ""},
		{"header", "maybe", "expected one of auto, yes, no"},
		{"ids", "auto", ""},
		{"duplicates", "min", ""},
		{"scale", "20", ""},
		{"scale", "-1", "expected a whole number from 0 to 4294967295"},
		{"sssp", "true", ""},
		{"sssp", "yes", "expected true or false"},
		{"superstep_timeout", "1m30s", ""},
		{"superstep_timeout", "-1s", "expected a time, such as 30s"},
		{"", "-7", ""},
	} {
		if err := fields[c[0]].Set(c[1]); (err == nil) != (c[2] == "") || err != nil &&
			err.Error() != c[2] {
			t.Errorf("%s %s: found %v, expected %q", c[0], c[1], err, c[2])
		}
	}
	if s.MaxExpand != 3<<30 || s.Header == nil || *s.Header || s.IDs != "" ||
		s.Duplicates != "min" || s.Scale != 20 || !s.SSSP ||
		s.SuperstepTimeout != Duration(90*time.Second) || s.N != -7 {
		t.Errorf("found %+v", s)
	}
}

// TestUnasked: descriptions from users must not set fields that only Go clients, experiments and
// masters may set.
func TestUnasked(t *testing.T) {
	for want, s := range map[string]Spec{
		"":      {Program: "p", Source: &Source{Input: "g"}, Options: Options{Seed: 3}},
		"go_on": {GoOn: "x"}, "encoding": {Options: Options{Encoding: "all"}},
		"catalog": {Graph: "g"},
	} {
		if found := s.Unasked(); found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
}

// FuzzRead: any text is a description or an error.
func FuzzRead(f *testing.F) {
	f.Add(Text(full()))
	f.Add(`{"version":1,"header":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read[Spec](text)
		if err != nil {
			return
		}
		if again, err := Read[Spec](Text(s)); err != nil || !reflect.DeepEqual(again, s) &&
			Text(again) != Text(s) {
			t.Errorf("%s: found %+v, %v", text, again, err)
		}
	})
}

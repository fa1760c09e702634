package cli_test

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// setting is a program that sets every vertex's value from its input id.
type setting[V any] struct{ value func(label uint64) V }

func (p setting[V]) Compute(v *pregel.Vertex[V, int64], _ []int64) {
	v.Set(p.value(v.Label()))
	v.VoteToHalt()
}

func settingEntry[V any](value func(label uint64) V) engine.Registered {
	return engine.Register("x", pregel.Erase(pregel.List(setting[V]{value})))
}

type (
	celsius float64
	level   uint8
	hidden  struct{ a, b int }
	pair    struct {
		X celsius
		n int
		T string
	}
	coded int
)

func (c coded) String() string { return fmt.Sprintf("code\n%d", int(c)) }

// runEntry runs a program on a path of three vertices. Its values go to standard output.
func runEntry(e engine.Registered) (status int, out, errs string) {
	var o, e2 bytes.Buffer
	status = cli.Run("own", []string{"run", "x", "-q", "-g", "path:vertices=3", "-o", "-"},
		[]pregel.Registered{e}, &o, &e2)
	return status, o.String(), e2.String()
}

// TestValuesAsText writes values of many types. Each value is on one line.
func TestValuesAsText(t *testing.T) {
	for _, test := range []struct {
		name  string
		entry engine.Registered
		want  string
	}{
		{"strings", settingEntry(func(v uint64) string { return []string{"a\n1 forged", `"b"`, "c \"d\"\r"}[v] }), "0 \"a\\n1 forged\"\n1 \"\\\"b\\\"\"\n2 \"c \\\"d\\\"\\r\"\n"},
		{"plain", settingEntry(func(v uint64) string { return "it's " + strings.Repeat("x", int(v)) }), "0 it's \n1 it's x\n2 it's xx\n"},
		{"floats", settingEntry(func(v uint64) celsius { return []celsius{celsius(math.Inf(1)), 1e21, celsius(math.NaN())}[v] }), "0 infinity\n1 1e+21\n2 nan\n"},
		{"named", settingEntry(func(v uint64) level { return level(v) }), "0 0\n1 1\n2 2\n"},
		{"structs", settingEntry(func(v uint64) pair { return pair{celsius(math.Inf(-1)), 1, "t"} }), "0 -infinity t\n1 -infinity t\n2 -infinity t\n"},
		{"String", settingEntry(func(v uint64) coded { return coded(v) }), "0 \"code\\n0\"\n1 \"code\\n1\"\n2 \"code\\n2\"\n"},
		{"MarshalText", settingEntry(func(v uint64) time.Time { return time.Unix(int64(v), 0).UTC() }), "0 1970-01-01T00:00:00Z\n1 1970-01-01T00:00:01Z\n2 1970-01-01T00:00:02Z\n"},
	} {
		if status, out, errs := runEntry(test.entry); status != 0 || out != test.want {
			t.Errorf("%s: status %d, %s\n%s\nwant\n%s", test.name, status, errs, out, test.want)
		}
	}
}

// TestValuesWithoutText: values that cannot be written are refused, by their type before the run,
// or by their size after it.
func TestValuesWithoutText(t *testing.T) {
	_ = hidden{1, 2}.a + pair{n: 1}.n
	for _, test := range []struct {
		name   string
		entry  engine.Registered
		status int
		want   string
	}{
		{"unexported", settingEntry(func(uint64) hidden { return hidden{} }), 2, "superstep: setting[...]: values of type cli_test.hidden cannot be written: cli_test.hidden has no exported fields: give the program a method Output(dst []byte, v cli_test.hidden) []byte\n"},
		{"pointer", settingEntry(func(uint64) *int { return nil }), 2, "*int has no text"},
		{"map", settingEntry(func(uint64) []map[string]int { return nil }), 2, "map[string]int has no text"},
		{"nested", settingEntry(func(uint64) struct{ F func() } { return struct{ F func() }{} }), 2, "field F: func() has no text"},
		{"interface", settingEntry(func(uint64) any { return 1 }), 2, "interface {} has no text"},
		{"long", settingEntry(func(v uint64) string { return strings.Repeat("x", int(v)<<20) }), 1, "the value of vertex 1 takes 1048576 bytes: with its id it may take 1048575\n"},
	} {
		status, out, errs := runEntry(test.entry)
		if status != test.status || out != "" || strings.Count(errs, "\n") != 1 ||
			!strings.Contains(genericName.ReplaceAllString(errs, "setting[...]"), test.want) {
			t.Errorf("%s: status %d, %d bytes of values, errors\n%s\nwant\n%s", test.name, status,
				len(out), errs, test.want)
		}
	}
}

// genericName matches the type name of a generic program with its arguments.
var genericName = regexp.MustCompile(`setting\[[^:]*\]`)

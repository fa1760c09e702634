package engine

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
)

// given returns the parameters with which Fresh makes program from sample, a program of the same
// type. label returns the input id of a vertex. Fields without a param tag must equal the sample's,
// because only parameters are sent. A zero field means the parameter's default, unless zero names
// the parameter.
func given(sample, program any, zero []string, label LabelOf) (map[string]string, error) {
	from, v := elem(sample), elem(program)
	if !from.IsValid() || !v.IsValid() {
		return nil, fmt.Errorf("%s: the program is nil", Name(program))
	}
	if v.Kind() != reflect.Struct {
		if !same(from, v) {
			return nil, fmt.Errorf("%s: it differs from the registered program: only a struct has parameters that may differ", Name(program))
		}
		return map[string]string{}, nil
	}
	values, parameters := map[string]string{}, map[int]Parameter{}
	for _, p := range Parameters(program) {
		parameters[p.field] = p
	}
	for i := range v.NumField() {
		f := v.Field(i)
		p, ok := parameters[i]
		switch {
		case !ok && !same(from.Field(i), f):
			return nil, fmt.Errorf("%s: field %s has no param tag and differs from the registered program: only parameters are sent to a cluster",
				Name(program), v.Type().Field(i).Name)
		case !ok, isZero(f) && (p.NotZero || p.completes() && !slices.Contains(zero, p.Name)):
			// the default
		default:
			text, err := textOf(f, label)
			if err != nil {
				return nil, fmt.Errorf("%s: parameter %s: %w", Name(program), p.Name, err)
			}
			values[p.Name] = text
		}
	}
	return values, nil
}

// elem returns the value of a program, or the value that it points to.
func elem(program any) reflect.Value {
	v := reflect.ValueOf(program)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// same reports whether two values are known to be equal.
func same(a, b reflect.Value) bool {
	switch {
	case a.CanInterface():
		return reflect.DeepEqual(a.Interface(), b.Interface())
	case a.IsZero() || b.IsZero():
		return a.IsZero() && b.IsZero()
	}
	return a.Comparable() && b.Comparable() && a.Equal(b)
}

// Form describes a registered program by the facts that must be the same in the client and in the
// cluster: its fields, the values of fields that are not parameters, and the types of its messages
// and aggregators. The program's code cannot be compared.
func (r Registered) Form() string {
	var forms []string
	for _, v := range r.Variants {
		p := v.Program
		forms = append(forms, formOf(p.Program)+" message "+p.Message.String()+
			aggregatorsForm(p.Program))
	}
	return strings.Join(forms, " or ")
}

// aggregatorsForm describes the types of a program's aggregators, because the client decodes their
// values.
func aggregatorsForm(program any) string {
	text := ""
	for _, a := range traitsOf(program).Aggregators {
		about := kernel.Pregel.Aggregate(a)
		text += fmt.Sprintf(" aggregator %s %v", about.Name, about.Type)
	}
	return text
}

func formOf(program any) string {
	v := elem(program)
	if !v.IsValid() || v.Kind() != reflect.Struct {
		return Name(program)
	}
	parameters := map[int]bool{}
	for _, p := range Parameters(program) {
		parameters[p.field] = true
	}
	var fields []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		text := f.Name + " " + f.Type.Kind().String()
		if f.Type.Kind() == reflect.Slice {
			text += " of " + f.Type.Elem().Kind().String()
		}
		if !parameters[i] {
			text += " = " + valueForm(v.Field(i))
		}
		fields = append(fields, text)
	}
	return Name(program) + "{" + strings.Join(fields, "; ") + "}"
}

// mostDecides is the length in bytes above which a manifest has the hash of a field instead of its
// text.
const mostDecides = 256

// Decides lists everything besides the graph that the values depend on: the program's fields, and
// the options that change values. The texts are the same in all processes. weights is the type of
// the graph's weights.
func (m *Program) Decides(o Options, weights edges.Weights) map[string]string {
	all := map[string]string{
		"seed": strconv.FormatUint(o.Seed,
			10), "deterministic": strconv.FormatBool(o.Deterministic),
		"the type of weights": weights.String(),
	}
	v := elem(m.program.Program)
	if v.Kind() != reflect.Struct {
		all["the program"] = valueForm(v)
		return all
	}
	names := map[int]string{}
	for _, p := range Parameters(m.program.Program) {
		names[p.field] = "parameter " + p.Name
	}
	for i := range v.NumField() {
		text := valueForm(v.Field(i))
		if t := v.Field(i).Type(); t == vertexType || t.Kind() == reflect.Slice &&
			t.Elem() == vertexType {
			text = "vertex number " + text // a number in this graph, not an input id
		}
		if len(text) > mostDecides {
			text = fmt.Sprintf("%d bytes with SHA-256 %x", len(text), sha256.Sum256([]byte(text)))
		}
		all[cmp.Or(names[i], "field "+v.Type().Field(i).Name)] = text
	}
	return all
}

// valueForm returns the text of a value. The text of a pointer, function or similar is only whether
// it is nil, because the rest differs between processes.
func valueForm(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Interface,
		reflect.UnsafePointer:
		if v.IsZero() {
			return "nil"
		}
		return "not nil"
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			fields = append(fields, valueForm(v.Field(i)))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case reflect.Slice, reflect.Array:
		var all []string
		for i := range v.Len() {
			all = append(all, valueForm(v.Index(i)))
		}
		return "[" + strings.Join(all, " ") + "]"
	case reflect.String:
		return strconv.Quote(v.String())
	default:
		return fmt.Sprint(v)
	}
}

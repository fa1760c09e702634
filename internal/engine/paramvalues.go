package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// The text of a parameter is a number, word or time. The text of a slice has its elements,
// separated by commas; an empty slice has an empty text. In a slice of strings, a backslash escapes
// a comma or a backslash. Before any other character a backslash stands for itself. A single
// backslash is the list of one empty string.

var (
	vertexType   = reflect.TypeFor[pregel.VertexID]()
	durationType = reflect.TypeFor[time.Duration]()
)

// settable reports whether set can read values of a type.
func settable(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	k := t.Kind()
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64
}

// set sets a field from text. find translates input ids of vertices. If find is nil, vertices
// become None.
func set(f reflect.Value, text string, find Find) error {
	if f.Kind() != reflect.Slice || !settable(f.Type()) {
		return setOne(f, text, find)
	}
	parts := splitList(text, f.Type().Elem().Kind() == reflect.String)
	if f.SetZero(); len(parts) == 0 {
		return nil
	}
	// a new array, because the registered program shares the old one
	list := reflect.MakeSlice(f.Type(), len(parts), len(parts))
	for i, part := range parts {
		if err := setOne(list.Index(i), part, find); err != nil {
			return fmt.Errorf("element %d of %d: %w", i+1, len(parts), err)
		}
	}
	f.Set(list)
	return nil
}

func setOne(f reflect.Value, text string, find Find) error {
	switch {
	case f.Type() == vertexType:
		id, err := vertex(text, find)
		f.SetUint(uint64(id))
		return err
	case f.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return unlike(text, "a time, such as 1m30s")
		}
		f.SetInt(int64(d))
	case f.Kind() == reflect.String:
		f.SetString(text)
	case f.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return unlike(text, "true or false")
		}
		f.SetBool(b)
	case f.CanInt():
		i, err := strconv.ParseInt(text, 10, f.Type().Bits())
		if err != nil {
			least := int64(-1) << (f.Type().Bits() - 1)
			return outside(err, text, fmt.Sprintf("%d to %d", least, -(least+1)), "a whole number")
		}
		f.SetInt(i)
	case f.CanUint():
		u, err := strconv.ParseUint(text, 10, f.Type().Bits())
		if err != nil {
			return outside(err, text, fmt.Sprintf("0 to %d",
				uint64(math.MaxUint64)>>(64-f.Type().Bits())), "a whole number, not negative")
		}
		f.SetUint(u)
	case f.CanFloat():
		x, err := strconv.ParseFloat(text, f.Type().Bits())
		if err == nil && strings.Contains(text, "_") { // only Go's syntax allows underscores
			err = strconv.ErrSyntax
		}
		if err != nil {
			return outside(err, text, fmt.Sprintf("a number that fits %d bits", f.Type().Bits()),
				"a number")
		}
		f.SetFloat(x)
	default:
		return fmt.Errorf("a field of type %s cannot be a parameter", f.Type())
	}
	return nil
}

// misfit is the error for a text that is not a value of the type.
type misfit struct{ found, expected string }

func (m *misfit) Error() string { return fmt.Sprintf("found %s, expected %s", m.found, m.expected) }

func unlike(text, expected string) error { return &misfit{fmt.Sprintf("%.150q", text), expected} }

// outside is the misfit for a number that strconv rejects: it is outside its type's range, or
// not a number.
func outside(err error, text, within, number string) error {
	if errors.Is(err, strconv.ErrRange) {
		return &misfit{fmt.Sprintf("%.150s", text), within}
	}
	return unlike(text, number)
}

// vertex translates an input id.
func vertex(text string, find Find) (pregel.VertexID, error) {
	label, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return pregel.None, unlike(text, "the id of a vertex")
	}
	if find == nil {
		return pregel.None, nil
	}
	id, ok := find(label)
	if !ok {
		return pregel.None, fmt.Errorf("the graph has no vertex %d", label)
	}
	return id, nil
}

// MapVertices replaces each vertex in a program's parameters by those that of returns. A list with
// vertex sets, which may overlap, keeps each vertex once.
func MapVertices(
	parameters []Parameter, values map[string]string, of func(text string) ([]string, error),
) (map[string]string, error) {
	values = maps.Clone(values)
	for _, p := range parameters {
		text := values[p.Name]
		if text == "" || !strings.HasSuffix(p.Type, "vertex") {
			continue
		}
		all := []string{text}
		if p.List {
			all = SplitNames(text)
		}
		var to []string
		seen, sets := map[string]bool{}, strings.Contains(text, graph.SetPrefix)
		for _, one := range all {
			if seen[one] && strings.HasPrefix(one, graph.SetPrefix) {
				continue
			}
			some, err := of(one)
			if err != nil {
				return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
			}
			for _, id := range some {
				if !seen[id] {
					to = append(to, id)
				}
				seen[id] = sets
			}
			seen[one] = seen[one] || strings.HasPrefix(one, graph.SetPrefix)
		}
		if values[p.Name] = joinList(to, p.List); len(to) != 1 && !p.List {
			return nil, fmt.Errorf("parameter %s: found a set of %d vertices, expected one vertex",
				p.Name, len(to))
		}
	}
	return values, nil
}

// Vertices returns a program's parameters with input ids in place of set:FILE, and of names of
// vertices if find is not nil. Names in a list are separated by commas; a backslash escapes a comma
// in a name. set returns the input ids of the graph's vertices in a set.
func Vertices(
	parameters []Parameter, values map[string]string,
	set func(file string) ([]uint64, error), find func(name string) (uint64, bool),
) (map[string]string, error) {
	return MapVertices(parameters, values, func(text string) (ids []string, err error) {
		file, ok := strings.CutPrefix(text, graph.SetPrefix)
		var labels []uint64
		switch {
		case ok:
			if labels, err = set(file); err == nil && len(labels) == 0 {
				err = fmt.Errorf("%s: found no vertex of the graph, expected one or more", file)
			}
		case find == nil:
			return []string{text}, nil
		default:
			labels = make([]uint64, 1)
			if labels[0], ok = find(text); !ok {
				err = fmt.Errorf("the graph has no vertex %q", text)
			}
		}
		for _, label := range labels {
			ids = append(ids, strconv.FormatUint(label, 10))
		}
		return ids, err
	})
}

// SplitNames returns the elements of a list of names. The syntax is that of a list of strings.
func SplitNames(text string) []string { return splitList(text, true) }

// splitList returns the elements of a list. With escapes, a backslash escapes a comma or a
// backslash.
func splitList(text string, escapes bool) []string {
	switch {
	case text == "":
		return nil
	case !escapes:
		return strings.Split(text, ",")
	case text == `\`:
		return []string{""}
	}
	var all []string
	var part []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ',':
			all, part = append(all, string(part)), part[:0]
		case c == '\\' && i+1 < len(text) && (text[i+1] == ',' || text[i+1] == '\\'):
			i++
			part = append(part, text[i])
		default:
			part = append(part, c)
		}
	}
	return append(all, string(part))
}

// joinList is the inverse of splitList.
func joinList(parts []string, escapes bool) string {
	if !escapes {
		return strings.Join(parts, ",")
	}
	if len(parts) == 1 && parts[0] == "" {
		return `\`
	}
	escape := strings.NewReplacer(`\`, `\\`, ",", `\,`)
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escape.Replace(part)
	}
	return strings.Join(escaped, ",")
}

// textOf returns the text from which set makes the value of a field. label returns the input id of
// a vertex.
func textOf(f reflect.Value, label LabelOf) (string, error) {
	if f.Kind() != reflect.Slice {
		return textOfOne(f, label)
	}
	parts := make([]string, f.Len())
	for i := range parts {
		var err error
		if parts[i], err = textOfOne(f.Index(i), label); err != nil {
			return "", fmt.Errorf("element %d of %d: %w", i+1, f.Len(), err)
		}
	}
	return joinList(parts, f.Type().Elem().Kind() == reflect.String), nil
}

func textOfOne(f reflect.Value, label LabelOf) (string, error) {
	switch {
	case f.Type() == vertexType:
		input, found := label(pregel.VertexID(f.Uint()))
		if !found {
			return "", fmt.Errorf("the graph has no vertex with VertexID %d", f.Uint())
		}
		return strconv.FormatUint(input, 10), nil
	case f.Type() == durationType:
		return time.Duration(f.Int()).String(), nil
	case f.Kind() == reflect.Bool:
		return strconv.FormatBool(f.Bool()), nil
	case f.CanInt():
		return strconv.FormatInt(f.Int(), 10), nil
	case f.CanUint():
		return strconv.FormatUint(f.Uint(), 10), nil
	case f.CanFloat():
		return strconv.FormatFloat(f.Float(), 'g', -1, f.Type().Bits()), nil
	case f.Kind() == reflect.String:
		return f.String(), nil
	default:
		return "", errors.New("it has no text form")
	}
}

// isZero reports whether a parameter is 0, -0, or an empty list.
func isZero(f reflect.Value) bool {
	if f.Kind() == reflect.Slice {
		return f.Len() == 0
	}
	return f.Equal(reflect.Zero(f.Type()))
}

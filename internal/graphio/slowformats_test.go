package graphio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// slowWeight parses a weight as slowList does.
func slowWeight(text string) (float64, bool) {
	if text == "" || strings.ContainsAny(text, " \t\n\r#%") {
		return 0, false
	}
	_, weights, bad := slowList("1 2 "+text, "", 3, 0, math.MaxUint64-1, 64)
	if bad != 0 {
		return 0, false
	}
	return weights[0], true
}

// slowID parses an id in a range.
func slowID(text string, low, high uint64) (uint64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	id, err := strconv.ParseUint(text, 10, 64)
	return id, err == nil && id >= low && id <= high
}

// rawLines returns the lines of a text without their endings. ok is false if the text is not
// readable.
func rawLines(data string) (lines []string, ok bool) {
	if strings.HasPrefix(data, "\xff\xfe") || strings.HasPrefix(data, "\xfe\xff") ||
		strings.Contains(data, "\x00") {
		return nil, false
	}
	data = strings.TrimPrefix(data, "\xef\xbb\xbf")
	if data == "" {
		return nil, true
	}
	for _, line := range strings.Split(strings.TrimSuffix(data, "\n"), "\n") {
		if len(line) > 1<<20 {
			return nil, false
		}
		lines = append(lines, strings.Trim(strings.TrimSuffix(line, "\r"), " \t"))
	}
	return lines, true
}

// slowScalar returns the text of a string or a number in JSON.
func slowScalar(raw json.RawMessage) (text string, number, ok bool) {
	if len(raw) > 0 && raw[0] == '"' {
		return text, false, json.Unmarshal(raw, &text) == nil
	}
	var n json.Number
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&n) != nil || n == "" {
		return "", false, false
	}
	return n.String(), true, true
}

// slowJSONLines is the simple counterpart of readJSONLines, for the members source, target and
// weight. It returns edges in the form of describe.
func slowJSONLines(data string, named, weighted bool) (parts []string, ok bool) {
	lines, ok := rawLines(data)
	for _, line := range lines {
		if line == "" {
			continue
		}
		if !ok || !utf8.ValidString(line) || !json.Valid([]byte(line)) || line[0] != '{' {
			return nil, false
		}
		d := json.NewDecoder(strings.NewReader(line))
		_, _ = d.Token()
		members := map[string]json.RawMessage{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, false
			}
			var raw json.RawMessage
			if d.Decode(&raw) != nil {
				return nil, false
			}
			name := key.(string)
			if _, twice := members[name]; twice &&
				slices.Contains([]string{"source", "target", "weight"}, name) &&
				(weighted || name != "weight") {
				return nil, false
			}
			members[name] = raw
		}
		var ends [2]string
		for i, name := range []string{"source", "target"} {
			text, number, ok := slowScalar(members[name])
			if !ok || text == "" || number && strings.ContainsAny(text, ".eE") {
				return nil, false
			}
			ends[i] = text
			if !named {
				id, ok := slowID(text, 0, math.MaxUint64-1)
				if !ok {
					return nil, false
				}
				ends[i] = fmt.Sprint(id)
			}
		}
		part := ends[0] + ">" + ends[1]
		if weighted {
			text, _, ok := slowScalar(members["weight"])
			w, good := slowWeight(text)
			if !ok || !good {
				return nil, false
			}
			part += fmt.Sprintf("(%v)", w)
		}
		parts = append(parts, part)
	}
	return parts, ok && len(parts) > 0
}

// slowGiraph is the simple counterpart of readGiraph for directed graphs.
func slowGiraph(data string) (g graph, ok bool) {
	lines, ok := rawLines(data)
	g.weights = []float64{}
	for _, line := range lines {
		if line == "" {
			continue
		}
		var parts []json.RawMessage
		if !ok || !utf8.ValidString(line) || json.Unmarshal([]byte(line), &parts) != nil ||
			len(parts) != 3 {
			return g, false
		}
		id := func(raw json.RawMessage) uint64 {
			text, _, good := slowScalar(raw)
			id, whole := slowID(text, 0, math.MaxUint64-1)
			ok = ok && good && whole
			return id
		}
		u := id(parts[0])
		if slices.Contains(g.vertices, u) {
			return g, false
		}
		g.vertices = append(g.vertices, u)
		var list []json.RawMessage
		if json.Unmarshal(parts[2], &list) != nil || list == nil {
			return g, false
		}
		for _, raw := range list {
			var edge []json.RawMessage
			if json.Unmarshal(raw, &edge) != nil || len(edge) != 2 {
				return g, false
			}
			text, _, good := slowScalar(edge[1])
			w, finite := slowWeight(text)
			if !good || !finite {
				return g, false
			}
			g.tuples, g.weights = append(g.tuples, [2]uint64{u, id(edge[0])}), append(g.weights, w)
		}
	}
	for _, e := range g.tuples {
		ok = ok && slices.Contains(g.vertices, e[1])
	}
	slices.Sort(g.vertices)
	return g, ok && len(g.vertices) > 0
}

// slowDIMACS is the simple counterpart of readDIMACS.
func slowDIMACS(data string) (g graph, ok bool) {
	lines, ok := rawLines(data)
	var kind string
	var n, m uint64
	for _, line := range lines {
		f := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' })
		switch {
		case !ok:
			return g, false
		case len(f) == 0 || f[0] == "c":
			continue
		case kind == "":
			var good, fine bool
			if len(f) != 4 || f[0] != "p" || !slices.Contains([]string{"sp", "edge", "col"}, f[1]) {
				return g, false
			}
			kind = f[1]
			n, good = slowID(f[2], 0, 1<<32)
			m, fine = slowID(f[3], 0, math.MaxUint64)
			if !good || !fine {
				return g, false
			}
			continue
		case f[0] == "n" && kind != "sp":
			continue
		case kind == "sp" && (f[0] != "a" || len(f) != 4) || kind != "sp" &&
			(f[0] != "e" || len(f) != 3):
			return g, false
		}
		u, good := slowID(f[1], 1, n)
		v, fine := slowID(f[2], 1, n)
		if !good || !fine {
			return g, false
		}
		g.tuples = append(g.tuples, [2]uint64{u, v})
		if kind == "sp" {
			w, finite := slowWeight(f[3])
			if !finite {
				return g, false
			}
			g.weights = append(g.weights, w)
		}
	}
	if kind == "sp" && g.weights == nil {
		g.weights = []float64{}
	}
	if kind == "" || m != uint64(len(g.tuples)) || n > max(1<<20, 1024*m) {
		return g, false
	}
	for v := uint64(1); v <= n; v++ {
		g.vertices = append(g.vertices, v)
	}
	return g, ok
}

// slowMETIS is the simple counterpart of readMETIS.
func slowMETIS(data string) (g graph, ok bool) {
	lines, ok := rawLines(data)
	var header []uint64
	var n uint64
	before, weighted := 0, false
	arcs := map[string]int{}
	rows := uint64(0)
	for i, line := range lines {
		if raw := strings.Split(strings.TrimPrefix(data, "\xef\xbb\xbf"),
			"\n")[i]; strings.HasPrefix(raw, "%") {
			continue
		}
		f := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' })
		if !ok {
			return g, false
		}
		if header == nil {
			for _, text := range f {
				x, good := slowID(text, 0, math.MaxUint64)
				if !good {
					return g, false
				}
				header = append(header, x)
			}
			if len(header) < 2 || len(header) > 4 || header[0] > 1<<32 {
				return g, false
			}
			n = header[0]
			if len(header) > 2 {
				if format := fmt.Sprintf("%03d", header[2]); len(format) != 3 ||
					strings.Trim(format, "01") != "" {
					return g, false
				} else {
					weights := int(format[1] - '0')
					if len(header) == 4 {
						if header[3] > 1024 || weights == 0 && header[3] > 1 {
							return g, false
						}
						weights *= int(header[3])
					}
					before, weighted = weights+int(format[0]-'0'), format[2] == '1'
				}
			}
			continue
		}
		if rows++; rows > n {
			if len(f) > 0 {
				return g, false
			}
			continue
		}
		if len(f) < before {
			return g, false
		}
		for _, text := range f[:before] {
			if _, good := slowWeight(text); !good {
				return g, false
			}
		}
		for f = f[before:]; len(f) > 0; {
			v, good := slowID(f[0], 1, n)
			if !good || v == rows {
				return g, false
			}
			f = f[1:]
			w := 0.0
			if weighted {
				if len(f) == 0 {
					return g, false
				}
				if w, good = slowWeight(f[0]); !good {
					return g, false
				}
				f = f[1:]
			}
			if v > rows {
				g.tuples, g.weights = append(g.tuples, [2]uint64{rows, v}), append(g.weights, w)
				arcs[fmt.Sprint(rows, v, math.Abs(w) == 0, w)]++
			} else {
				arcs[fmt.Sprint(v, rows, math.Abs(w) == 0, w)]--
			}
		}
	}
	for _, n := range arcs {
		ok = ok && n == 0
	}
	if header == nil || rows < n || header[1] != uint64(len(g.tuples)) ||
		n > max(1<<20, 1024*header[1]) {
		return g, false
	}
	if !weighted {
		g.weights = nil
	} else if g.weights == nil {
		g.weights = []float64{}
	}
	for v := uint64(1); v <= n; v++ {
		g.vertices = append(g.vertices, v)
	}
	return g, ok
}

// slowSerialized is the simple counterpart of readSerialized.
func slowSerialized(data []byte, weighted bool) (g graph, ok bool) {
	if len(data) < 25 || data[0] > 1 {
		return g, false
	}
	word := func(at int) int64 { return int64(binary.LittleEndian.Uint64(data[at:])) }
	m, n, size := word(1), word(9), 4
	if weighted {
		size, g.weights = 8, []float64{}
	}
	if m < 0 || n < 0 || n > 1<<20 || m > 1<<20 || len(data) != 17+
		(1+int(data[0]))*(8*(int(n)+1)+size*int(m)) || word(17) != 0 || word(17+8*int(n)) != m {
		return g, false
	}
	arcs := map[string]int{}
	for v := range int(n) {
		g.vertices = append(g.vertices, uint64(v))
		lo, hi := word(17+8*v), word(17+8*v+8)
		if lo > hi || hi > m {
			return g, false
		}
		for i := lo; i < hi; i++ {
			at := 17 + 8*(int(n)+1) + size*int(i)
			u := int(int32(binary.LittleEndian.Uint32(data[at:])))
			if u < 0 || u >= int(n) {
				return g, false
			}
			w := 0.0
			if weighted {
				w = float64(int32(binary.LittleEndian.Uint32(data[at+4:])))
			}
			if data[0] == 0 && u < v {
				arcs[fmt.Sprint(u, v, w)]--
				continue
			}
			if u != v {
				arcs[fmt.Sprint(v, u, w)]++
			}
			g.tuples = append(g.tuples, [2]uint64{uint64(v), uint64(u)})
			if weighted {
				g.weights = append(g.weights, w)
			}
		}
	}
	for _, n := range arcs {
		if data[0] == 0 && n != 0 {
			return g, false
		}
	}
	return g, true
}

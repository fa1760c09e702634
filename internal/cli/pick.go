package cli

import (
	"cmp"
	"context"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// pickFlags select vertices of a result: --top, --bottom and --select.
type pickFlags struct {
	Top    int    `flag:"top" group:"output" range:"1.." help:"print, or write to --output, only the {K} vertices of greatest value, greatest first; unreached vertices come last"`
	Bottom int    `flag:"bottom" group:"output,more" range:"1.." help:"print, or write to --output, only the {K} vertices of least value, least first; unreached vertices come last"`
	Where  string `flag:"select" group:"output,more" help:"print, or write to --output, only the vertices that satisfy {CONDITION}, such as value>0.1 or 'value>=2 && value<5'; if a value has several fields, use their names, or value2 for the second"`
	By     string `flag:"by" group:"output,more" help:"sort --top and --bottom by {FIELD}, if a value has several fields (default: the first)"`
}

// wanted reports whether any of the flags is given.
func (f *pickFlags) wanted() bool { return *f != pickFlags{} }

// check validates the flags.
func (f *pickFlags) check() (*pick, error) {
	switch {
	case f.By != "" && f.Top == 0 && f.Bottom == 0:
		return nil, usagef("--by %s: expected --top or --bottom too", f.By)
	case f.Top > 0 && f.Bottom > 0:
		return nil, usagef("found --top and --bottom, expected one of them")
	}
	p := &pick{most: max(f.Top, f.Bottom), least: f.Bottom > 0, byName: cmp.Or(f.By, "value")}
	for _, part := range strings.Split(f.Where, "&&") {
		if f.Where == "" {
			break
		}
		m := regexp.MustCompile(condition).FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, usagef("--select: found %q, expected a condition such as value>0.1", part)
		}
		c := test{name: m[1], holds: operators[m[2]]}
		var ok bool
		if c.than, ok = resultlines.Number(strings.TrimSpace(m[3])); !ok {
			return nil, usagef("--select: found %q, expected a number after %s", part, m[2])
		}
		p.tests = append(p.tests, c)
	}
	return p, nil
}

const condition = `^([\pL_][\pL\pN_]*)\s*(>=|<=|==|!=|>|<)(.+)$`

// test compares a field of a value with a number.
type test struct {
	name  string
	field int
	holds func(x, than float64) bool
	than  float64
}

var operators = map[string]func(x, than float64) bool{
	">":  func(x, than float64) bool { return x > than },
	">=": func(x, than float64) bool { return x >= than },
	"<":  func(x, than float64) bool { return x < than },
	"<=": func(x, than float64) bool { return x <= than },
	"==": func(x, than float64) bool { return x == than },
	"!=": func(x, than float64) bool { return x != than },
}

// pick filters and selects the lines of a result, "id value" or "name<TAB>value".
type pick struct {
	most  int  // number of lines; 0 means all
	least bool // smallest values first
	tests []test

	// Where matching lines are written at once; nil if they have to be sorted.
	to     io.Writer
	cutter resultlines.Cutter
	form   resultlines.Form
	byName string
	by     int // index of the field that lines are sorted by
	kept   *resultlines.Top
	// Lines end with a tab and a number, which is not a field.
	numbered bool
}

// save writes the selected lines of what fill writes, or all if p is nil.
func (p *pick) save(form resultlines.Form, fill filler) (filler, error) {
	if p == nil {
		return fill, nil
	}
	if err := p.resolve(form); err != nil {
		return nil, err
	}
	return func(ctx context.Context, w io.Writer) error {
		p.kept, p.cutter = resultlines.NewTop(p.most, p.least), resultlines.Cutter{}
		if p.to = w; p.most > 0 {
			p.to = nil
		}
		if err := fill(ctx, p); err != nil {
			return err
		}
		for _, line := range p.kept.Lines() {
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// resolve finds the named fields.
func (p *pick) resolve(form resultlines.Form) (err error) {
	p.form = form
	if p.by, err = fieldOf(form, "--by", p.byName); err != nil {
		return err
	}
	for i := range p.tests {
		if p.tests[i].field, err = fieldOf(form, "--select", p.tests[i].name); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf returns the index of a field. value means the first, value2 the second.
func fieldOf(f resultlines.Form, flag, name string) (int, error) {
	if i := slices.Index(f.Names(), name); i >= 0 {
		return i, nil
	}
	if digits, ok := strings.CutPrefix(name, "value"); ok {
		if digits == "" {
			return 0, nil
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n < 1000 {
			return n - 1, nil
		}
	}
	return 0, usagef("%s: found no field %.80q, expected %s", flag, name,
		strings.Join(f.Names(), ", "))
}

// Write accepts lines, or parts of them.
func (p *pick) Write(data []byte) (int, error) {
	var out []byte
	n, err := p.cutter.Each(data, func(line []byte) error {
		keep, err := p.line(line)
		if keep {
			out = append(out, line...)
		}
		return err
	})
	if err == nil && len(out) > 0 {
		_, err = p.to.Write(out)
	}
	return n, err
}

// line tests a line, and reports whether to write it at once.
func (p *pick) line(line []byte) (bool, error) {
	text := line
	if p.numbered {
		var err error
		if text, _, err = resultlines.CutNumber(line); err != nil {
			return false, err
		}
	}
	_, value := p.form.Cut(text)
	fields := p.form.Split(value)
	for _, t := range p.tests {
		x, err := number(fields, t.field)
		if err != nil {
			return false, err
		}
		if !t.holds(x, t.than) {
			return false, nil
		}
	}
	if p.to != nil {
		return true, nil
	}
	x, err := number(fields, p.by)
	if err != nil {
		return false, err
	}
	noVertex := x == -1 && p.by < len(p.form.Fields) && p.form.Fields[p.by].Vertex
	if noVertex || math.IsInf(x, 0) { // an unreached vertex comes last
		x = math.Inf(-1)
		if p.least {
			x = math.Inf(1)
		}
	}
	p.kept.Offer(line, x)
	return false, nil
}

// number parses a field of a value.
func number(fields []string, at int) (float64, error) {
	if at >= len(fields) {
		return 0, usagef("--select value%d: the values have %s", at+1,
			graphio.Counted(len(fields), "field"))
	}
	x, ok := resultlines.Number(fields[at])
	if !ok {
		return 0, usagef("--top, --bottom and --select need numbers: found the value %.80q",
			fields[at])
	}
	return x, nil
}

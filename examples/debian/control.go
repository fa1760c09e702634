package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Package is one stanza of a list of packages.
type Package struct {
	Name string
	// Needs has the groups of alternatives in Depends and Pre-Depends. The package needs one
	// alternative of each group.
	Needs [][]string
	// Provides names the virtual packages that the package provides.
	Provides []string
}

const (
	longestLine = 16 << 20
	packageName = `[a-z0-9][a-z0-9+.-]+`
)

var (
	nameOnly = regexp.MustCompile(`^` + packageName + `$`)
	// A name of a field has no space and no colon, and does not begin with a minus.
	fieldName = regexp.MustCompile(`^[!-,.-9;-~][!-9;-~]*$`)
	// A relation is the name of a package. An architecture, a version and a list of architectures
	// may follow it. The program ignores them: all packages are of one release.
	relation = regexp.MustCompile(`^(` + packageName +
		`)(?::[a-z0-9-]+)?\s*(?:\((?:<<|<=|=|>=|>>|<|>)\s*[^\s()]+\s*\))?\s*(?:\[[^][]*\])?$`)
)

// parser reads stanzas of fields, "Name: value". Empty lines separate stanzas. A line that begins
// with a space continues the field above it. A line that begins with # is a comment.
type parser struct {
	name     string
	line     int
	packages []Package

	inside bool // inside a stanza
	began  int  // first line of the stanza
	seen   map[string]bool
	now    Package
	field  string // the current field
	value  strings.Builder
	at     int // first line of the field
}

// parse reads a list of packages. Its errors name the line and the expected text.
func parse(name string, r io.Reader) ([]Package, error) {
	p := &parser{name: name, seen: map[string]bool{}}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, longestLine)
	for scanner.Scan() {
		p.line++
		if err := p.take(scanner.Text()); err != nil {
			return nil, err
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, p.line+1, err)
	}
	if err := p.endStanza(); err != nil {
		return nil, err
	}
	return p.packages, nil
}

func (p *parser) take(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return p.endStanza()
	case line[0] == '#':
		return nil
	case line[0] == ' ' || line[0] == '\t':
		if p.field == "" {
			return p.errorf(p.line, "a continued line, expected a field above it")
		}
		p.value.WriteByte('\n')
		p.value.WriteString(line)
		return nil
	}
	if err := p.endField(); err != nil {
		return err
	}
	field, value, ok := strings.Cut(line, ":")
	if !ok || !fieldName.MatchString(field) {
		return p.errorf(p.line, "found %s, expected \"Field: value\"", quoted(line))
	}
	field = strings.ToLower(field)
	if p.seen[field] {
		return p.errorf(p.line, "a second field %q, expected one in a stanza", field)
	}
	if !p.inside {
		p.inside, p.began = true, p.line
	}
	p.seen[field] = true
	p.field, p.at = field, p.line
	p.value.WriteString(value)
	return nil
}

// endField stores the field in the package.
func (p *parser) endField() (err error) {
	text := p.value.String()
	switch p.field {
	case "package":
		p.now.Name = strings.TrimSpace(text)
		if !nameOnly.MatchString(p.now.Name) {
			err = p.errorf(p.at, "found %s, expected the name of a package", quoted(p.now.Name))
		}
	case "depends", "pre-depends":
		err = p.relations(text, func(group []string) { p.now.Needs = append(p.now.Needs, group) })
	case "provides":
		err = p.relations(text,
			func(group []string) { p.now.Provides = append(p.now.Provides, group...) })
	}
	p.field = ""
	p.value.Reset()
	return err
}

func (p *parser) endStanza() error {
	if err := p.endField(); err != nil {
		return err
	}
	if !p.inside {
		return nil
	}
	if p.now.Name == "" {
		return p.errorf(p.began, "a stanza without the field Package")
	}
	p.packages = append(p.packages, p.now)
	p.inside, p.now = false, Package{}
	clear(p.seen)
	return nil
}

// relations splits "a, b (>= 1) | c" into groups of alternatives.
func (p *parser) relations(text string, each func(group []string)) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	line := p.at
	for part := range strings.SplitSeq(text, ",") {
		var group []string
		for one := range strings.SplitSeq(part, "|") {
			name := strings.TrimSpace(one)
			line += strings.Count(one, "\n")
			m := relation.FindStringSubmatch(name)
			if m == nil {
				return p.errorf(line, "found %s, expected a package, such as \"libc6 (>= 2.34)\"",
					quoted(name))
			}
			group = append(group, m[1])
		}
		each(group)
	}
	return nil
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...))
}

// quoted quotes at most the first 60 bytes of s.
func quoted(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return fmt.Sprintf("%q", s)
}

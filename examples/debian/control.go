package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Package is what a stanza says of a package.
type Package struct {
	Name string
	// Needs are Depends and Pre-Depends: groups of alternatives, of each of which one is needed.
	Needs [][]string
	// Provides are the other names, of virtual packages, that the package meets.
	Provides []string
}

const (
	longestLine = 16 << 20
	packageName = `[a-z0-9][a-z0-9+.-]+`
)

var (
	nameOnly = regexp.MustCompile(`^` + packageName + `$`)
	// neither space nor colon, and no minus first
	fieldName = regexp.MustCompile(`^[!-,.-9;-~][!-9;-~]*$`)
	// A relation is a name, and perhaps an architecture, a version and a list of architectures,
	// none of which matter: the lists are of one release, whose packages were made for each other.
	relation = regexp.MustCompile(`^(` + packageName +
		`)(?::[a-z0-9-]+)?\s*(?:\((?:<<|<=|=|>=|>>|<|>)\s*[^\s()]+\s*\))?\s*(?:\[[^][]*\])?$`)
)

// parser reads stanzas of fields, "Name: value", that empty lines part. A line that begins with a
// space continues the field above it; one that begins with # is a comment.
type parser struct {
	name     string
	line     int
	packages []Package

	inside bool // a stanza has begun
	began  int  // its first line
	seen   map[string]bool
	now    Package
	field  string // the field being read
	value  strings.Builder
	at     int // the line it began at
}

// parse reads the packages of a list. Errors name the line and what was expected.
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

// endField takes what the field says into the package.
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
		err = p.relations(text, func(group []string) { p.now.Provides = append(p.now.Provides, group...) })
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

// quoted quotes the first of a text that may be long, or not a text.
func quoted(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return fmt.Sprintf("%q", s)
}

package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentationIsTrue checks that everything that the documentation names exists: links and
// their anchors, files, tests, identifiers, commands, flags, algorithms, metrics and variables.
// Commands, flags and the like are taken from the generated docs/reference, which another test
// compares with the code.
func TestDocumentationIsTrue(t *testing.T) {
	tree := readTree(t)
	names := declaredNames(all(t))
	words := readReference(t, tree)
	for _, p := range documentation(t, tree) {
		checks := []func(page) []finding{tree.links, tree.paths, tree.tests, names.check, words.check}
		if p.name == "CHANGELOG.md" {
			checks = checks[:1] // it also names removed things
		}
		for _, check := range checks {
			for _, f := range check(p) {
				t.Errorf("%s:%d: %s", p.name, f.line, f.what)
			}
		}
	}
}

// finding is a name in a page that does not exist.
type finding struct {
	line int
	what string
}

// page is a page of the documentation.
type page struct {
	name  string // relative to the root of the repository
	lines []line
}

// line is a line of a page. code is the language of the code block that contains it, "text" if the
// block has none.
type line struct {
	number int
	text   string
	code   string
	spans  []string // code spans, outside of blocks
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// parsePage splits a page into lines of prose and code.
func parsePage(name, text string) page {
	p, code := page{name: name}, ""
	for i, raw := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(raw)
		if strings.HasPrefix(trimmed, "```") {
			if code == "" {
				if code = strings.TrimPrefix(trimmed, "```"); code == "" {
					code = "text"
				}
			} else {
				code = ""
			}
			continue
		}
		l := line{number: i + 1, text: raw, code: code}
		if code == "" {
			for _, m := range codeSpan.FindAllStringSubmatch(raw, -1) {
				l.spans = append(l.spans, strings.ReplaceAll(m[1], `\|`, "|"))
			}
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// documentation returns the pages to check.
func documentation(t *testing.T, tree *tree) []page {
	var pages []page
	for _, name := range tree.files {
		switch {
		case path.Ext(name) != ".md":
		case path.Dir(name) == ".", strings.HasPrefix(name, "docs/"), path.Dir(name) == "lab",
			path.Dir(name) == "examples":
			pages = append(pages, parsePage(name, tree.read(t, name)))
		}
	}
	if len(pages) < 10 {
		t.Fatalf("only %d pages found", len(pages))
	}
	return pages
}

// tree has the files of the repository.
type tree struct {
	files   []string        // relative to the root, with slashes
	entries map[string]bool // files and folders
	bases   map[string]bool // file names without folders
	top     map[string]bool // entries of the root folder
	funcs   map[string]bool // tests, examples, benchmarks and fuzz targets
	anchors map[string]map[string]bool
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)

func readTree(t *testing.T) *tree {
	r := &tree{entries: map[string]bool{}, bases: map[string]bool{}, top: map[string]bool{}, funcs: map[string]bool{}, anchors: map[string]map[string]bool{}}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("../..", file)
		if rel = filepath.ToSlash(rel); d.IsDir() &&
			(d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		r.entries[rel] = true
		if path.Dir(rel) == "." {
			r.top[rel] = true
		}
		if d.IsDir() {
			return nil
		}
		r.files = append(r.files, rel)
		r.bases[path.Base(rel)] = true
		if strings.HasSuffix(rel, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(r.read(t, rel), -1) {
				r.funcs[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.files {
		if path.Ext(name) == ".md" {
			r.anchors[name] = anchors(r.read(t, name))
		}
	}
	return r
}

func (r *tree) read(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	heading    = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors returns the anchors of a page's headings, by GitHub's rules.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, l := range parsePage("", text).lines {
		m := heading.FindStringSubmatch(l.text)
		if m == nil || l.code != "" {
			continue
		}
		title := linkText.ReplaceAllString(m[1], "$1")
		slug := strings.ReplaceAll(notInSlugs.ReplaceAllString(strings.ToLower(title), ""), " ",
			"-")
		for n, first := 1, slug; all[slug]; n++ {
			slug = first + "-" + string(rune('0'+n%10))
		}
		all[slug] = true
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)\s"]+)\)|(?:src|href|srcset)="([^"]+)"`)

// links checks a page's links to files and headings of the repository.
func (r *tree) links(p page) (found []finding) {
	for _, l := range p.lines {
		if l.code != "" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(l.text, "CODE"),
			-1) {
			target := m[1] + m[2]
			if strings.Contains(target, ":") || strings.Contains(target, "CODE") {
				continue // another site
			}
			name, anchor, _ := strings.Cut(target, "#")
			file := p.name
			if name != "" {
				file = path.Join(path.Dir(p.name), name)
			}
			switch {
			case !r.entries[file]:
				found = append(found, finding{l.number, "the link to " + target + " leads nowhere"})
			case anchor != "" && path.Ext(file) == ".md" && !r.anchors[file][anchor]:
				found = append(found, finding{l.number, file + " has no heading for #" + anchor})
			}
		}
	}
	return found
}

var (
	looksLikePath = regexp.MustCompile(`^\.{0,2}/?[A-Za-z0-9_.@-]+(/[A-Za-z0-9_.*-]+)+/?$`)
	fileName      = regexp.MustCompile(`^[a-z0-9_]+(?:\.pb|\.connect)?\.(?:go|proto|svelte|ts)$`)
)

// paths checks code spans that name files or folders of the repository.
func (r *tree) paths(p page) (found []finding) {
	for _, l := range p.lines {
		for _, s := range l.spans {
			s = strings.TrimPrefix(s, module+"/")
			switch first, _, _ := strings.Cut(strings.TrimPrefix(s, "./"), "/"); {
			case fileName.MatchString(s):
				// the reader creates this file
				if !r.bases[s] && !strings.Contains(l.text, "Put this into") {
					found = append(found, finding{l.number, "there is no file " + s})
				}
			case looksLikePath.MatchString(s) && r.top[first] &&
				!r.has(strings.Trim(strings.TrimPrefix(s, "./"), "/")):
				found = append(found, finding{l.number, "there is no " + s})
			}
		}
	}
	return found
}

// has reports whether a file or folder exists. name may also be package.Name or a pattern.
func (r *tree) has(name string) bool {
	if r.entries[name] || strings.HasSuffix(name, "/...") &&
		r.entries[strings.TrimSuffix(name, "/...")] {
		return true
	}
	if strings.Contains(name, "*") {
		return slices.ContainsFunc(r.files,
			func(f string) bool { ok, _ := path.Match(name, f); return ok })
	}
	pkg, ident, ok := strings.Cut(path.Base(name), ".")
	return ok && ident != "" && ident[0] >= 'A' && ident[0] <= 'Z' &&
		r.entries[path.Join(path.Dir(name), pkg)]
}

var testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)

// tests checks the names of tests, except in Go code, which may define its own.
func (r *tree) tests(p page) (found []finding) {
	for _, l := range p.lines {
		if l.code == "go" {
			continue
		}
		for _, name := range testName.FindAllString(l.text, -1) {
			if !r.funcs[name] {
				found = append(found, finding{l.number, "there is no " + name})
			}
		}
	}
	return found
}

// TestDocumentationCheckFinds: the check finds wrong names, and accepts right ones.
func TestDocumentationCheckFinds(t *testing.T) {
	tree := readTree(t)
	names, words := declaredNames(all(t)), readReference(t, tree)
	for text, wrong := range map[string]bool{
		"[a](nowhere.md)": true, "[a](README.md#no-such-heading)": true,
		"[a](docs/formats.md#names)": false,
		"`internal/nothing`":         true, "`internal/lint/docs_test.go`": false,
		"`nothing.go`": true, "Put this into `nothing.go`:": false,
		"TestNothingAtAll": true, "TestDocumentationIsTrue": false,
		"`pregel.Nothing`": true, "`pregel.Vertex.Nothing`": true, "`Vertex.Send`": false,
		"`superstep.Run`":            false,
		"```go\npregel.Nothing\n```": true, "```go\nstore.Nothing\n```": false,
		"`superstep nothing`": true, "`superstep run bfs --nothing`": true,
		"```sh\nsuperstep run nothing --graph a.el\n```":             true,
		"```sh\nsuperstep run bfs --graph a.el \\\n  --nothing\n```": true,
		"```sh\nsuperstep run bfs -g a.el > b | sort --nothing\n```": false,
		"`--no-such-flag`": true, "`--graph`": false, "`superstep_nothing_total`": true,
		"`SUPERSTEP_" + "NOTHING`": true,
		"`make nothing`":           true, "`make race fuzz`": false, "`.ci/run nothing`": true,
		"`.ci/run chaos`":           false,
		"`go -C lab run . no-such`": true, "`go -C lab run . run bfs --encoding auto`": false,
	} {
		p, found := parsePage("README.md", text), 0
		for _, check := range []func(page) []finding{tree.links, tree.paths, tree.tests, names.check, words.check} {
			found += len(check(p))
		}
		if (found > 0) != wrong {
			t.Errorf("in %q the check finds %d errors", text, found)
		}
	}
}

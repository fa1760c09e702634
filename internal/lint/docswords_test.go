package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference has the words of the command line, make and CI, and the metrics.
type reference struct {
	commands   map[string]map[string]bool // flags by command, without superstep
	flags      map[string]bool            // of all commands, including those of lab
	algorithms map[string]bool
	metrics    map[string]bool
	variables  string // the text that lists them
	members    string // of the API and of reports: the pages that list them
	sections   string // of .ci/run
	makefile   string
	lab        string // source code of lab's commands
}

var (
	commandTitle = regexp.MustCompile(`^## superstep (.+)$`)
	alias        = regexp.MustCompile(`^  [a-z]+, ([a-z]+)$`)
	flagLine     = regexp.MustCompile(`^ {2,6}(?:-(\w), )?--([a-z0-9-]+)`)
	nameCell     = regexp.MustCompile("^\\| `([a-z_0-9]+)`")
	title        = regexp.MustCompile(`^## ([a-z0-9]+)$`)
	sectionLine  = regexp.MustCompile(`(?m)^(?:sections|by_name)=\(.*\)$`)
)

func readReference(t *testing.T, tree *tree) *reference {
	r := &reference{commands: map[string]map[string]bool{}, flags: map[string]bool{}, algorithms: map[string]bool{}, metrics: map[string]bool{}}
	common, own := map[string]bool{"help": true, "h": true, "version": true}, map[string]bool(nil)
	name := "" // of the command
	for _, l := range strings.Split(tree.read(t, "docs/reference/commands.md"), "\n") {
		if m := commandTitle.FindStringSubmatch(l); m != nil {
			own, name = map[string]bool{}, m[1]
			r.commands[name] = own
		} else if m := alias.FindStringSubmatch(l); m != nil {
			r.commands[name[:strings.LastIndexByte(name, ' ')+1]+m[1]] = own
		} else if m := flagLine.FindStringSubmatch(l); m != nil {
			to := own
			if own == nil {
				to = common
			}
			to[m[1]], to[m[2]], r.flags[m[2]] = true, true, true
		}
	}
	for _, flags := range r.commands {
		for name := range common {
			flags[name], r.flags[name] = true, true
		}
	}
	for _, l := range strings.Split(tree.read(t, "docs/reference/algorithms.md"), "\n") {
		if m := title.FindStringSubmatch(l); m != nil {
			r.algorithms[m[1]] = true
		}
	}
	for _, l := range strings.Split(tree.read(t, "docs/reference/metrics.md"), "\n") {
		if m := nameCell.FindStringSubmatch(l); m != nil {
			r.metrics[m[1]] = true
		}
	}
	var variables, lab strings.Builder
	for _, name := range tree.files {
		switch dir, _, _ := strings.Cut(name, "/"); {
		case strings.HasPrefix(name, ".ci/"), strings.HasSuffix(name, "_test.go"),
			name == "Makefile", dir == "deploy":
			variables.WriteString(tree.read(t, name))
		case dir == "lab" && path.Ext(name) == ".go":
			lab.WriteString(tree.read(t, name))
		}
	}
	variables.WriteString(tree.read(t, "docs/reference/configuration.md"))
	r.variables, r.lab = variables.String(), lab.String()
	r.members = tree.read(t, "docs/reference/api.md") + tree.read(t, "docs/reference/formats.md")
	r.sections = strings.Join(sectionLine.FindAllString(tree.read(t, ".ci/run"), -1), " ")
	r.makefile = tree.read(t, "Makefile")
	if len(r.commands) < 30 || len(r.algorithms) < 20 || len(r.metrics) < 30 {
		t.Fatalf("docs/reference has %d commands, %d algorithms and %d metrics", len(r.commands),
			len(r.algorithms), len(r.metrics))
	}
	return r
}

var (
	call = regexp.MustCompile(
		`(?:^|[\s$(;|&])(?:\./|\$work/)?superstep ((?:[^|;&#>)\n]|'[^']*')*)`)
	longFlag  = regexp.MustCompile(`(?:^|[\s(\[])--([a-z][a-z0-9-]*)`)
	labCall   = regexp.MustCompile(`go -C lab run \. ([a-z][a-z0-9-]*)(.*)`)
	ciCall    = regexp.MustCompile(`\.ci/run((?: [a-z0-9]+)*)`)
	makeCall  = regexp.MustCompile(`^make ([a-z -]+)`)
	metricRef = regexp.MustCompile(`\bsuperstep_[a-z0-9_]+\*?`)
	variable  = regexp.MustCompile(`\bSUPERSTEP_[A-Z_]+[A-Z]`)
	ofMPI     = []string{"bind-to", "map-by"}
	goTest    = regexp.MustCompile(`\bgo (?:test|run|build|vet|install|mod)\b`)
)

// check checks commands in code blocks and spans, and flags, metrics and variables in spans.
func (r *reference) check(p page) (found []finding) {
	add := func(l line, what string) { found = append(found, finding{l.number, what}) }
	for i, l := range p.lines {
		texts := l.spans
		if l.code == "sh" || l.code == "text" || l.code == "console" || l.code == "bash" {
			text := l.text
			for j := i; strings.HasSuffix(text, `\`) && j+1 < len(p.lines); j++ {
				text = strings.TrimSuffix(text, `\`) + p.lines[j+1].text
			}
			texts = []string{text}
		} else if l.code != "" {
			continue
		}
		for _, text := range texts {
			for _, m := range call.FindAllStringSubmatch(text, -1) {
				if what := r.command(m[1], l.code == ""); what != "" {
					add(l, what)
				}
			}
			for _, m := range labCall.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(r.lab, `"`+m[1]+` `) &&
					!strings.Contains(r.lab, `"`+m[1]+`"`) {
					add(l, "the lab has no command "+m[1])
				}
				for _, f := range longFlag.FindAllStringSubmatch(m[2], -1) {
					if !r.flags[f[1]] && !strings.Contains(r.lab, `"`+f[1]+`"`) {
						add(l, "the lab has no flag --"+f[1])
					}
				}
			}
			for _, m := range ciCall.FindAllStringSubmatch(text, -1) {
				for _, section := range strings.Fields(m[1]) {
					if !regexp.MustCompile(`[ (]` + section + `[ )]`).MatchString(r.sections) {
						add(l, ".ci/run has no section "+section)
					}
				}
			}
			if m := makeCall.FindStringSubmatch(text); m != nil {
				for _, name := range strings.Fields(m[1]) {
					if !regexp.MustCompile(`(?m)^[a-z0-9 -]*\b` + name +
						`\b[a-z0-9 -]*:`).MatchString(r.makefile) {
						add(l, "Makefile has no "+name)
					}
				}
			}
			for _, name := range metricRef.FindAllString(text, -1) {
				if !r.counts(name) && !strings.Contains(r.members, "`"+name+"`") {
					add(l, "there is no metric "+name)
				}
			}
			for _, name := range variable.FindAllString(text, -1) {
				if !strings.Contains(r.variables, name) {
					add(l, "nothing reads the variable "+name)
				}
			}
			if l.code == "" && strings.HasPrefix(text, "--") {
				for _, f := range longFlag.FindAllStringSubmatch(text, -1) {
					if !r.flags[f[1]] && !strings.Contains(r.lab, `"`+f[1]+`"`) &&
						!slices.Contains(ofMPI, f[1]) {
						add(l, "no command has the flag --"+f[1])
					}
				}
			}
		}
	}
	return found
}

// command checks the words after superstep. In a block of text, superstep may also be an ordinary
// word, as in "superstep is".
func (r *reference) command(text string, span bool) string {
	words := strings.Fields(text)
	if len(words) == 0 || !regexp.MustCompile(`^[a-z0-9]+$`).MatchString(words[0]) {
		return ""
	}
	if len(words) == 1 && words[0] == "help" {
		return ""
	}
	name := words[0]
	if strings.Contains(name, "help") {
		return ""
	}
	flags, ok := r.commands[name]
	if !ok {
		if span || goTest.MatchString(text) {
			return "there is no command superstep " + name
		}
		return "" // output of a program
	}
	if len(words) > 1 && r.commands[name+" "+words[1]] != nil {
		name, flags = name+" "+words[1], r.commands[name+" "+words[1]]
	} else if len(words) > 1 && hasChildren(r.commands, name) &&
		regexp.MustCompile(`^[a-z]+$`).MatchString(words[1]) {
		return "there is no command superstep " + name + " " + words[1]
	}
	for _, f := range longFlag.FindAllStringSubmatch(" "+text, -1) {
		if !flags[f[1]] {
			return "superstep " + name + " has no flag --" + f[1]
		}
	}
	if (name == "run" || name == "algorithms") && len(words) > 1 &&
		regexp.MustCompile(`^[a-z]+$`).MatchString(words[1]) && !r.algorithms[words[1]] {
		return "there is no algorithm " + words[1]
	}
	return ""
}

// hasChildren reports whether a command has subcommands.
func hasChildren(commands map[string]map[string]bool, name string) bool {
	for other := range commands {
		if strings.HasPrefix(other, name+" ") {
			return true
		}
	}
	return false
}

// counts reports whether a metric exists. A name may end with a star, or with the suffix of a
// histogram's series.
func (r *reference) counts(name string) bool {
	if prefix, ok := strings.CutSuffix(name, "*"); ok {
		return slices.ContainsFunc(keys(r.metrics),
			func(m string) bool { return strings.HasPrefix(m, prefix) })
	}
	for _, end := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, end); ok &&
			(r.metrics[base] || strings.HasSuffix(base, "_")) {
			return true
		}
	}
	return false
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
